"""State over restarts wherever an actor runs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import BlockingError, CallExitError
from otpy.state.store import open_states
from support.states import AsyncCounter, Counter, Nest, Odd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def program(file: Path) -> Iterator[otpy.System]:
    system = otpy.System("shop")
    open_states(system, file)
    try:
        yield system
    finally:
        assert system.stop(timeout=10.0) == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.state"


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_what_was_saved_is_there_for_the_next_program(file: Path, place: Any) -> None:
    for count in (1, 2):
        with program(file) as system:
            ref = system.start(otpy.child(Counter).opts(id="counter", place=place))
            ref.call(Counter.add)
            assert ref.call(Counter.save) == count


def test_on_a_loop_it_is_awaited(file: Path) -> None:
    for count in (1, 2):
        with program(file) as system:
            assert system.start(otpy.child(AsyncCounter).opts(id="counter")).call(AsyncCounter.add) == count


def test_on_a_loop_the_blocking_form_is_refused(file: Path) -> None:
    with program(file) as system:
        ref = system.start(otpy.child(Counter).opts(id="counter", place="loop"))
        with pytest.raises(CallExitError, match=BlockingError.__name__):
            ref.call(Counter.save)


def test_a_process_is_given_its_own_and_those_inside_of_it_theirs(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")
    for count in (1, 2):
        with program(file) as system:
            ref = system.start(otpy.child(Counter).opts(id="counter", place="process"))
            ref.call(Counter.add)
            assert ref.call(Counter.save) == count
            waiting = system.start(otpy.child(AsyncCounter).opts(id="async", place="process"))
            assert waiting.call(AsyncCounter.add) == count
            nest = system.start(otpy.child(Nest).opts(id="nest", place="process"))
            assert nest.call(Nest.add) == count
            odd = system.start(otpy.child(Odd).opts(id="odd", place="process"))
            with pytest.raises(CallExitError, match=r"\['lock'\]: object is no plain data"):
                odd.call(Odd.save)
