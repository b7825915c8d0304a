"""What the scheduler holds back: queues that are paused, kinds at their limit or behind a breaker."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.jobs.model.claim import Rate
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew, Queue
from otpy.jobs.writer import Writer
from otpy.resilience import Breaker
from otpy.testing import Gate

from .agents.works import Ends

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualClock


def started(system: otpy.System, folder: Path, *kinds: Any, **options: Any) -> Client:
    system.start(engine(folder / "jobs.db", kinds, **options))
    return of(system)


def states(client: Client, *made: Any) -> list[str]:
    return [found.state for one in made if (found := client.get(one.id)) is not None]


def test_a_limit_of_a_kind_holds_over_all_queues(system: otpy.System, tmp_path: Path) -> None:
    gate = Gate()

    def hold() -> None:
        gate.wait()

    kind = job(limit=2)(hold)
    client = started(system, tmp_path, kind)
    client.enqueue_all([kind.new() for _ in range(2)] + [kind.new().opts(queue="other") for _ in range(2)])
    gate.reached(2)
    assert sum(look.numbers.get("running", 0) for look in client.queues()) == 2
    gate.open()
    system.wait_idle()
    assert sum(look.numbers.get("done", 0) for look in client.queues()) == 4


def test_a_paused_queue_gives_nothing_until_it_is_resumed(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    def nothing() -> None: ...

    kind = job(nothing)
    client = started(timed, tmp_path, kind)
    writer = timed.ref(otpy.name(Writer, "jobs/writer"))
    writer.call(Writer.run, lambda tx: tx.pause("default"))
    made = client.enqueue(kind.new())
    clock.advance(1.0)
    assert states(client, made) == ["ready"]
    writer.call(Writer.run, lambda tx: tx.resume("default"))
    clock.advance(1.0)
    assert states(client, made) == ["done"]


@pytest.mark.parametrize("who", ["this program", "another one"])
def test_what_is_at_hand_of_a_queue_that_is_paused_is_given_back(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    gate, begun, ends = Gate(), list[int](), Ends(monkeypatch)

    def work(number: int) -> None:
        begun.append(number)
        if number == 2:
            gate.wait()

    kind = job(work)
    client = started(system, tmp_path, kind, crews=[Crew(name="one", size=1, spare=0)])
    client.enqueue_all([kind.new(number) for number in (1, 2, 3)])
    gate.reached(1)  # what follows the first one is given together, one of it ahead
    if who == "this program":
        client.pause("default")
    else:
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as db, db:
            db.execute("insert into otpy_paused (queue, since) values ('default', 0)")
    assert ends.wait(2) == [(1, "done"), (3, "ready")]
    gate.open()
    system.wait_idle()
    assert begun == [1, 2]
    client.resume("default")
    system.wait_idle()
    assert begun == [1, 2, 3]
    assert client.find(kind=kind.name, state="done")[0].attempt == 1


def test_an_open_breaker_holds_its_jobs_and_spends_no_attempt(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    service = Breaker("service", failures=3, cooldown=60.0)
    timed.start(service.child())
    runs: list[int] = []

    def fetch(number: int) -> None:
        runs.append(number)
        if len(runs) <= 4:
            raise ConnectionError

    # The breaker's actor decides in its own time: none is to be tried again at once, maybe before it has.
    kind = job(retry=Retry(errors=9, backoff=otpy.Backoff(first=1.0, most=1.0)), breakers=[service])(fetch)
    client = started(timed, tmp_path, kind, crews=[otpy_crew()])
    made = client.enqueue_all([kind.new(number) for number in range(3)])
    timed.wait_idle()
    assert (service.state, len(runs)) == ("open", 3)
    clock.advance(30.0)
    assert len(runs) == 3
    clock.advance(40.0)
    assert len(runs) == 4  # one probe, which fails, and the breaker opens again for longer
    clock.advance(300.0)
    assert states(client, *made) == ["done"] * 3
    assert len(runs) == 7
    assert sum(found.errors for one in made if (found := client.get(one.id)) is not None) == 4


def otpy_crew() -> Any:
    from otpy.jobs.setup import Crew  # noqa: PLC0415 - one agent: what runs beside others may begin before it opens

    return Crew(name="one", size=1, spare=0)


def test_a_rate_is_kept_and_used(timed: otpy.System, clock: VirtualClock, tmp_path: Path) -> None:
    began: list[float] = []

    def note() -> None:
        began.append(timed.clock.now())

    kind = job(note)
    client = started(timed, tmp_path, kind, queues=[Queue("default", rate=Rate(10, per=1.0, burst=2))])
    clock.advance(1.0)
    start = timed.clock.now()
    client.enqueue_all([kind.new() for _ in range(12)])
    clock.advance(5.0)
    assert len(began) == 12
    gaps = [later - earlier for earlier, later in pairwise(began[1:])]
    assert began[:2] == [start, start]
    assert min(gaps) >= 0.099
    assert began[-1] - start <= 1.2
