"""`early_ack`: a job is done before it runs, and so runs once at most."""

from __future__ import annotations

import logging
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.events import JobFailed
from otpy.jobs.agents.context import current
from otpy.jobs.model.claim import Settled
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.testing import Gate, Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock

RUNS: list[tuple[str, str]] = []


class Holds:
    """Where the handlers below wait."""

    gate = Gate()


@jobs.job(name="ping", early_ack=True, timeout=None)
def ping(how: str) -> str:
    """What it does when it runs, and how its row is then."""
    RUNS.append((how, str(current().attempt)))
    match how:
        case "raises":
            raise ValueError("no")
        case "crashes":
            raise SystemExit(3)
        case "waits":
            Holds.gate.wait()
    return "not kept"


@jobs.job(name="aping", early_ack=True)
async def aping() -> None:
    RUNS.append(("awaited", str(current().attempt)))


@pytest.fixture
def client(timed: otpy.System, quiet: None, tmp_path: Path) -> jobs.Client:
    RUNS.clear()
    Holds.gate = Gate()
    timed.start(jobs.engine(tmp_path / "jobs.db", [ping, aping]))
    return jobs.of(timed)


def seen(client: jobs.Client, id: int) -> jobs.Job:
    found = client.get(id)
    assert found is not None
    return found


@pytest.mark.parametrize("spec", [ping.new("well"), aping.new()])
def test_its_end_is_written_before_it_runs(client: jobs.Client, timed: otpy.System, spec: Any) -> None:
    made = client.enqueue(spec)
    timed.wait_idle()
    job = seen(client, made.id)
    assert (job.state, job.result, len(RUNS)) == ("done", None, 1)


def test_it_is_done_while_it_runs_and_is_let_be(client: jobs.Client, timed: otpy.System, clock: VirtualClock) -> None:
    """The beat has no lease of it to renew, and does not take it for lost."""
    timed.wait_idle()
    with Recorder(timed, otpy.events.CrewChanged) as recorder:
        made = client.enqueue(ping.new("waits"))
        Holds.gate.reached(1)
        assert client.wait(made.id, 20.0).state == "done"
        clock.advance(60.0)
        Holds.gate.open()
        timed.wait_idle()
        assert recorder.of(otpy.events.CrewChanged) == []


@pytest.mark.parametrize("how", ["raises", "crashes"])
def test_what_goes_wrong_loses_it_and_is_told(
    client: jobs.Client, timed: otpy.System, clock: VirtualClock, how: str
) -> None:
    with Recorder(timed, JobFailed) as recorder:
        made = client.enqueue(ping.new(how))
        clock.advance(600.0)
        (event,) = recorder.of(JobFailed)
    assert (RUNS, seen(client, made.id).state) == ([(how, "1")], "done")
    assert (event.state, event.is_lost, event.level) == ("done", True, logging.WARNING)
    assert "is lost, for it was acknowledged before attempt 1 failed" in str(event)


@pytest.mark.parametrize("how", ["cancelled", "lost"])
def test_whose_attempt_is_over_does_not_begin(
    client: jobs.Client, timed: otpy.System, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Between the claim and the begin."""
    holds = SqliteTransaction.holds

    def over(tx: SqliteTransaction, id: int, token: int) -> Any:
        if how == "cancelled":
            tx.cancel([id], "not wanted")
        else:
            tx.settle([Settled(id=id, token=token, state="dead", reason="another had it")])
        return holds(tx, id, token)

    monkeypatch.setattr(SqliteTransaction, "holds", over)
    made = client.enqueue(ping.new("well"))
    timed.wait_idle()
    assert (RUNS, seen(client, made.id).state) == ([], "cancelled" if how == "cancelled" else "dead")


def test_a_store_that_fails_before_it_begins_costs_no_attempt(
    client: jobs.Client, timed: otpy.System, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    holds, failures = SqliteTransaction.holds, [1]

    def failing(tx: SqliteTransaction, id: int, token: int) -> Any:
        if failures:
            failures.pop()
            raise sqlite3.OperationalError("disk full")
        return holds(tx, id, token)

    monkeypatch.setattr(SqliteTransaction, "holds", failing)
    made = client.enqueue(ping.new("well"))
    clock.advance(10.0)
    assert (RUNS, seen(client, made.id).state, failures) == ([("well", "1")], "done", [])


def test_retries_are_refused_where_it_is_declared() -> None:
    with pytest.raises(otpy.errors.SpecError, match="never tried again: leave retry= out"):
        jobs.job(name="n", early_ack=True, retry=jobs.Retry(errors=3))(lambda: None)
