"""The place `loop`: which actors run on it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import otpy
from otpy.core.reason import Shutdown
from otpy.errors import (
    SpecError,
)
from support.doer import AsyncDoer, Doer


def test_a_class_with_a_coroutine_function_runs_on_the_loop_without_saying_so(system: otpy.System) -> None:
    ref = system.start(AsyncDoer)
    assert AsyncDoer.place == "loop"
    assert system.record(ref.path).place == "loop"
    assert ref.call(Doer.do, lambda _: threading.current_thread().name) == "otpy-loop"


def test_a_plain_class_may_run_on_the_loop(system: otpy.System) -> None:
    ref = system.start(otpy.child(Doer).opts(place="loop"))
    assert system.record(ref.path).place == "loop"
    assert ref.call(Doer.do, lambda _: threading.current_thread().name) == "otpy-loop"


@pytest.mark.parametrize("place", ["pool", "thread"])
def test_coroutine_functions_run_nowhere_else(system: otpy.System, place: Any) -> None:
    with pytest.raises(SpecError, match=r"AsyncDoer\.\w+ is async; leave place out"):
        system.start(otpy.child(AsyncDoer).opts(place=place))
    assert system.alive == 0


@pytest.mark.parametrize("start", [otpy.Supervisor, otpy.DynamicSupervisor, print])
def test_what_blocks_does_not_run_on_the_loop(system: otpy.System, start: Any) -> None:
    with pytest.raises(SpecError, match="cannot run on an event loop"):
        system.start(otpy.child(start).opts(place="loop"))


def test_all_loop_actors_share_one_thread_and_nobody_has_one_unasked(system: otpy.System) -> None:
    system.start(Doer)
    assert not system.threads
    refs = [system.start(AsyncDoer) for _ in range(3)]
    assert len({ref.call(Doer.do, lambda _: threading.get_ident()) for ref in refs}) == 1
    assert len(system.threads) == 1


def test_thousands_of_actors(system: otpy.System) -> None:
    sup = system.start(otpy.dynamic(AsyncDoer))
    refs = sup.within(50.0).call(otpy.DynamicSupervisor.start_children, [otpy.child(AsyncDoer)] * 2_000)
    assert all(ref.is_alive() for ref in refs if isinstance(ref, otpy.Ref))
    assert len(refs) == 2_000
    system.wait_idle()
    sup.stop(Shutdown())
    assert system.alive == 0
