"""Any operations in any order, with a clock that jumps: the store says what its model says; I1 to I5 and I8."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from otpy.jobs.model.claim import Ask, Settled
from otpy.jobs.model.job import Attempt
from otpy.jobs.model.lead import Fence
from otpy.jobs.model.new import NewJob, Unique

from .conftest import STORES, Clock
from .oracle import Model

if TYPE_CHECKING:
    from otpy.jobs.model.job import Failure, State
    from otpy.jobs.store.protocol import Store

LEASE = 5_000
UNIQUE = st.builds(Unique, key=st.sampled_from("uvw"), until=st.sampled_from(["started", "finished", "forever"]))
NEW = st.builds(
    dict,
    kind=st.sampled_from("kl"),
    args=st.sampled_from([b"a", b"b"]),
    delay=st.sampled_from([0, 0, 0, 500, 20_000]),
    priority=st.integers(-1, 1),
    key=st.none() | st.sampled_from("xyz"),
    unique=st.none() | UNIQUE,
    life=st.none() | st.sampled_from([1_000, 30_000]),
    patience=st.none() | st.sampled_from([1_000, 30_000]),
    version=st.sampled_from(["", "", "", "blue"]),
)


class Contract(RuleBasedStateMachine):
    """One store and its model; `open_store` says which."""

    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.model = Clock(), Model()
        self.folder = tempfile.TemporaryDirectory()
        self.store: Store = STORES[self.kind](Path(self.folder.name), self.clock)
        self.claims: list[tuple[int, int]] = []
        """All that were ever made, the old ones with them."""
        self.accepted: set[tuple[int, int]] = set()
        self.epochs: list[int] = []

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @property
    def fence(self) -> Fence:
        return Fence(name="jobs", epoch=self.epochs[-1] if self.epochs else 0)

    @rule(new=st.lists(NEW, min_size=1, max_size=3))
    def insert(self, new: list[dict[str, Any]]) -> None:
        now = self.clock.now
        jobs = [_job(one, now) for one in new]
        with self.store.transaction() as tx:
            made = tx.insert(jobs)
        for one, job in zip(made, jobs, strict=True):
            assert (one.id, one.how) == self.model.insert(job, one.id, now)

    @rule(version=st.sampled_from([None, "blue", "green"]))
    def activate(self, version: str | None) -> None:
        with self.store.transaction() as tx:
            tx.activate(version)
        self.model.active = version

    @rule(number=st.integers(1, 4), version=st.sampled_from(["", "blue", "blue", "green"]))
    def claim(self, number: int, version: str) -> None:
        ask = Ask(queues=("q",), owners=tuple(f"agent-{one}" for one in range(number)), lease_ms=LEASE)
        with self.store.transaction() as tx:
            jobs = tx.claim([ask], self.fence, version)
        if not self.model.leads(self.fence.epoch, self.clock.now):
            assert jobs is None
            return
        assert jobs is not None
        assert [job.id for job in jobs] == self.model.claim(number, LEASE, self.clock.now, version)
        assert all(self.model.rows[job.id].token == job.token for job in jobs)
        assert not {(job.id, job.token) for job in jobs} & set(self.claims)
        self.claims += [(job.id, job.token) for job in jobs]

    @precondition(lambda self: self.claims)
    @rule(
        data=st.data(),
        state=st.sampled_from(["done", "done", "dead", "cancelled", "ready", "scheduled"]),
        failure=st.sampled_from([None, "error", "crash"]),
        wait=st.sampled_from([0, 3_000]),
    )
    def settle(self, data: st.DataObject, state: State, failure: Failure | None, wait: int) -> None:
        job, token = data.draw(st.sampled_from(self.claims))
        now = self.clock.now
        row = self.model.holds(job, token)
        attempt = failure and Attempt(number=1 if row is None else row.attempt, at=now, failure=failure, text="no")
        outcome = Settled(id=job, token=token, state=state, run_at=now + wait, attempt=attempt or None)
        with self.store.transaction() as tx:
            (is_accepted,) = tx.settle([outcome])
        assert is_accepted == (row is not None)
        if row is not None:
            assert (job, token) not in self.accepted
            self.accepted.add((job, token))
            is_plain = state == "done" and failure is None and not row.is_cancelled
            self.model.settle(row, state, failure, row.run_at if is_plain else now + wait, now)

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        held = data.draw(st.lists(st.sampled_from(self.claims), unique=True, max_size=5))
        with self.store.transaction() as tx:
            lost = tx.renew(held, LEASE)
        assert lost == [claim for claim in held if self.model.holds(*claim) is None]
        for row in (self.model.holds(*claim) for claim in held):
            if row is not None:
                row.lease_until = self.clock.now + LEASE

    @rule()
    def upkeep(self) -> None:
        now = self.clock.now
        with self.store.transaction() as tx:
            promoted, expired = tx.promote(99, self.fence), tx.expire(99, self.fence)
            rescued = tx.rescue(0, 99, self.fence, LEASE)
        if not self.model.leads(self.fence.epoch, now):
            assert promoted is expired is rescued is None
            return
        self.model.promote(now)
        assert sorted(expired or ()) == self.model.expire(now)
        assert sorted(job.id for job in rescued or ()) == self.model.rescue(LEASE, now)

    @rule(id=st.integers(1, 12))
    def cancel(self, id: int) -> None:
        with self.store.transaction() as tx:
            told = tx.cancel([id], "not wanted")
        assert bool(told) == self.model.cancel(id, self.clock.now)

    @rule(age=st.sampled_from([0, 10_000]))
    def prune(self, age: int) -> None:
        with self.store.transaction() as tx:
            assert tx.prune(self.clock.now - age, 99) == self.model.prune(self.clock.now - age)

    @rule(owner=st.integers())
    def elect(self, owner: int) -> None:
        with self.store.transaction() as tx:
            epoch = tx.elect("jobs", f"{len(self.epochs)}-{owner}", 60_000)
        assert epoch == self.model.elect(self.clock.now, 60_000)
        if epoch is not None:
            assert [epoch] > self.epochs[-1:]
            self.epochs.append(epoch)

    @rule()
    def resign(self) -> None:
        owner = "nobody"
        with self.store.transaction() as tx:
            tx.resign(self.fence, owner)

    @rule(step=st.sampled_from([1, 400, 2_500, LEASE + 1, 70_000, -1, -3_000, -80_000]))
    def wait(self, step: int) -> None:
        self.clock.now += step

    @rule()
    def fail(self) -> None:
        """A transaction that fails leaves nothing behind."""
        with pytest.raises(ZeroDivisionError), self.store.transaction() as tx:
            tx.insert([_job({"kind": "k", "args": b"", "delay": 0}, self.clock.now)])
            tx.claim([Ask(queues=("q",), owners=("a", "b"), lease_ms=LEASE)], self.fence)
            raise ZeroDivisionError

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        with self.store.transaction() as tx:
            found = [tx.get(number) for number in range(1, self.model.last + 1)]
            numbers = {state: number for look in tx.queues() for state, number in look.numbers.items() if number}
        assert numbers == self.model.numbers()
        for number, job in enumerate(found, 1):
            row = self.model.rows.get(number)
            if row is None or job is None:
                assert row is job is None
                continue
            assert (job.state, job.token, job.attempt, job.errors, job.crashes, job.run_at, job.lease_until) == (
                row.state,
                row.token,
                row.attempt,
                row.errors,
                row.crashes,
                row.run_at,
                row.lease_until,
            )
            assert (job.state == "running") == (job.lease_until is not None)


def _job(one: dict[str, Any], now: int) -> NewJob:
    facts = {name: value for name, value in one.items() if name not in ("delay", "life", "patience")}
    life = one.get("life")
    deadline = None if life is None else now + life
    start = None if one.get("patience") is None else now + one["delay"] + one["patience"]
    return NewJob(**facts, queue="q", run_at=now + one["delay"], deadline_at=deadline, start_by=start, max_errors=3)


def explore(kind: str, examples: int, steps: int) -> None:
    machine = type(f"Contract_{kind}", (Contract,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            phases=[Phase.explicit, Phase.generate],
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("kind", STORES)
def test_any_order_of_operations(kind: str) -> None:
    explore(kind, 20 if kind == "memory" else 4, 30)


@pytest.mark.stress
@pytest.mark.parametrize("kind", STORES)
def test_any_order_of_operations_at_length(kind: str) -> None:
    explore(kind, 2_000 if kind == "memory" else 100, 80)
