"""Reports of other job systems about several programs, stops and lost machines: what is right, shown here."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from otpy.events import StaleWrite
from otpy.jobs.agents.context import current
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew, Queue
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.testing import Gate
from support.programs import Program

from .pair import LEASE, WHERE, Pair

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def numbers(pair: Pair, by: int) -> dict[str, int]:
    """How many jobs are in which state."""
    return {state: number for look in pair.client(by).queues() for state, number in look.numbers.items() if number}


@pytest.mark.report("J2", "oban-bg/oban#430")
@pytest.mark.report("J29", "janbjorge/pgqueuer#475")
def test_what_a_dead_program_held_of_a_limit_is_free_again_with_its_leases(make: Callable[..., Pair]) -> None:
    """There a counter kept the slots of the dead; here the whole limit is back, and never passed meanwhile."""
    gate, begun = Gate(), list[int]()

    def hold() -> None:
        begun.append(current().id)
        gate.wait()

    kind: Any = job(timeout=None)(hold)
    pair = make(kinds=[kind], queues=[Queue("default", limit=3)])
    pair.client(0).enqueue_all([kind.new() for _ in range(8)])
    gate.reached(3)
    pair.kill(0)
    pair.clock.advance(LEASE * 1.05)
    assert pair.leads() == ["b"]
    assert len(begun) == 3, "leases of the dead still hold"
    pair.clock.advance(LEASE * 0.6)
    gate.reached(6)
    assert (len(begun), numbers(pair, 1)) == (6, {"running": 3, "ready": 5})
    gate.open()
    pair.settle()
    pair.clock.advance(2.0)
    assert numbers(pair, 1) == {"done": 8}


@pytest.mark.report("J13", "celery/kombu#337")
def test_a_job_that_is_due_in_ten_leases_is_held_by_nobody_until_then(make: Callable[..., Pair]) -> None:
    """There each worker in turn took it, kept it for the timeout, and in the end all of them did it."""
    runs: list[int] = []
    kind: Any = job(name="late")(lambda: runs.append(current().token))
    pair = make(kinds=[kind])
    made = pair.client(1).enqueue(kind.new().opts(delay=LEASE * 10))
    for _ in range(9):
        pair.clock.advance(LEASE)
        found = pair.client(0).get(made.id)
        assert found is not None
        assert (found.state, found.token, found.lease_until, runs) == ("scheduled", 0, None, [])
    pair.clock.advance(LEASE * 1.1)
    assert runs == [1]


@pytest.mark.report("J14", "celery/celery#8030", "celery/celery#10205")
@pytest.mark.parametrize(("seconds", "leader"), [(2.0, "a"), (LEASE * 2, "b")])
def test_when_the_store_is_there_again_so_is_the_work(make: Callable[..., Pair], seconds: float, leader: str) -> None:
    """There the worker looked well after that, and took nothing. The pauses of a writer fit its lease."""
    gate, runs = Gate(), Counter[int]()

    def work(number: int) -> None:
        runs[number] += 1
        if not number:
            gate.wait()

    kind: Any = job(timeout=None)(work)
    pair = make(kinds=[kind], crews=[Crew(name="pool", size=2)])
    pair.client(1).enqueue(kind.new(0))
    pair.clock.advance(0.2)
    gate.reached()
    pair.client(1).enqueue_all([kind.new(number) for number in range(1, 40)])
    pair.fail("a")
    gate.open()
    pair.clock.advance(seconds)
    pair.fail("a", still=False)
    pair.clock.advance(LEASE * 2)
    assert (pair.leads(), numbers(pair, 1)) == ([leader], {"done": 40})
    assert {number for number, count in runs.items() if count > 1} <= {0}
    assert runs[0] == (1 if leader == "a" else 2), "what it had done before it lost its lease was never kept"


@pytest.mark.report("J31", "Bogdanp/dramatiq#148")
@pytest.mark.report("J10", "celery/celery#3802")
def test_results_that_a_slow_store_has_not_kept_yet_are_kept_by_a_clean_stop(make: Callable[..., Pair]) -> None:
    """There what had been done was acknowledged by a thread that the stop ended first, and was done again."""
    gates, store, runs = [Gate(), Gate()], Gate(), list[int]()

    def do(number: int) -> str:
        runs.append(number)
        gates[number].wait()
        return f"done {number}"

    kind: Any = job(do)
    pair = make(kinds=[kind])
    made = [pair.client(0).enqueue(kind.new(number)) for number in range(2)]
    for gate in gates:
        gate.reached()
    pair.stores["a"].before = store
    gates[0].open()
    store.reached()  # the first result waits in the store, and the second one for the first
    gates[1].open()
    end = pair.engines[0].monitor()
    pair.engines[0].stop(block=False)
    pair.stores["a"].before = None
    store.open()
    end.wait(20.0)
    pair.clock.advance(LEASE * 2)
    assert pair.leads() == ["b"]
    found = [one for each in made if (one := pair.client(1).get(each.id)) is not None]
    assert [(one.state, one.result_value) for one in found] == [("done", "done 0"), ("done", "done 1")]
    assert sorted(runs) == [0, 1]
    assert (pair.told(0, StaleWrite), pair.told(1, StaleWrite)) == ([], []), "none of it was late"


@pytest.mark.report("J40", "taskiq-python/taskiq#380")
def test_who_is_told_to_stop_claims_nothing_more_though_jobs_keep_coming(
    make: Callable[..., Pair], monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the one that fetches went on fetching; and the option to wait for what ran did nothing."""
    gate, claimed = Gate(), list[int]()
    claim = SqliteTransaction.claim

    def noted(tx: SqliteTransaction, *args: Any) -> Any:
        jobs = claim(tx, *args)
        claimed.extend(one.id for one in jobs or ())
        return jobs

    monkeypatch.setattr(SqliteTransaction, "claim", noted)
    kind: Any = job(name="held")(gate.wait)
    pair = make(kinds=[kind], crews=[Crew(name="pool", size=2)])
    pair.client(0).enqueue_all([kind.new() for _ in range(2)])
    gate.reached(2)
    end = pair.engines[0].monitor()
    pair.engines[0].stop(block=False)
    pair.settle()
    before = len(claimed)
    for _ in range(20):
        pair.client(1).enqueue(kind.new())
        pair.clock.advance(0.1)
    assert claimed[before:] == []
    gate.open()
    end.wait(20.0)
    pair.clock.advance(LEASE)
    assert sorted(claimed[before:]) == list(range(3, 23))
    assert (pair.leads(), numbers(pair, 1)) == (["b"], {"done": 22})


@pytest.mark.report("J11", "celery/celery#7098")
def test_a_job_that_is_let_end_may_still_enqueue_what_follows_and_is_not_done_again(make: Callable[..., Pair]) -> None:
    """There the stop had closed the connection that the second step was to be sent on: the first was repeated."""
    gate, runs = Gate(), list[str]()
    second: Any = job(name="second")(lambda: runs.append("second"))
    pair: Pair

    def begin() -> None:
        runs.append("first")
        gate.wait()
        pair.client(0).enqueue(second.new().opts(key=f"second of {current().key}"))

    first: Any = job(name="first")(begin)
    pair = make(kinds=[first, second])
    made = pair.client(0).enqueue(first.new())
    gate.reached()
    end = pair.engines[0].monitor()
    pair.engines[0].stop(block=False)
    pair.settle()
    gate.open()
    end.wait(20.0)
    pair.clock.advance(LEASE)
    found = pair.client(1).get(made.id)
    assert found is not None
    assert (found.state, found.token, runs, numbers(pair, 1)) == ("done", 1, ["first", "second"], {"done": 2})


@pytest.mark.report("J41", "kubernetes/kubernetes#23731")
def test_what_a_leader_that_slept_has_meant_to_claim_is_refused(make: Callable[..., Pair]) -> None:
    """Its wish was under way when it was stopped for two leases; when it goes on another one leads."""
    pair = make()
    gate = Gate()
    pair.stores["a"].before = gate
    made = pair.systems[1]
    assert made.names.get("jobs/scheduler") is None
    job_id = pair.client(1).enqueue(WHERE.new()).id
    pair.clock.advance(LEASE * 2)
    assert pair.leads() == ["b"]
    found = pair.client(1).get(job_id)
    assert found is not None
    assert (found.state, found.token) == ("done", 1)
    pair.stores["a"].before = None
    gate.open()
    pair.clock.advance(LEASE)
    found = pair.client(1).get(job_id)
    assert found is not None
    assert (pair.leads(), found.state, found.token) == (["b"], "done", 1)


@pytest.mark.report("J67", "kubernetes/kubernetes#70251")
def test_a_job_that_takes_each_program_along_is_begun_so_often_and_no_more(make: Callable[..., Pair]) -> None:
    """Attempts are counted by the claim, before anything begins: there ten that were allowed became sixty-four."""
    gate, begun = Gate(), list[int]()

    def deadly() -> None:
        begun.append(current().attempt)
        gate.wait()

    kind: Any = job(timeout=None, retry=Retry(errors=9, crashes=2))(deadly)
    pair = make(kinds=[kind])
    made = pair.client(1).enqueue(kind.new())
    pair.clock.advance(1.0)
    gate.reached(1)
    pair.kill(0)
    pair.clock.advance(LEASE * 2)
    gate.reached(2)
    pair.kill(1)
    pair.engines[0] = pair.begin(0)
    pair.clock.advance(LEASE * 4)
    found = pair.client(0).get(made.id)
    assert found is not None
    assert (begun, found.state, found.reason, found.crashes) == ([1, 2], "dead", "crashes", 2)
    gate.open()


STOPPED = """
    from otpy import jobs
    def hear(event):
        if isinstance(event, otpy.events.DrainBegun):
            say("stopping")
    @jobs.job
    def work():
        say("begun", jobs.current().attempt)
        (FOLDER / "pipe").read_text()
    class Tree(otpy.Supervisor):
        def children(self):
            crew = jobs.Crew(name="one", size=1, spare=0)
            return [jobs.engine(FOLDER / "jobs.db", [work], crews=[crew])]
    with otpy.run(Tree, control_directory=FOLDER, on_event=hear) as system:
        jobs.of(system).enqueue_all([work.new(), work.new()])
        system.wait()
"""


@pytest.mark.report("D104", "celery/celery#2700")
@pytest.mark.report("D107", "Bogdanp/dramatiq#618")
def test_sigterm_lets_a_job_end_and_no_other_begin(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with Program(tmp_path, STOPPED) as program:
        assert program.line() == "begun 1"
        program.send(signal.SIGTERM)
        assert program.line() == "stopping"
        (tmp_path / "pipe").write_text("go on")
        assert program.end() == (0, "", "")
    store = SqliteStore(tmp_path / "jobs.db")
    with store.transaction() as tx:
        found = [tx.get(number) for number in (1, 2)]
    store.close()
    facts = [(one.state, one.attempt, one.errors, one.crashes) for one in found if one is not None]
    assert facts == [("done", 1, 0, 0), ("ready", 0, 0, 0)]
