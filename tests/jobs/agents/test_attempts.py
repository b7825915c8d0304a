"""What an attempt leads to, whatever its handler does, in every place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.errors import SpecError
from otpy.events import ActorCrashed
from otpy.jobs.kind import job
from otpy.jobs.setup import Crew
from support import errands

from .works import AT_ONCE, crew, ended, result, started

if TYPE_CHECKING:
    from pathlib import Path

    import otpy
    from otpy.testing import Recorder

    from .works import Ends

PLACES = ["pool", "thread", "process"]

OUTCOMES: dict[str, tuple[str, str, str]] = {
    "sys.exit": ("crashes", "crash", "SystemExit"),
    "SystemExit": ("crashes", "crash", "SystemExit"),
    "KeyboardInterrupt": ("crashes", "crash", "KeyboardInterrupt"),
    "a BaseException": ("crashes", "crash", "odd"),
    "MemoryError": ("errors", "error", "MemoryError: full"),
    "RecursionError": ("errors", "error", "RecursionError"),
    "an error of its own": ("errors", "error", "ServiceError: refused by port 9"),
    "CancelledError": ("errors", "error", "CancelledError"),
    "object": ("its error is final", "stale", "object is no plain data"),
    "lambda": ("its error is final", "stale", "function is no plain data"),
    "a coroutine": ("its error is final", "stale", "declare it with async def"),
    "a generator": ("its error is final", "stale", "it returned a generator"),
    "too much": ("its error is final", "stale", "bytes, more than"),
}
"""The reason of its end, the kind of failure, and a part of what is kept of it."""

IN_PROCESSES = OUTCOMES | {
    "os._exit": ("crashes", "crash", "3"),
    "SIGSEGV": ("crashes", "crash", "SIGSEGV"),
}


@pytest.mark.parametrize("place", PLACES)
def test_plain_and_coroutine_functions_are_done_in_every_place(
    system: otpy.System, ends: Ends, tmp_path: Path, place: str
) -> None:
    client = started(system, tmp_path, errands.double, errands.triple, crews=[crew(place)])
    assert result(ended(client, ends, errands.double.new(4))) == 8
    assert result(ended(client, ends, errands.triple.new(4))) == 12


@pytest.mark.parametrize("how", OUTCOMES)
@pytest.mark.parametrize("place", ["pool", "thread"])
def test_whatever_a_handler_does_has_an_outcome(
    system: otpy.System, ends: Ends, tmp_path: Path, place: str, how: str
) -> None:
    client = started(system, tmp_path, errands.end_badly, errands.double, crews=[crew(place)])
    _has_ended(ended(client, ends, errands.end_badly.new(how)), how)
    assert result(ended(client, ends, errands.double.new(2))) == 4  # there is somebody for the next one


def test_whatever_a_handler_does_in_a_process_has_an_outcome(system: otpy.System, ends: Ends, tmp_path: Path) -> None:
    client = started(system, tmp_path, errands.end_badly, errands.double, crews=[crew("process")])
    for how in IN_PROCESSES:
        _has_ended(ended(client, ends, errands.end_badly.new(how)), how)
    assert result(ended(client, ends, errands.double.new(2))) == 4


@pytest.mark.parametrize("how", ["sys.exit", "KeyboardInterrupt", "a BaseException", "CancelledError", "object"])
def test_whatever_a_coroutine_does_has_an_outcome(system: otpy.System, ends: Ends, tmp_path: Path, how: str) -> None:
    async def end_badly() -> Any:
        return errands.BAD[how]()

    kind = job(retry=AT_ONCE)(end_badly)
    client = started(system, tmp_path, kind)
    _has_ended(ended(client, ends, kind.new()), how)
    assert ended(client, ends, kind.new()).state == "dead"


def _has_ended(dead: Any, how: str) -> None:
    reason, failure, text = IN_PROCESSES[how]
    assert (dead.state, dead.reason) == ("dead", reason)
    assert [one.failure for one in dead.attempts] == [failure] * (1 if failure == "stale" else 2)
    assert text in dead.attempts[0].text


def test_an_error_table_may_say_that_a_result_that_cannot_be_kept_is_done(
    system: otpy.System, ends: Ends, tmp_path: Path
) -> None:
    from otpy.jobs.errors import ArgumentsError  # noqa: PLC0415
    from otpy.jobs.retry import Retry  # noqa: PLC0415

    kind = job(retry=Retry(table={ArgumentsError: "ignore"}))(object)
    assert ended(started(system, tmp_path, kind), ends, kind.new()).state == "done"


def test_a_generator_is_no_job() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(SpecError, match="it is a generator"):
        job(numbers)


def test_what_a_place_cannot_do_is_refused_before_anything_starts(
    system: otpy.System, ends: Ends, tmp_path: Path
) -> None:
    def plain() -> None:
        """Defined inside: no process can find it."""

    kind, apart = job(plain), job(killable=True)(plain)
    for crews, one, text in (
        ([Crew(name="l", place="loop", kinds=(kind.name,))], kind, "would block all others"),
        ([Crew(name="p", kinds=(apart.name,))], apart, "needs place='process'"),
        ([Crew(name="p", place="process")], apart, "has to be at the top of a module"),
    ):
        with pytest.raises(SpecError, match=text):
            started(system, tmp_path, one, crews=crews)


def test_nothing_of_a_job_is_reported_but_what_ends_its_agent(
    system: otpy.System, ends: Ends, tmp_path: Path, events: Recorder
) -> None:
    kind = job(retry=AT_ONCE)(errands.BAD["MemoryError"])
    ended(started(system, tmp_path, kind), ends, kind.new())
    assert events.of(ActorCrashed) == []
