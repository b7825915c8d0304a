"""What one caller or one job does wrong is told to that one, and nobody else waits for it."""

from __future__ import annotations

import math
import threading
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from otpy import jobs
from otpy.errors import SpecError
from otpy.jobs.agents.context import Flag, Running
from otpy.jobs.args import pack
from otpy.jobs.endings import Endings, Round
from otpy.jobs.engine import Engine
from otpy.jobs.errors import StoreFullError
from otpy.jobs.store.sqlite import SqliteStore
from otpy.testing import Gate
from otpy.testing.arrivals import Arrivals

from .agents.works import AT_ONCE, crew, seen
from .askers import askers
from .rows import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import otpy
    from otpy.testing import VirtualClock


class OddError(Exception):
    @property
    def retry_after(self) -> float:
        raise RuntimeError("do not ask")


def odd(what: str) -> object:
    match what:
        case "raises":
            raise OddError
        case "no name":
            return jobs.Cancel("the file \udcff is gone")
        case "gone":
            return jobs.Dead("the file \udcff is gone")
        case "long":
            return jobs.Dead("x" * 1_000_000)
        case "before":
            return jobs.Snooze(-0.5) if jobs.current().token == 1 else "later"
    return jobs.Snooze({"nan": math.nan, "inf": math.inf, "far": 1e30, "text": "soon"}[what])  # type: ignore[arg-type]


def well() -> str:
    return "well"


ODD: Any = jobs.job(retry=AT_ONCE)(odd)
WELL: Any = jobs.job(well)


@pytest.fixture
def client(timed: otpy.System, tmp_path: Path) -> jobs.Client:
    timed.start(jobs.engine(tmp_path / "jobs.db", [ODD, WELL], lease=10.0))
    return jobs.of(timed)


@pytest.mark.parametrize(
    ("what", "state", "why"),
    [
        ("no name", "cancelled", "the file \\udcff is gone"),
        ("gone", "dead", "the file \\udcff is gone"),
        ("long", "dead", "x" * 1_999 + "…"),
        ("before", "done", ""),
        ("nan", "dead", "returned Snooze(nan): a number of seconds"),
        ("inf", "dead", "returned Snooze(inf): a number of seconds"),
        ("far", "dead", "returned Snooze(1e+30): a number of seconds"),
        ("text", "dead", "returned Snooze('soon'): a number of seconds"),
        ("raises", "dead", "OddError (retry_after raised RuntimeError: do not ask)"),
    ],
)
def test_whatever_an_attempt_says_can_be_written(
    client: jobs.Client, clock: VirtualClock, what: str, state: str, why: str
) -> None:
    made = client.enqueue_all([ODD.new(what), WELL.new()])
    clock.advance(2.0)
    job = seen(client, made[0].id)
    said = job.attempts[-1].text if job.attempts else job.reason
    assert (job.state, seen(client, made[1].id).state) == (state, "done")
    assert said.endswith(why)


@pytest.mark.parametrize("wrong", ["1", 2**70, None, [1], object()])
def test_what_is_no_number_of_a_job_is_that_of_none(client: jobs.Client, timed: otpy.System, wrong: Any) -> None:
    with pytest.raises(jobs.NoSuchJobError, match="there is no job"):
        client.wait(wrong, 5.0)
    assert client.get(wrong) is None
    assert [one.how for one in client.replay(wrong)] == ["missing"]
    made = client.enqueue(WELL.new())
    timed.wait_idle()
    assert seen(client, made.id).state == "done"


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.cancel(1, reason=None),
        lambda client: client.cancel(1, reason="\udcff"),
        lambda client: client.pause("\udcff"),
    ],
)
def test_a_value_that_no_store_takes_is_told_to_who_gave_it(
    client: jobs.Client, ask: Callable[[jobs.Client], object]
) -> None:
    """Before, it was taken for a failure of the disk: the intake of all was closed for a while."""
    made = client.enqueue(WELL.new().opts(delay=60.0))
    with pytest.raises(jobs.ArgumentsError):
        ask(client)
    assert seen(client, made.id).state == "scheduled"


@pytest.mark.parametrize(
    ("ask", "problem"),
    [
        (lambda client: client.find(queue=object()), "find: queue=.*: a text, or None"),
        (lambda client: client.find(kind="\udcff"), "find: kind='.udcff': a text, or None"),
        (lambda client: client.find(limit="many"), "find: limit='many': a whole number >= 0"),
        (lambda client: client.find(limit=-1), "find: limit=-1: a whole number >= 0"),
        (lambda client: client.find(before=2**70), "find: before=1180591620717411303424: the number of a job, or None"),
        (lambda client: client.wants(2**70), "wants: limit=1180591620717411303424: a whole number >= 0"),
    ],
)
def test_what_cannot_be_looked_for_is_refused_in_a_sentence(
    client: jobs.Client, ask: Callable[[jobs.Client], object], problem: str
) -> None:
    """It was said of the arguments of a job that they could not be kept."""
    with pytest.raises(SpecError, match=problem):
        ask(client)


def test_an_end_that_was_not_kept_is_told_to_nobody(
    client: jobs.Client, timed: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look shares its transaction with what it sees: when that fails, what it saw has not come to be."""
    made = client.enqueue(WELL.new().opts(delay=60.0))
    told: list[str] = []
    asked = askers(monkeypatch)
    thread = threading.Thread(target=lambda: told.append(client.wait(made.id).state))
    thread.start()
    asked.wait(1, 5.0)
    timed.wait_idle()
    look = Round({made.id})
    look.jobs = {made.id: seen(client, made.id)._replace(state="done")}
    endings: Any = timed.ref("jobs/endings")
    endings.cast(Endings.seen, look, is_kept=False)
    timed.wait_idle()
    assert told == []
    client.cancel(made.id)
    clock: Any = timed.clock
    clock.advance(1.0)
    thread.join()
    assert told == ["cancelled"]


def test_when_the_scheduler_dies_its_jobs_are_begun_again(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    """Before, the beat went on to renew the leases of jobs that nobody did any more."""
    gate = Gate()

    async def hang() -> int:
        if jobs.current().attempt == 1:
            await gate.await_open()
        return jobs.current().attempt

    kind: Any = jobs.job(timeout=None, retry=AT_ONCE)(hang)
    timed.start(jobs.engine(tmp_path / "jobs.db", [kind], lease=10.0))
    client = jobs.of(timed)
    made = client.enqueue(kind.new())
    gate.reached()
    timed.names["jobs/scheduler"].kill()
    clock.advance(2.0)
    assert seen(client, made.id).state == "running"
    clock.advance(18.0)
    job = seen(client, made.id)
    assert (job.state, job.result_value, job.crashes) == ("done", 2, 1)


class Failing(SqliteStore):
    """A store that waits, and fails, as told, and tells of each failure."""

    before: Gate | None = None
    error: Exception | None = None

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        if self.before is not None:
            self.before.wait()
        if self.error is not None:
            self.failed.add(None)
            raise self.error
        with super().transaction() as tx:
            yield tx


def test_a_checkpoint_outlives_a_store_that_fails(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, what was said while the store failed took the place of the checkpoint that had to be written again."""
    gates, before, made = [Gate(), Gate(), Gate()], Gate(), []

    def work() -> None:
        gates[0].wait()
        jobs.current().checkpoint("here")
        gates[1].wait()
        jobs.current().progress("on")
        gates[2].wait()

    def opened(engine: Engine) -> Failing:
        made.append(Failing(engine.setup.path, now=engine.setup.now))
        made[-1].failed = Arrivals()
        return made[-1]

    monkeypatch.setattr(Engine, "_open", opened)
    kind: Any = jobs.job(work)
    timed.start(jobs.engine(tmp_path / "jobs.db", [kind], crews=[crew("pool", 1, 0)]))  # so no claim is on its way
    client, store = jobs.of(timed), made[0]
    job = client.enqueue(kind.new())
    gates[0].reached()
    store.before = before
    gates[0].open()
    before.reached()  # with the checkpoint
    gates[1].open()
    gates[2].reached()
    store.error = StoreFullError("jobs.db", "full")
    before.open()
    store.failed.wait(1, 5.0)
    store.error = None
    gates[2].open()
    timed.wait_idle()
    clock.advance(6.0)
    done = seen(client, job.id)
    assert (done.state, done.progress_value, done.checkpoint) == ("done", "on", pack("here"))


def test_a_loop_that_says_checkpoints_all_the_time_is_slowed_down() -> None:
    """Before, four of these kept the scheduler from all other jobs: it had hundreds of thousands of them to hear."""
    notes: list[Any] = []

    class Heard:
        def note(self, _: object, progress: bytes | None, checkpoint: bytes | None) -> None:
            notes.append((progress, checkpoint))

    office: Any = Heard()
    running = Running(row(), None, office, Flag())
    began = monotonic()
    for number in range(150):
        running.checkpoint(number)
    assert monotonic() - began > 0.045
    assert notes == [(None, pack(number)) for number in range(150)]
