"""Several programs on one server: all of them work, one leads, and what ends with one of them the others do."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from otpy.events import LeaderResigned
from otpy.jobs.agents.context import current
from otpy.jobs.engine import Engine
from otpy.jobs.kind import job
from otpy.jobs.setup import Crew, Queue
from otpy.jobs.trees import SharedEngine
from otpy.testing import Gate

from .fleet import DOERS, FOUR, LEASE, ONE, Fleet, held

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def test_both_do_jobs_of_one_queue_and_one_leads(fleet: Callable[..., Fleet], gate: Gate) -> None:
    kind = held(gate)
    two = fleet(2, [kind], crews=ONE)
    assert two.leads() == ["a"]
    two.client("a").enqueue_all([kind.new() for _ in range(5)])
    two.clock.advance(1.0)
    gate.reached(2)
    assert two.running() == {"a": 1, "b": 1}
    program = two.client("b").hosts()[0].host.name
    assert sorted(two.rows("owner", "state = 'running'")) == [
        (f"{name}/jobs/work/one/1@{program}",) for name in ("a", "b")
    ]
    gate.open()
    two.clock.advance(1.0)
    assert {state for (state,) in two.rows("state")} == {"done"}
    assert two.leads() == ["a"]


def test_a_limit_holds_over_all_programs(fleet: Callable[..., Fleet]) -> None:
    """Judged from the rows: each job counts, while it runs, those that do so as well."""
    gates, counts = [Gate() for _ in range(4)], list[int]()

    def count(number: int) -> None:
        gates[number % 4].wait()
        counts.append(len(two.rows("id", "state = 'running'")))

    kind = job(queue="few", timeout=None)(count)
    two = fleet(3, [kind], crews=FOUR, queues=[Queue("few", limit=3)])
    two.client("b").enqueue_all([kind.new(number) for number in range(16)])
    for number, gate in enumerate(gates):
        two.clock.advance(2.0)
        assert sum(two.running().values()) == 3, number
        gate.open()
    two.clock.advance(2.0)
    assert [state for (state,) in two.rows("state")] == ["done"] * 16
    assert max(counts) <= 3


@pytest.mark.parametrize("name", ["a", "b"])
def test_what_a_dead_program_had_another_one_does(fleet: Callable[..., Fleet], gate: Gate, name: str) -> None:
    kind = held(gate)
    two = fleet(2, [kind], crews=ONE)
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(1.0)
    gate.reached(2)
    two.kill(name)
    (other,) = {"a", "b"} - {name}
    two.clock.advance(LEASE * 0.7)
    assert two.running() == {"a": 1, "b": 1}
    gate.open()
    two.clock.advance(LEASE * 2)
    assert sorted(two.rows("state, crashes")) == [("done", 0), ("done", 1)]
    assert two.leads() == [other]


def test_the_end_of_the_leader_leaves_the_work_of_others_alone(fleet: Callable[..., Fleet], gate: Gate) -> None:
    kind = held(gate)
    two = fleet(2, [kind], crews=ONE)
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(1.0)
    gate.reached(2)
    before = [two.named("b", role) for role in ("scheduler", "beat", "agents/one")]
    two.kill("a")
    two.clock.advance(LEASE * 1.5)
    assert two.leads() == ["b"]
    assert two.running().get("b") == 1
    assert [two.named("b", role) for role in ("scheduler", "beat", "agents/one")] == before
    gate.open()
    two.clock.advance(LEASE)
    assert sorted(two.rows("state, crashes, attempt")) == [("done", 0, 1), ("done", 1, 2)]


def test_who_stops_resigns_first_then_drains_and_then_is_gone(fleet: Callable[..., Fleet], gate: Gate) -> None:
    kind = held(gate)
    two = fleet(1, [kind], crews=ONE)
    two.clock.advance(0.1)
    two.begin("b")
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(1.0)
    gate.reached(2)
    entries = two.engines["a"].actor.otpy_children().by_id.values()
    assert sum(one.shutdown for one in entries if one.spec.id != "duties") == SharedEngine.sealed_stop()
    two.engines["a"].stop(block=False)
    two.clock.advance(1.0)
    assert [event.is_well for event in two.told("a", LeaderResigned)] == [True]
    assert two.leads() == ["b"]
    assert two.running() == {"a": 1, "b": 1}
    assert [(one.is_alive, one.is_leading, one.draining_since is None) for one in two.client("b").hosts()] == [
        (True, False, False),
        (True, True, True),
    ]
    gate.open()
    two.clock.advance(1.0)
    assert not two.engines["a"].is_alive()
    assert two.rows("state, attempt") == [("done", 1), ("done", 1)]
    assert sorted(until > two.now() for _, until, _ in two.hosts()) == [False, True]


def test_work_that_begins_again_does_so_as_another_program(fleet: Callable[..., Fleet], gate: Gate) -> None:
    """Who stops is given nothing more; so is who only seems to stop, for its work has failed for good."""
    kind = held(gate)
    one = fleet(1, [kind], crews=ONE)
    gate.open()
    before = one.client("a").hosts()[0].host.id
    one.engines["a"].actor.entry_of("work").ref.kill()
    one.clock.advance(1.0)
    made = one.client("a").enqueue(kind.new())
    one.clock.advance(1.0)
    assert DOERS[made.id] == "a"
    first, second = sorted(one.client("a").hosts(), key=lambda look: look.is_alive)
    assert (first.host.id, first.is_alive, second.is_alive) == (before, False, True)
    assert one.leads() == ["a"]


@pytest.mark.parametrize("is_async", [True, False])
def test_a_cancellation_reaches_the_program_that_does_the_job(fleet: Callable[..., Fleet], *, is_async: bool) -> None:
    gate, seen = Gate(), dict[int, bool]()

    def listen() -> None:
        gate.wait()
        seen[current().id] = current().is_cancelled

    async def wait() -> None:
        await gate.await_open()

    kind = job(timeout=None)(wait if is_async else listen)
    two = fleet(2, [kind], crews=[Crew(name="one", size=1, spare=0, place="loop" if is_async else "pool")])
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(1.0)
    gate.reached(2)
    by = {owner.partition("/")[0]: number for number, owner in two.rows("id, owner")}
    two.client("a").cancel(by["b"])
    two.clock.advance(1.5)
    gate.open()
    two.clock.advance(1.5)
    assert dict(two.rows("id, state")) == {by["a"]: "done", by["b"]: "cancelled"}
    assert is_async or seen == {by["a"]: False, by["b"]: True}


def test_who_is_not_heard_of_begins_nothing_and_comes_back_as_another_one(
    fleet: Callable[..., Fleet], gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a program that was stopped for longer than its lease, or cut off from the server."""
    frozen = _frozen(monkeypatch, "b")
    kind = held(gate)
    two = fleet(2, [kind], crews=ONE)
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(1.0)
    gate.reached(2)
    before = [one for one, _, _ in two.hosts()]
    with Gate() as still:
        frozen.append(still)
        two.clock.advance(LEASE * 0.95)
        assert two.named("b", "scheduler").actor.rights.now is None
        assert not two.named("b", "beat").actor.held
        two.clock.advance(LEASE)
        frozen.clear()
    two.clock.advance(LEASE)
    assert len(two.hosts()) == 3
    gate.open()
    two.clock.advance(LEASE)
    assert sorted(two.rows("state, crashes")) == [("done", 0), ("done", 1)]
    made = [two.client("a").enqueue(kind.new()) for _ in range(2)]
    two.clock.advance(LEASE)
    assert [two.rows("state", f"id = {one.id}") for one in made] == [[("done",)]] * 2
    assert two.named("b", "scheduler").actor.rights.now.by.host not in before


def _frozen(patch: pytest.MonkeyPatch, name: str) -> list[Gate]:
    """Gates at which the store of one program stands still."""
    gates: list[Gate] = []
    opened = Engine._open

    def opening(self: Engine) -> Any:
        store = opened(self)
        begin = store.transaction

        @contextmanager
        def transaction() -> Iterator[Any]:
            for gate in gates:
                gate.wait()
            with begin() as tx:
                yield tx

        if self.system.name == name:
            store.transaction = transaction  # type: ignore[method-assign]  # as told
        return store

    patch.setattr(Engine, "_open", opening)
    return gates


def test_the_programs_are_seen_from_each_of_them(fleet: Callable[..., Fleet]) -> None:
    two = fleet(1, [held(Gate())], crews=FOUR, version="blue", labels={"disk"})
    two.clock.advance(0.1)
    two.begin("b", version="green", labels={"gpu", "disk"})
    first, second = two.client("b").hosts()
    assert (first.host.version, first.host.labels, first.host.agents) == ("blue", ("disk",), 4)
    assert (second.host.version, second.host.labels) == ("green", ("disk", "gpu"))
    assert [(one.is_alive, one.is_leading, one.draining_since) for one in (first, second)] == [
        (True, True, None),
        (True, False, None),
    ]
    two.kill("a")
    two.clock.advance(LEASE * 1.5)
    assert [(one.is_alive, one.is_leading) for one in two.client("b").hosts()] == [(False, False), (True, True)]


def test_what_another_program_has_the_labels_for_is_no_stranger(fleet: Callable[..., Fleet], gate: Gate) -> None:
    paint, fly = held(gate, needs=["gpu"], name="paint"), held(gate, needs=["wings"], name="fly")
    two = fleet(1, [paint, fly], crews=ONE)
    two.begin("b", labels={"gpu"})
    jobs = two.client("a")
    jobs.pause("default")
    jobs.enqueue_all([paint.new(), fly.new()])
    assert [want.kind for want in jobs.unroutable()] == ["fly"]
    two.kill("b")
    two.clock.advance(LEASE * 1.5)
    assert [want.kind for want in jobs.unroutable()] == ["fly", "paint"]
