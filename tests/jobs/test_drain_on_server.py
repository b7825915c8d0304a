"""A program on a server that drains: another one leads meanwhile, and the others do what it does not claim."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.events import JobsDrained, LeaderResigned
from otpy.jobs.kind import job

from .fleet import DOERS, ONE, held

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import Gate

    from .fleet import Fleet


@pytest.mark.report("J40", "taskiq-python/taskiq#380")
def test_the_leader_resigns_first_and_the_others_do_what_comes_meanwhile(
    fleet: Callable[..., Fleet], gate: Gate
) -> None:
    done: list[int] = []
    long: Any = held(gate, queue="long")
    short: Any = job(name="short")(lambda: done.append(1))
    two = fleet(2, [long, short], crews=ONE)
    two.client("a").enqueue_all([long.new(), long.new()])
    two.clock.advance(1.0)
    gate.reached(2)
    assert (two.leads(), two.running()) == (["a"], {"a": 1, "b": 1})
    course = begin(two.systems["a"], "by hand", 100.0)
    two.clock.advance(2.0)
    assert two.leads() == ["b"]
    assert [one.why for one in two.told("a", LeaderResigned)] == ["its program is about to stop"]
    assert sorted(since is not None for _, _, since in two.hosts()) == [False, True]
    assert (two.running(), course.has_ended()) == ({"a": 1, "b": 1}, False)
    for _ in range(3):
        two.client("a").enqueue_all([short.new(), long.new()])
        two.clock.advance(1.0)
        assert two.running() == {"a": 1, "b": 1}
    gate.open()
    two.clock.advance(2.0)
    assert course.has_ended()
    assert list(DOERS.values()).count("a") == 1
    assert {state for (state,) in two.rows("state")} == {"done"}
    assert [(one.finished, one.released, one.left) for one in two.told("a", JobsDrained)] == [(1, 0, ())]
    assert two.systems["a"].stop(timeout=30.0) == []


def test_what_is_not_done_in_time_another_program_does(fleet: Callable[..., Fleet], gate: Gate) -> None:
    doers: list[str] = []

    async def slow() -> None:
        doers.append(otpy.current().path.partition("/")[0])
        await gate.await_open()

    kind: Any = job(timeout=None)(slow)
    two = fleet(1, [kind])
    two.client("a").enqueue(kind.new())
    two.clock.advance(1.0)
    gate.reached()
    two.begin("b")
    begin(two.systems["a"], "by hand", 10.0)
    two.clock.advance(5.0)
    assert two.running() == {"a": 1}
    two.clock.advance(3.0)
    assert two.running() == {"b": 1}
    gate.open()
    two.clock.advance(1.0)
    assert (two.rows("state, attempt, errors, crashes"), doers) == ([("done", 1, 0, 0)], ["a", "b"])
