"""What users do with an engine: enqueue from threads and loops, look, cancel, hasten, replay."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.errors import SpecError

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock


@jobs.job
def double(number: int) -> int:
    return number * 2


@jobs.job(retry=jobs.Retry(errors=1))
def fail(text: str) -> None:
    raise ValueError(text)


@jobs.job(unique=lambda name: name)
def only(name: str) -> str | jobs.Dead:
    return jobs.Dead("told so") if name == "dead-me" else name


@jobs.job(unique=lambda name, _: name, until="started", on_conflict="replace")
def newest(name: str, version: int) -> int:
    return version


@jobs.job(unique=lambda name: name, on_conflict="raise")
def refusing(name: str) -> str:
    return name


KINDS: list[Any] = [double, fail, only, newest, refusing]


@pytest.fixture
def client(timed: otpy.System, tmp_path: Path) -> jobs.Client:
    """An engine with these kinds."""
    timed.start(jobs.engine(tmp_path / "jobs.db", KINDS))
    return jobs.of(timed)


def test_an_enqueue_says_whether_it_is_new(client: jobs.Client) -> None:
    first = client.enqueue(double.new(1).opts(key="a"))
    assert first.is_new
    assert client.enqueue(double.new(1).opts(key="a")) == jobs.Enqueued(first.id, is_new=False)


def test_many_are_enqueued_or_none(client: jobs.Client) -> None:
    client.enqueue(double.new(1).opts(key="a", delay=60.0))
    with pytest.raises(jobs.KeyTakenError, match="the key 'a' belongs to job 1"):
        client.enqueue_all([double.new(7), double.new(2).opts(key="a")])
    assert [job.id for job in client.find()] == [1]


def test_a_coroutine_enqueues_without_holding_its_loop(client: jobs.Client, timed: otpy.System) -> None:
    async def enqueue() -> list[jobs.Enqueued]:
        return [await client.aenqueue(double.new(3)), *await client.aenqueue_all([double.new(4), double.new(5)])]

    made = asyncio.run(enqueue())
    timed.wait_idle()
    done = [client.get(one.id) for one in made]
    assert [one.result_value for one in done if one is not None] == [6, 8, 10]
    assert next(one.arguments for one in done if one is not None) == ((3,), {})


def test_an_actor_enqueues(client: jobs.Client, timed: otpy.System) -> None:
    class Shop(otpy.GenServer):
        @otpy.call
        def order(self) -> int:
            return jobs.of(self.system).enqueue(double.new(1)).id

    assert timed.start(otpy.child(Shop)).call(Shop.order) == 1
    assert client.get(1) is not None


def test_where_no_engine_of_that_name_runs_it_is_said(client: jobs.Client, timed: otpy.System) -> None:
    assert client.get(99) is None
    for one in (jobs.of(timed, "mail"), jobs.of(otpy.System("empty"))):
        with pytest.raises(jobs.NoEngineError, match=r"no engine '(mail|jobs)' runs here: put jobs\.engine"):
            one.enqueue(double.new(1))
        with pytest.raises(jobs.NoEngineError):
            asyncio.run(one.aenqueue(double.new(1)))


def test_a_client_stays_good_when_the_writer_is_started_again(
    client: jobs.Client, timed: otpy.System, clock: VirtualClock
) -> None:
    client.enqueue(double.new(1))
    timed.wait_idle()
    timed.ref("jobs/writer").kill()
    client.enqueue(double.new(2))
    clock.advance(20.0)  # the lead of before has no writer to resign with, and runs out
    assert [job.state for job in client.find()] == ["done", "done"]


def test_jobs_are_found_page_by_page(client: jobs.Client, timed: otpy.System) -> None:
    client.enqueue_all([double.new(number).opts(delay=60.0) for number in range(5)])
    client.enqueue(double.new(9))
    timed.wait_idle()
    first = client.find(state="scheduled", limit=3)
    assert [job.id for job in first] == [5, 4, 3]
    assert [job.id for job in client.find(state="scheduled", limit=3, before=first[-1].id)] == [2, 1]
    assert [job.id for job in client.find(kind=double.name, queue="default", limit=1)] == [6]
    assert client.find(queue="other") == []


def test_what_waits_is_cancelled_or_begins_now(client: jobs.Client, timed: otpy.System) -> None:
    client.enqueue_all([double.new(number).opts(delay=60.0) for number in range(2)])
    assert [(job.state, job.reason) for job in client.cancel(1, reason="not wanted")] == [("cancelled", "not wanted")]
    assert [job.state for job in client.retry(2, 1)] == ["ready", "cancelled"]
    timed.wait_idle()
    assert [job.state for job in client.find()] == ["done", "cancelled"]


def test_nothing_is_done_when_one_of_them_is_not_there(client: jobs.Client) -> None:
    client.enqueue(double.new(1).opts(delay=60.0))
    for act in (client.cancel, client.retry):
        with pytest.raises(jobs.NoSuchJobError, match="no jobs 8, 9, or"):
            act(1, 8, 9)
    assert [job.state for job in client.find()] == ["scheduled"]


def test_a_dead_job_is_replayed_and_dies_again(client: jobs.Client, timed: otpy.System) -> None:
    client.enqueue(fail.new("no"))
    timed.wait_idle()
    assert client.replay(1) == [jobs.Replayed(1, 2, "default", "new")]
    timed.wait_idle()
    assert [(job.id, job.state, job.replay_of) for job in client.find()] == [(2, "dead", 1), (1, "replayed", None)]
    assert [one.how for one in client.replay(1)] == ["replayed"]


def test_all_that_fit_are_replayed_after_a_look(client: jobs.Client, timed: otpy.System, clock: VirtualClock) -> None:
    client.enqueue_all([fail.new(text) for text in "abc"])
    timed.wait_idle()
    assert client.replay_all(queue="other") == []
    assert [(one.id, one.new) for one in client.replay_all(dry_run=True, limit=2)] == [(3, None), (2, None)]
    assert [one.new for one in client.replay_all(kind=fail.name, per_second=1.0)] == [4, 5, 6]
    timed.wait_idle()
    assert [job.state for job in client.find(limit=3)] == ["scheduled", "scheduled", "dead"]
    clock.advance(5.0)
    assert [job.state for job in client.find(limit=3)] == ["dead"] * 3


@pytest.mark.parametrize("rate", [0, -1.0, float("nan"), "2", True])
def test_a_rate_that_cannot_be_is_refused(client: jobs.Client, rate: Any) -> None:
    with pytest.raises(otpy.errors.SpecError, match="a number above 0"):
        client.replay(1, per_second=rate)


def test_a_unique_job_is_enqueued_once(client: jobs.Client) -> None:
    first = client.enqueue(only.new("a").opts(delay=60.0))
    assert client.enqueue(only.new("a")) == jobs.Enqueued(first.id, is_new=False)


def test_a_paused_queue_takes_jobs_and_begins_none(client: jobs.Client, timed: otpy.System) -> None:
    client.pause("default")
    made = client.enqueue(double.new(1))
    timed.wait_idle()
    assert client.get(made.id).state == "ready"  # type: ignore[union-attr]  # it was just enqueued
    assert list(client.paused()) == ["default"]
    client.resume("default")
    timed.wait_idle()
    assert client.get(made.id).state == "done"  # type: ignore[union-attr]  # as above
    assert client.paused() == {}


def test_a_dead_job_is_run_again_with_other_arguments(client: jobs.Client, timed: otpy.System) -> None:
    made = client.enqueue(fail.new("wrong").opts(key="mine", priority=3))
    client.wait(made.id)
    assert client.replay_with(made.id, fail.new("also wrong")) == jobs.Replayed(made.id, 2, "default", "new")
    before, after = client.get(made.id), client.wait(2)
    assert before is not None
    assert (before.state, before.arguments[0], after.arguments[0]) == ("replayed", ("wrong",), ("also wrong",))
    assert (after.replay_of, after.key, after.priority, after.effect_key) == (made.id, "mine", 3, before.effect_key)
    assert client.replay_with(made.id, fail.new("x")).how == "replayed"
    assert client.replay_with(99, fail.new("x")).how == "missing"
    with pytest.raises(SpecError, match=r"job 2 is a .*fail, and no .*double"):
        client.replay_with(2, double.new(1))


def test_its_unique_key_is_that_of_the_new_arguments(client: jobs.Client) -> None:
    made = client.enqueue(only.new("dead-me"))
    client.wait(made.id)
    client.enqueue(only.new("b").opts(delay=60.0))
    assert client.replay_with(made.id, only.new("b")).how == "taken"
    assert client.replay_with(made.id, only.new("c")).how == "new"


def test_a_kind_says_what_a_second_one_with_its_key_does(client: jobs.Client, clock: VirtualClock) -> None:
    first = client.enqueue(newest.new("page", 1).opts(delay=60.0))
    again = client.enqueue(newest.new("page", 2).opts(delay=5.0, deadline=30.0, priority=2))
    assert again == jobs.Enqueued(first.id, is_new=False)
    clock.advance(5.01)
    done = client.get(first.id)
    assert done is not None
    assert (done.state, done.result_value, done.priority, done.deadline_at is None) == ("done", 2, 2, False)
    assert client.enqueue(newest.new("page", 3)).is_new
    waiting = client.enqueue(refusing.new("a").opts(delay=60.0))
    with pytest.raises(jobs.KeyTakenError, match=f"job {waiting.id} has the unique key"):
        client.enqueue(refusing.new("a"))
    with pytest.raises(SpecError, match="on_conflict='drop': keep, replace, debounce, raise"):
        jobs.job(on_conflict="drop")(print)  # type: ignore[call-overload]
