"""An engine whose jobs are on a PostgreSQL server, and what a caller does there in a transaction of its own."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.clock import wall_clock
from otpy.errors import StartError
from otpy.events import StoreFailed
from otpy.jobs.agents.context import current
from otpy.jobs.client import of
from otpy.jobs.engine import engine
from otpy.jobs.errors import KeyTakenError, StoreError, StoreLockedError
from otpy.jobs.insertion import Insertion
from otpy.jobs.inside import enqueue_in
from otpy.jobs.kind import job
from otpy.jobs.looking import engine_at
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew
from otpy.jobs.store import server_clock
from otpy.jobs.writer import Writer
from otpy.testing import Gate, Recorder
from support.postgres import fresh_url, server

if TYPE_CHECKING:
    from collections.abc import Iterator

DONE: list[int] = []
STAY: list[Gate] = []


@job
def note(number: int) -> int:
    DONE.append(number)
    return number + 1


@job
def sell(number: int) -> None:
    with current().tx() as tx:
        assert tx.execute("select count(*) from sale") == [(0,)]
        with pytest.raises(Exception, match="does not exist"):
            tx.execute("select * from nowhere")
        with pytest.raises(Exception, match="one for the engine alone"):
            tx.execute("delete from otpy_job")
        tx.executemany("insert into sale values (%s)", [(number,), (number + 1,)])
        tx.enqueue(note.new(number))


@job(retry=Retry(errors=1))
def clash() -> None:
    with current().tx() as tx:
        tx.execute("do $$ begin raise exception 'two wrote the same' using errcode = '40001'; end $$")


@job(timeout=None)
async def stay() -> None:
    await STAY[-1].await_open()


@pytest.fixture
def url() -> str:
    DONE.clear()
    STAY[:] = [Gate()]
    return fresh_url()


@pytest.fixture
def program(url: str) -> Iterator[Any]:
    """Begins a program on it; all of them are stopped at the end."""
    begun: list[otpy.System] = []

    def begin(name: str, **options: Any) -> otpy.System:
        begun.append(otpy.System(name))
        begun[-1].start(engine(url, **{"kinds": [note, sell], "lease": 15.0, **options}))
        return begun[-1]

    yield begin
    for one in begun:
        assert one.stop(timeout=10.0) == []


@pytest.fixture
def db(url: str) -> Iterator[Any]:
    """The caller's own connection, with a table of its own."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url) as connection:
        connection.execute("create table sale (number integer)")
        connection.commit()
        yield connection
        connection.rollback()


def numbers(system: otpy.System) -> dict[str, int]:
    return {state: number for look in of(system).queues() for state, number in look.numbers.items() if number}


def test_jobs_are_done(program: Any) -> None:
    jobs = of(program("a"))
    made = jobs.enqueue_all([note.new(number) for number in range(100)])
    assert [jobs.wait(one.id, 30.0).result_value for one in made] == list(range(1, 101))
    assert numbers(jobs._system) == {"done": 100}


def test_what_one_program_enqueues_another_one_does_and_who_stops_is_followed(program: Any) -> None:
    first, second = program("a"), program("b")
    assert of(second).wait(of(second).enqueue(note.new(1)).id, 30.0).state == "done"
    assert first.names.get("jobs/scheduler") is not None
    assert first.stop(timeout=10.0) == []
    assert of(second).wait(of(second).enqueue(note.new(2)).id, 30.0).state == "done"
    assert DONE == [1, 2]


def test_a_job_commits_what_it_writes_with_its_end(program: Any, db: Any) -> None:
    jobs = of(program("a"))
    assert jobs.wait(jobs.enqueue(sell.new(5)).id, 30.0).state == "done"
    assert db.execute("select number from sale order by 1").fetchall() == [(5,), (6,)]
    assert jobs.wait(2, 30.0).kind.endswith("note")


def test_a_conflict_of_a_job_s_own_statements_is_no_failure_of_the_store(program: Any) -> None:
    """All that others had to write was refused for a while, and the store was told to have failed."""
    system = program("a", kinds=[note, clash])
    jobs = of(system)
    with Recorder(system) as record:
        (attempt,) = jobs.wait(jobs.enqueue(clash.new()).id, 30.0).attempts
        assert "two wrote the same" in attempt.text
        assert record.of(StoreFailed) == []
        assert jobs.wait(jobs.enqueue(note.new(1)).id, 30.0).state == "done"


def test_a_job_is_enqueued_with_what_the_caller_writes_or_not_at_all(program: Any, db: Any) -> None:
    jobs = of(program("a"))
    db.execute("insert into sale values (1)")
    (lost,) = enqueue_in(db, note.new(1))
    db.rollback()
    db.execute("insert into sale values (2)")
    first, second = enqueue_in(db, note.new(2), note.new(3).opts(key="k"))
    assert jobs.get(first.id) is None
    db.commit()
    assert [jobs.wait(one.id, 30.0).state for one in (first, second)] == ["done", "done"]
    assert jobs.get(lost.id) is None
    assert db.execute("select number from sale").fetchall() == [(2,)]
    with pytest.raises(KeyTakenError):
        enqueue_in(db, note.new(4), note.new(5).opts(key="k"))
    db.execute("insert into sale values (3)")
    db.commit()
    assert numbers(jobs._system) == {"done": 2}


def test_a_call_is_enough_to_find_what_somebody_else_has_enqueued(
    program: Any, db: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It led to a round that asked only for what was due: the look a second later found the job."""
    from otpy.jobs.store.postgres import store  # noqa: PLC0415 - an extra

    monkeypatch.setattr(store, "LOOK", 1e9)
    jobs = of(program("a"))
    jobs.wait(jobs.enqueue(note.new(1)).id, 30.0)
    (made,) = enqueue_in(db, note.new(2))
    db.commit()
    assert jobs.wait(made.id, 10.0).state == "done"


def test_programs_call_each_other_to_begin_to_cancel_and_to_switch(
    program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them looks by itself here for ten seconds, which is longer than anybody waits."""
    from otpy.jobs.store.postgres import store  # noqa: PLC0415 - an extra

    monkeypatch.setattr(store, "LOOK", 1e9)
    one = [Crew(name="one", size=1, spare=0, place="loop")]
    options = {"kinds": [stay], "crews": one, "lease": 60.0}
    program("a", version="blue", **options)
    jobs = of(program("b", version="green", **options))
    made = jobs.enqueue_all([stay.new(), stay.new()])
    STAY[-1].reached(2)
    for one_made in made:
        jobs.cancel(one_made.id)
        assert jobs.wait(one_made.id, 8.0).state == "cancelled"
    jobs.activate("blue", force=True)
    again = jobs.enqueue(stay.new())
    assert [path.partition("/")[0] for path in STAY[-1].reached(3)[2:]] == ["a"]
    jobs.cancel(again.id)
    assert jobs.wait(again.id, 8.0).state == "cancelled"


def test_a_job_may_be_enqueued_before_the_first_program_comes(program: Any, db: Any) -> None:
    (made,) = enqueue_in(db, note.new(1))
    db.commit()
    assert of(program("a")).wait(made.id, 30.0).state == "done"


def test_who_waits_for_a_key_that_somebody_has_is_refused_alone(program: Any, db: Any) -> None:
    """Whatever had shared the transaction was refused with it, also what extends leases, as often as it was tried."""
    system, told = program("a", busy=0.5), SimpleQueue[tuple[str, Exception | None]]()
    writer = system.ref("jobs/writer")
    enqueue_in(db, note.new(1).opts(key="k"))
    steps = {"first": Insertion([note.new(1).opts(key="k")]), "other": Insertion([note.new(2)]), "look": bool}

    def hold(_: object) -> None:  # until all the others wait
        for name, step in steps.items():
            writer.cast(Writer.submit, step, lambda error, name=name: told.put((name, error)))

    with Recorder(system) as record:
        writer.cast(Writer.submit, hold, bool)
        found = dict(told.get(timeout=30.0) for _ in steps)
        assert {name: type(error) for name, error in found.items()} == {
            "first": StoreLockedError,
            "other": type(None),
            "look": type(None),
        }
        assert record.of(StoreFailed) == []


def test_a_connection_on_which_nothing_would_be_committed_is_refused(db: Any, program: Any) -> None:
    program("a")
    db.autocommit = True
    with pytest.raises(StoreError, match="no transaction is open"):
        enqueue_in(db, note.new(1))
    with db.transaction():
        enqueue_in(db, note.new(1))


def test_a_server_that_is_not_there_is_told_at_the_start() -> None:
    pytest.importorskip("psycopg")
    system = otpy.System("a")
    with pytest.raises(StartError, match=r"me:\*\*\*@/nowhere.*the server cannot be reached"):
        system.start(engine("postgresql://me:hidden@/nowhere?host=/nowhere", [note]))
    assert system.stop(timeout=30.0) == []
    assert not [one for one in threading.enumerate() if one.name.startswith("otpy-jobs")]


def test_jobs_go_on_when_the_server_has_died_and_is_back(program: Any) -> None:
    """Nothing that was acknowledged is lost, and of each job one attempt is accepted."""
    jobs = of(program("a", lease=6.0))
    made = jobs.enqueue_all([note.new(number) for number in range(300)])
    jobs.wait(made[10].id, 30.0)
    server().restart()
    assert [jobs.wait(one.id, 60.0).result_value for one in made] == list(range(1, 301))
    assert numbers(jobs._system) == {"done": 300}


def test_the_engine_goes_by_the_clock_of_the_server(program: Any, db: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was due was done late, or looked for too early, by as much as this machine's clock is wrong."""
    monkeypatch.setattr(server_clock, "wall_clock", lambda: wall_clock() - 3_600_000)
    system = program("a")
    jobs = of(system)
    made = jobs.enqueue(note.new(1).opts(delay=0.05))
    assert jobs.wait(made.id, 30.0).state == "done"
    (there,) = db.execute("select (extract(epoch from clock_timestamp()) * 1000)::bigint").fetchone()
    assert abs(engine_at(system, "jobs").setup.now() - there) < 60_000
