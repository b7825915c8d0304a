"""Supervisor: children that are added while it runs, and what a start that fails says. OTP cases K."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import BadReturn
from otpy.core.spec import ChildSpec
from otpy.errors import (
    ChildStateError,
    NameTakenError,
    SpecError,
    StartError,
)
from otpy.events import ChildStartFailed
from otpy.testing.recorder import Recorder
from support.lab import BOOM, ids, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor


def test_start_child_adds_at_the_end_and_returns_the_ref(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    ref = sup.call(SUP.start_child, lab.worker("b"))
    assert ref is lab.refs["b"]
    assert ref.path == "lab/top/b"
    assert ids(sup) == "b a"


@pytest.mark.otp_case(158)
def test_start_child_of_a_running_id_names_its_holder(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    with pytest.raises(NameTakenError) as caught:
        sup.call(SUP.start_child, lab.worker("a"))
    assert caught.value.holder is lab.refs["a"]


@pytest.mark.otp_case(101, 158)
@pytest.mark.parametrize("restart", ["permanent", "transient"])
def test_start_child_of_a_stopped_id_says_how_to_go_on(lab: Lab, restart: Any) -> None:
    sup = started(lab, lab.worker("a").opts(restart=restart))
    sup.call(SUP.terminate_child, "a")
    with pytest.raises(ChildStateError, match="lab/top/a is already present: use restart_child, or delete_child first"):
        sup.call(SUP.start_child, lab.worker("a"))
    assert sup.call(SUP.restart_child, "a") is lab.refs["a"]


def test_ignored_child_is_kept_unless_it_is_temporary(lab: Lab) -> None:
    """Semantics 7.10."""
    sup = started(lab)
    assert sup.call(SUP.start_child, lab.worker("a", "~")) is None
    assert sup.call(SUP.start_child, lab.worker("t", "~").opts(restart="temporary")) is None
    assert states(sup) == {"a": "stopped"}


@pytest.mark.otp_case(162)
def test_start_child_that_fails_keeps_nothing_and_is_told_to_nobody_else(lab: Lab) -> None:
    sup = started(lab)
    with Recorder(lab.system, ChildStartFailed) as recorder, pytest.raises(StartError) as caught:
        sup.call(SUP.start_child, lab.worker("a", "!").opts(name="a"))
    assert caught.value.reason == BOOM
    assert recorder.events == []
    assert states(sup) == {}
    assert lab.system.whereis("a") is None


@pytest.mark.otp_case(162)
def test_start_child_whose_init_returns_junk_fails(lab: Lab) -> None:
    class Junk(otpy.GenServer):
        def init(self) -> object:
            return "zz"

    sup = started(lab)
    with pytest.raises(StartError) as caught:
        sup.call(SUP.start_child, otpy.child(Junk))
    assert caught.value.reason == BadReturn("'zz'")
    assert states(sup) == {}


@pytest.mark.otp_case(165)
def test_start_child_under_a_taken_name_returns_the_holder(lab: Lab) -> None:
    sup = started(lab, lab.worker("a").opts(name="cache"))
    elsewhere = lab.system.start(lab.worker("e").opts(name="store"))
    for name, holder in (("cache", lab.refs["a"]), ("store", elsewhere)):
        with pytest.raises(NameTakenError) as caught:
            sup.call(SUP.start_child, lab.worker("b").opts(name=name))
        assert caught.value.holder is holder
    assert states(sup) == {"a": "running"}


@pytest.mark.otp_case(84)
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (None, "lab/top: expected a child spec, got a NoneType"),
        (otpy.child(int), "lab/top/int: int is no actor; subclass otpy.GenServer, or give a function"),
        (otpy.child(otpy.GenServer).opts(shutdown=-10), "lab/top/GenServer: shutdown=-10"),
        (otpy.child(otpy.GenServer).opts(restart="sometimes"), "lab/top/GenServer: restart='sometimes'"),  # type: ignore[arg-type]
        (otpy.child(otpy.GenServer).opts(significant="maybe"), "lab/top/GenServer: significant='maybe'"),  # type: ignore[arg-type]
        (ChildSpec("", otpy.GenServer), "lab/top/: an id is a text without '/'"),
        (ChildSpec("x", None), "lab/top/x: start must be an actor class or a function, got a NoneType"),  # type: ignore[arg-type]
    ],
    ids=str,
)
def test_start_child_of_a_bad_spec_tells_who_asked(lab: Lab, spec: Any, problem: str) -> None:
    sup = started(lab)
    with pytest.raises(SpecError) as caught:
        sup.call(SUP.start_child, spec)
    assert str(caught.value).startswith(problem)
    assert sup.is_alive()


@pytest.mark.parametrize("args", [(), ("a", "b")], ids=str)
def test_wrong_number_of_arguments_tells_who_asked(lab: Lab, args: tuple[str, ...]) -> None:
    sup = started(lab, lab.worker("a"))
    with pytest.raises(TypeError, match="terminate_child"):
        sup.call(SUP.terminate_child, *args)
    with pytest.raises(TypeError, match="delete_child"):
        sup.call(SUP.delete_child, *args)
    assert sup.is_alive()


def test_a_crash_in_init_is_reported_in_full_once(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    """The crash report tells it all; that the child did not start follows from it."""
    logging.getLogger("otpy").setLevel(logging.NOTSET)

    def fail(_: int) -> None:
        raise ValueError("no disk")

    with pytest.raises(StartError):
        lab.system.start(tree(lab.worker("a", at_start=fail)))

    said = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [text for text in said if "Traceback" in text] == said[:1]
    assert said[0].startswith("lab/top/a (Worker) crashed during init: ValueError: no disk")
    assert [text for text in said if text.startswith("lab/top/a did not start")] == []


def test_a_start_that_failed_otherwise_is_one_line_more(lab: Lab, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("otpy").setLevel(logging.NOTSET)

    with pytest.raises(StartError):
        lab.system.start(tree(lab.worker("a", "!")))

    assert "lab/top/a did not start: exit: 'boom'" in [record.getMessage() for record in caplog.records]
