"""The pipes behind what process children print."""

from __future__ import annotations

import fcntl
import logging
import os
from queue import SimpleQueue
from typing import Any

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.places.process.output import Output
from support.far import Far, Near


class Lines(logging.Handler):
    """Hands on what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.told: SimpleQueue[str] = SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        self.told.put(record.getMessage())


@pytest.fixture
def lines() -> object:
    """What children are said to have printed."""
    log, handler = logging.getLogger("otpy.child"), Lines()
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler.told
    log.removeHandler(handler)
    log.setLevel(level)


def pipe_at(number: int) -> tuple[int, int]:
    """A pipe whose own end has this number, which is taken at once: it is free, but not for long."""
    assert fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, number) == number
    own, far = os.pipe()
    os.dup2(own, number, inheritable=False)
    os.close(own)
    return number, far


def test_the_late_news_of_an_end_closes_no_other_pipe_with_the_same_number(
    lines: SimpleQueue[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child ends, its pipe is closed, and the next child's pipe has its number before the end is told of."""
    output = Output()
    first, far = output.add("first")
    other, far_other = output.add("other")
    os.close(far)
    os.write(far_other, b"then\n")
    assert lines.get(timeout=5.0) == "other: then", "what came before that has been seen to by now"
    monkeypatch.setattr(os, "pipe2", lambda flags: pipe_at(first.fd))
    second, far = output.add("second")
    monkeypatch.undo()
    assert second.fd == first.fd
    output.end(first)
    os.write(far_other, b"and then\n")
    assert lines.get(timeout=5.0) == "other: and then"
    os.write(far, b"still here\n")
    assert lines.get(timeout=5.0) == "second: still here"
    os.close(far)
    os.close(far_other)
    output.close()
    assert other.path == "other"


def test_where_no_logging_was_set_up_what_a_child_prints_is_on_standard_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """INFO is below what Python shows then, and a `print` that vanishes is no help to who looks for a mistake."""
    monkeypatch.setattr(logging.getLogger("otpy.child"), "propagate", False)
    output = Output()
    _, far = output.add("shop/render")
    os.write(far, b"here \x1b[1m\n")
    os.close(far)
    output.close()
    assert capsys.readouterr().err == "shop/render: here \\x1b[1m\n"


def test_whoever_silences_the_log_of_children_hears_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = logging.getLogger("otpy.child")
    monkeypatch.setattr(log, "propagate", False)
    monkeypatch.setattr(log, "level", logging.ERROR)
    output = Output()
    _, far = output.add("shop/render")
    os.write(far, b"here\n")
    os.close(far)
    output.close()
    assert capsys.readouterr().err == ""


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Far).opts(place="process", name="far")]


def test_a_child_that_ends_has_nothing_to_say_of_otpy_itself(farm: otpy.System, lines: SimpleQueue[str]) -> None:
    """Its end is an exit to its supervisor, which is on the other side: no turn of the inside is for that."""
    tree = farm.start(Tree)
    first = farm.ref("far").monitor()
    farm.ref("far").exit(otpy.Exit("boom"))
    first.wait(10.0)
    farm.ref("far").within(10.0, wait_for_name=10.0).call(Far.where)
    tree.stop(otpy.Shutdown())
    farm.wait_idle()  # nothing is left to be read of what they have printed
    assert lines.qsize() == 0, lines.get()


def test_a_child_that_sends_to_a_dead_actor_has_nothing_to_say_of_otpy_itself(
    farm: otpy.System, lines: SimpleQueue[str]
) -> None:
    near = farm.start(Near)
    far = farm.start(otpy.child(Far).opts(place="process"))
    far.call(Far.meet, near)
    near.kill()
    far.call(Far.tell_near, "hello")
    with pytest.raises(CallExitError, match="killed"):
        far.call(Far.ask_near, 1, 2)
    far.stop()
    farm.wait_idle()
    assert lines.qsize() == 0, lines.get()


def test_a_child_says_so_when_it_hears_what_has_no_meaning(farm: otpy.System, lines: SimpleQueue[str]) -> None:
    """Dropped without a word, it had kept a call waiting for ever whose name was taken already."""
    ref = farm.start(otpy.child(Far).opts(place="process"))
    child: Any = ref.waiting
    child.line.say(99, "what?")
    assert lines.get(timeout=5.0) == f"{ref.path}: a message of kind 99 has no meaning here"
    assert ref.call(Far.echo, 1) == 1
