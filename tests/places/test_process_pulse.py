"""Signs of life of process children: who is busy gives them, who is stopped or keeps the interpreter does not."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import ProcessAnswers, ProcessSilent
from otpy.places.process import pulse
from otpy.testing.arrivals import Arrivals
from otpy.testing.recorder import Recorder
from support.lasting import Holding

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

A_BUSY_MACHINE = 60.0
"""Seconds to wait for a sign of life; only a failing test waits so long."""


def holding(**options: Any) -> otpy.ChildSpec:
    return otpy.child(Holding).opts(place="process", **options)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """All is asked, and told, sooner."""
    monkeypatch.setattr(pulse, "PERIOD", 0.05)
    monkeypatch.setattr(pulse, "SILENT", 0.5)


@pytest.mark.usefixtures("impatient")
def test_a_stopped_process_is_told_of_and_so_is_its_return(farm: otpy.System) -> None:
    ref = farm.start(holding())
    pid = ref.call(Holding.pid)
    with Recorder(farm, ProcessSilent, ProcessAnswers) as events:
        os.kill(pid, signal.SIGSTOP)
        (silent,) = events.expect(1)
        record = farm.record(ref.path)
        os.kill(pid, signal.SIGCONT)
        _, answers = events.expect(2)
    assert isinstance(silent, ProcessSilent)
    assert (silent.path, silent.pid, silent.state) == (ref.path, pid, "it is stopped (T)")
    assert isinstance(answers, ProcessAnswers)
    assert answers.seconds >= silent.seconds
    assert ref.call(Holding.pid) == pid, "it only informs"
    assert record.status == "silent"


@pytest.mark.usefixtures("impatient")
def test_code_that_keeps_the_interpreter_is_told_of(farm: otpy.System, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    ref = farm.start(holding())
    with Recorder(farm, ProcessSilent, ProcessAnswers) as events:
        ref.call(Holding.keep_interpreter, str(pipe))
        told = events.expect(1, timeout=A_BUSY_MACHINE)
        # It may have been silent before, on a busy machine, and then answered in between: the last word counts.
        while not (isinstance(told[-1], ProcessSilent) and told[-1].state.startswith("it waits")):
            told = events.expect(len(told) + 1, timeout=A_BUSY_MACHINE)
        os.close(os.open(pipe, os.O_WRONLY))
        *_, silent, answers = events.expect(len(told) + 1, timeout=A_BUSY_MACHINE)
    assert isinstance(silent, ProcessSilent)
    assert silent.state == "it waits, and keeps its interpreter to itself (S)"
    assert isinstance(answers, ProcessAnswers)
    assert {silent.path, answers.path} == {ref.path}


@pytest.mark.usefixtures("impatient")
def test_code_that_is_busy_answers(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: Arrivals[pulse.Pulse] = Arrivals()
    answered = pulse.Pulse.answered
    monkeypatch.setattr(pulse.Pulse, "answered", lambda own: (answered(own), answers.add(own)))
    ref = farm.start(holding())
    ref.call(Holding.compute)
    already = len(answers.so_far())
    answers.wait(already + 2, A_BUSY_MACHINE)  # the first may have been on its way before
    ref.kill()


def test_its_silence_stands_in_the_records(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulse, "PERIOD", 0.05)
    monkeypatch.setattr(pulse, "SILENT", 1.1)
    ref = farm.start(holding())
    pid = ref.call(Holding.pid)
    assert farm.record(ref.path).trouble is None
    with Recorder(farm, ProcessSilent) as events:
        os.kill(pid, signal.SIGSTOP)
        events.expect(1)
        record = farm.record(ref.path)
    os.kill(pid, signal.SIGCONT)
    assert record.status == "silent"
    assert str(record.trouble).startswith("silent for ")
    assert str(record.trouble).endswith(" s: it is stopped (T)")


def test_a_look_that_comes_late_itself_blames_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program was stopped, or got no turn: what the child has answered lies there unread."""
    now = [100.0]
    monkeypatch.setattr(pulse, "monotonic", lambda: now[0])
    due: list[tuple[float, Callable[[], None]]] = []
    ends: list[object] = []
    listener: Any = SimpleNamespace(later=lambda *what: due.append(what))
    line = SimpleNamespace(say=lambda *_: None)
    child: Any = SimpleNamespace(path="t/far", pid=os.getpid(), line=line, taken=0, is_over=False, end_as=ends.append)
    own = pulse.Pulse(child, listener, 3.0)
    own.ask()
    now[0] += 9.0
    due.pop()[1]()
    assert ends == []

    (seconds, look) = due.pop()
    now[0] += seconds
    look()

    assert seconds == 3.0
    assert "no sign of life for 3 s" in str(ends[0])
