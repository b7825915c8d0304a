"""The place `process`: async classes and coroutine functions, and bounded mailboxes."""

from __future__ import annotations

import asyncio
import os

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError, StartError
from support.far import Near
from support.inner import Waiter, greet_later


@pytest.fixture
def near(farm: otpy.System) -> otpy.Ref[Near]:
    return farm.start(otpy.child(Near).opts(name="near"))


@pytest.fixture
def waiter(farm: otpy.System, near: otpy.Ref[Near]) -> otpy.Ref[Waiter]:
    return farm.start(otpy.child(Waiter, near).opts(place="process"))


def test_it_runs_on_a_loop_in_its_process_and_awaits_actors_outside(waiter: otpy.Ref[Waiter]) -> None:
    pid, thread, path = waiter.call(Waiter.where)
    assert (pid != os.getpid(), thread, path) == (True, "otpy-loop", "t/Waiter")
    assert waiter.call(Waiter.sum, 1, 2) == 3
    assert waiter.call(Waiter.sum_by_name, "near") == 3


def test_it_is_awaited_from_any_loop(waiter: otpy.Ref[Waiter]) -> None:
    assert asyncio.run(waiter.acall(Waiter.sum, 1, 2)) == 3


def test_its_crash_arrives_with_its_place(waiter: otpy.Ref[Waiter]) -> None:
    with pytest.raises(CallExitError) as caught:
        waiter.call(Waiter.crash, "ouch")
    reason = caught.value.reason
    assert isinstance(reason, otpy.Crashed)
    assert reason.frames[-1].function == "crash"


def test_an_exit_signal_cancels_its_handler(waiter: otpy.Ref[Waiter], near: otpy.Ref[Near]) -> None:
    with pytest.raises(CallTimeoutError):
        waiter.within(0.05).call(Waiter.hang)
    assert near.call(Near.met_so_far, 2)[-1] == "hanging"
    monitor = waiter.monitor()
    waiter.exit(otpy.Exit("enough"))
    assert monitor.wait().reason == otpy.Exit("enough")
    assert near.call(Near.read)[-1] == "cancelled"


def test_one_that_blocks_its_loop_is_killed_all_the_same(waiter: otpy.Ref[Waiter]) -> None:
    with pytest.raises(CallTimeoutError):
        waiter.within(0.05).call(Waiter.block)
    monitor = waiter.monitor()
    waiter.kill()
    assert monitor.wait().reason == otpy.Killed()


def test_an_async_init_that_fails_fails_the_start(farm: otpy.System) -> None:
    with pytest.raises(StartError, match="init"):
        farm.start(otpy.child(Waiter).opts(place="process"))  # type: ignore[call-arg]  # it is meant to fail


def test_a_coroutine_function_runs_in_a_process_and_ends(farm: otpy.System, near: otpy.Ref[Near]) -> None:
    ref = farm.start(otpy.child(greet_later, near).opts(place="process"))
    assert ref.monitor().wait().reason in (otpy.Normal(), otpy.NoProc())
    ((word, pid),) = near.call(Near.read)
    assert word == "pid"
    assert pid != os.getpid()
