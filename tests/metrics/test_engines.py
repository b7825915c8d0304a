"""What the metrics of jobs say, as jobs are enqueued, done, fail, wait and are given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.jobs.engine import engine
from otpy.jobs.errors import StoreBusyError
from otpy.jobs.figures import MOST, Figures
from otpy.jobs.model.claim import Settled
from otpy.jobs.store.sqlite.store import SqliteStore
from otpy.metrics import Metrics
from otpy.testing import Gate
from support.prometheus import figure, figures

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock

pytestmark = pytest.mark.any_python

AT_ONCE = jobs.Retry(errors=2, backoff=otpy.Backoff(first=0.0, most=0.0))
GATES: list[Gate] = []


@jobs.job
def well() -> None:
    pass


@jobs.job(retry=AT_ONCE)
def ill() -> None:
    raise ValueError("ill")


@jobs.job
def put_off() -> jobs.Snooze:
    return jobs.Snooze(3_600.0)


@jobs.job(early_ack=True)
def forgotten() -> None:
    pass


@jobs.job(timeout=None)
def held() -> None:
    GATES[0].wait()


KINDS = [well, ill, put_off, forgotten, held]


def begun(system: otpy.System, tmp_path: Path, **options: Any) -> jobs.Client:
    system.start(engine(tmp_path / "jobs.db", KINDS, **options))
    return jobs.of(system)


def words(metrics: Metrics, kind: str) -> dict[str, float]:
    """What has happened to jobs of this kind."""
    found = {}
    for word in ("enqueued", "started", "completed", "failed", "retried", "dead", "released", "snoozed", "rescued"):
        number = figure(metrics, f"otpy_jobs_{word}_total", "jobs", "default", kind)
        if number:
            found[word] = number
    return found


def test_what_becomes_of_jobs_is_counted(system: otpy.System, tmp_path: Path) -> None:
    metrics = Metrics(system)
    client = begun(system, tmp_path)

    for kind in (well, well, ill, put_off, forgotten):
        client.enqueue(kind.new())
    system.wait_idle()

    assert words(metrics, well.name) == {"enqueued": 2, "started": 2, "completed": 2}
    assert words(metrics, ill.name) == {"enqueued": 1, "started": 2, "failed": 2, "retried": 1, "dead": 1}
    assert words(metrics, put_off.name) == {"enqueued": 1, "started": 1, "snoozed": 1}
    assert words(metrics, forgotten.name) == {"enqueued": 1, "started": 1, "completed": 1}
    assert figure(metrics, "otpy_job_run_seconds", "jobs", "default", well.name).buckets[-1][1] == 2
    assert figure(metrics, "otpy_store_commit_seconds", "jobs").buckets[-1][1] > 0


def test_jobs_that_nobody_measures_are_not_counted(system: otpy.System, tmp_path: Path) -> None:
    client = begun(system, tmp_path)
    client.enqueue(well.new())
    system.wait_idle()

    metrics = Metrics(system)  # from now on
    client.enqueue(well.new())
    system.wait_idle()

    assert words(metrics, well.name) == {"enqueued": 1, "started": 1, "completed": 1}


def test_queues_are_seen_as_the_store_has_them(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    metrics = Metrics(timed)
    client = begun(timed, tmp_path, crews=[jobs.Crew(name="one", size=1, spare=0)])
    with Gate() as gate:
        GATES[:] = [gate]
        for _ in range(3):
            client.enqueue(held.new())
        gate.reached()
        client.enqueue(well.new().opts(delay=600.0))

        clock.advance(7.0)

        depth = {key[2]: value for key, value in figures(metrics, "otpy_queue_depth").items()}
        assert depth == {"ready": 2, "running": 1, "scheduled": 1, "dead": 0}
        assert figure(metrics, "otpy_oldest_ready_age_seconds", "jobs", "default") == pytest.approx(7.0)
        assert figure(metrics, "otpy_autoscale_desired", "jobs", "one") == 1
        assert figure(metrics, "otpy_autoscale_actual", "jobs", "one") == 1
        assert figure(metrics, "otpy_leader", "jobs") == 1
        assert figure(metrics, "otpy_leader_epoch", "jobs") == 1
        assert figure(metrics, "otpy_leader_transitions_total", "jobs") == 1
        assert figure(metrics, "otpy_store_ready", "jobs") == 1
        gate.open()
    timed.wait_idle()

    waits = figure(metrics, "otpy_job_wait_seconds", "jobs", "default", held.name)
    assert dict(waits.buckets)[5.0] == 1  # the first one
    assert dict(waits.buckets)[15.0] == 3
    assert waits.total == pytest.approx(14.0, abs=0.1)


def test_a_job_that_is_given_back_is_released(system: otpy.System, tmp_path: Path) -> None:
    metrics = Metrics(system)
    ref = system.start(engine(tmp_path / "jobs.db", KINDS, grace=0.1))
    with Gate() as gate:
        GATES[:] = [gate]
        jobs.of(system).enqueue(held.new())
        gate.reached()
        scheduler = system.whereis("jobs/scheduler")
        assert scheduler is not None
        kept = ref.actor.setup.figures

        gate.open()
        ref.stop()

    done = {word: number for (word, _, _), number in kept.numbers.items()}
    assert done["started"] == done.get("completed", 0) + done.get("released", 0) == 1
    assert metrics.read()["otpy_actors"] == {(): 0}


def test_a_store_that_does_not_answer_is_left_out_in_time(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metrics = Metrics(system, seconds=0.01)
    begun(system, tmp_path)
    system.wait_idle()
    with Gate() as gate:
        monkeypatch.setattr(jobs.Client, "queues", lambda _: gate.wait() or [])

        for _ in range(3):
            assert figures(metrics, "otpy_autoscale_desired") != {}  # the rest is there
        gate.reached()

        assert "otpy_queue_depth" not in metrics.read()
        assert figure(metrics, "otpy_scrape_failures_total", "queues of jobs") == 5
        gate.open()


def test_a_store_that_goes_away_is_seen_and_what_it_costs(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away: list[Exception] = []
    begin = SqliteStore.transaction

    def transaction(store: SqliteStore) -> Any:
        if away:
            raise away[0]
        return begin(store)

    monkeypatch.setattr(SqliteStore, "transaction", transaction)
    metrics = Metrics(timed)
    client = begun(timed, tmp_path, lease=15.0)
    with Gate() as gate:
        GATES[:] = [gate]
        client.enqueue(held.new())
        gate.reached()

        away.append(StoreBusyError("jobs.db", "locked"))
        clock.advance(16.0)

        assert figure(metrics, "otpy_store_ready", "jobs") == 0
        assert figure(metrics, "otpy_store_failures_total", "jobs") == 1
        assert figure(metrics, "otpy_store_busy_total", "jobs") > 1
        assert figure(metrics, "otpy_lease_renew_failures_total", "jobs") > 1
        assert figure(metrics, "otpy_leases_lost_total", "jobs") == 1
        gate.open()
    away.clear()
    clock.advance(60.0)

    assert figure(metrics, "otpy_store_ready", "jobs") == 1
    assert words(metrics, held.name)["rescued"] == 1
    assert words(metrics, held.name)["completed"] == 1


def test_the_engine_that_is_started_again_goes_on_counting(system: otpy.System, tmp_path: Path) -> None:
    metrics = Metrics(system)
    spec = engine(tmp_path / "jobs.db", KINDS)
    for _ in range(2):
        ref = system.start(spec)
        jobs.of(system).enqueue(well.new())
        system.wait_idle()
        ref.stop()
    ref = system.start(spec)

    assert words(metrics, well.name) == {"enqueued": 2, "started": 2, "completed": 2}


def test_pairs_of_queue_and_kind_are_bounded() -> None:
    kept = Figures()
    for number in range(MOST + 50):
        kept.rescued([])
        kept.is_on = True
        kept.rescued([_Named("k", f"q{number}")])  # type: ignore[list-item]

    assert len(kept.numbers) == MOST + 1
    assert kept.numbers["rescued", "other", "other"] == 50


def test_what_the_store_refuses_does_not_count() -> None:
    kept = Figures()
    job: Any = _Named("k", "q", id=1, token=1, run_at=0)
    kept.decided(job, Settled(id=1, token=1, state="done"), is_early=False)
    assert kept.awaits

    kept.written(1, 1, is_accepted=False)

    assert kept.numbers == {}
    assert not kept.awaits


def test_what_may_happen_begins_with_nothing(system: otpy.System, tmp_path: Path) -> None:
    """An alarm on `increase` does not see the first one otherwise."""
    metrics = Metrics(system)
    begun(system, tmp_path)

    dead = figures(metrics, "otpy_jobs_dead_total")

    assert dead == {("jobs", "default", kind.name): 0 for kind in KINDS}


def test_nothing_is_kept_of_engines_that_have_ended(system: otpy.System, tmp_path: Path) -> None:
    metrics = Metrics(system)
    for name in ("one", "two"):
        ref = system.start(engine(tmp_path / "jobs.db", KINDS, name=name))
        assert figures(metrics, "otpy_store_ready") == {(name,): 1.0}
        ref.stop()

    metrics.read()

    assert metrics._engines._looks == {}


class _Named:
    """As much of a job as is counted."""

    def __init__(self, kind: str, queue: str, **more: int) -> None:
        self.kind, self.queue = kind, queue
        vars(self).update(more)
