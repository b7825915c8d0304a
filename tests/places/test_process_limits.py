"""The place `process`: limits of memory, CPU time and niceness, on real processes."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

import otpy
from otpy.errors import CallExitError, SpecError
from support.confined import Confined

MIB = 1024 * 1024


def confined(**options: Any) -> otpy.ChildSpec:
    return otpy.child(Confined).opts(place="process", **options)


def test_an_allocation_beyond_its_memory_is_an_error_inside(farm: otpy.System) -> None:
    ref = farm.start(confined(max_memory_bytes=200 * MIB))
    assert ref.call(Confined.allocate, 50 * MIB) == "allocated"
    assert ref.call(Confined.allocate, 500 * MIB) == "MemoryError"
    assert ref.call(Confined.allocate, 10 * MIB) == "allocated"


def test_what_is_not_handled_ends_it_as_any_error(farm: otpy.System) -> None:
    ref = farm.start(confined(max_memory_bytes=100 * MIB))
    with pytest.raises(CallExitError, match="MemoryError"):
        ref.call(Confined.grow)


def test_one_that_holds_too_much_is_killed_and_its_reason_says_so(farm: otpy.System) -> None:
    ref = farm.start(confined(max_memory_bytes=100 * MIB))
    monitor = ref.monitor()
    ref.cast(Confined.map, 150 * MIB)
    reason = monitor.wait().reason
    assert reason == otpy.Signalled(signal.SIGKILL)
    assert "more than its max_memory_bytes of 100 MiB" in str(reason)


def test_one_that_has_used_up_its_cpu_time_ends_and_its_reason_says_so(farm: otpy.System) -> None:
    ref = farm.start(confined(max_cpu=0.5))
    monitor = ref.monitor()
    ref.cast(Confined.compute)
    reason = monitor.wait(20.0).reason
    assert reason == otpy.Signalled(signal.SIGXCPU)
    assert "max_cpu of 0.5 s" in str(reason)


def test_it_may_stand_back_with_all_its_threads(farm: otpy.System) -> None:
    assert farm.start(confined(nice=7)).call(Confined.niceness) == {7}


def test_its_limits_are_shown(farm: otpy.System) -> None:
    ref = farm.start(confined(max_memory_bytes=512 * MIB, max_cpu=60, nice=5))
    process = farm.record(ref.path).process
    assert process is not None
    assert process.limits == ("memory 512 MiB", "cpu 60 s", "nice 5")


@pytest.mark.parametrize(
    "option",
    [
        {"max_memory_bytes": 1024},
        {"max_memory_bytes": 1e9},
        {"max_memory_bytes": True},
        {"max_cpu": 0},
        {"max_cpu": "1"},
        {"max_cpu": float("inf")},
        {"nice": 0},
        {"nice": 20},
        {"nice": 1.5},
    ],
)
def test_a_limit_that_cannot_be_is_refused(system: otpy.System, option: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match=next(iter(option))):
        system.start(confined(**option))


@pytest.mark.parametrize("option", [{"max_memory_bytes": 512 * MIB}, {"max_cpu": 1.0}, {"nice": 1}])
def test_limits_are_for_processes_alone(system: otpy.System, option: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="is for a child with place='process'"):
        system.start(otpy.child(Confined).opts(**option))


def test_a_parent_that_stands_back_itself_keeps_its_children_no_less(farm: otpy.System) -> None:
    assert farm.start(confined()).call(Confined.niceness) == {os.getpriority(os.PRIO_PROCESS, 0)}
