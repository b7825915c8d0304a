"""`current().tx()`: what a job writes, and its end, are both kept or neither is."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.jobs.loan import Loan
from otpy.jobs.model.claim import Settled
from otpy.jobs.setup import Setup
from otpy.jobs.store.sqlite.transaction import SqliteTransaction
from otpy.jobs.writer import Writer
from otpy.runtime.seat import sleep_on
from otpy.testing import Gate, Recorder
from otpy.testing.arrivals import Arrivals
from support import errands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otpy.testing import VirtualClock

RAISED: list[BaseException] = []
GATE = Gate()
LATER: list[str] = []


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    global GATE  # noqa: PLW0603 - the kinds below find it there
    GATE = Gate()
    monkeypatch.setattr(Setup, "loan_seconds", 20.0)  # who is slow is no case here
    RAISED.clear()
    LATER.clear()
    yield
    GATE.open()


@jobs.job(name="note")
def note(text: str) -> None:
    LATER.append(text)


BODIES: dict[str, Any] = {}


@jobs.job(name="sell", retry=jobs.Retry(errors=1), timeout=None)
def sell(body: str, where: str = "") -> str:
    """Run a body in a block, after or before a gate."""
    try:
        if where == "before":
            GATE.wait()
        with jobs.current().tx() as tx:
            BODIES[body](tx)
        if where == "after":
            GATE.wait()
    except BaseException as error:
        RAISED.append(error)
        raise
    return "what it returns is not kept"


@pytest.fixture
def shop(timed: otpy.System, quiet: None, tmp_path: Path) -> Shop:
    return Shop(timed, tmp_path / "shop.db")


class Shop:
    """An engine, and a table of ours in its file."""

    def __init__(self, system: otpy.System, path: Path) -> None:
        self.system, self.path = system, path
        with closing(sqlite3.connect(path)) as db:
            db.execute("create table sale (number integer primary key, item text)")
        system.start(jobs.engine(path, [sell, note], crews=[jobs.Crew(name="one", size=1, spare=0)]))
        self.client = jobs.of(system)

    def sold(self) -> list[str]:
        with closing(sqlite3.connect(self.path)) as db:
            return [row[0] for row in db.execute("select item from sale order by number")]

    def run(self, body: Callable[[jobs.Tx], object], where: str = "") -> jobs.Enqueued:
        BODIES["it"] = body
        return self.client.enqueue(sell.new("it", where))

    def end(self, made: jobs.Enqueued) -> tuple[str, object]:
        job = self.client.wait(made.id, 20.0)
        return job.state, job.result_value if job.state == "done" else job.attempts[-1].text if job.attempts else ""


def tea(tx: jobs.Tx) -> None:
    tx.execute("insert into sale (item) values (?)", ("tea",))


def test_what_it_writes_and_its_end_are_one(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        assert tx.executemany("insert into sale (item) values (:item)", [{"item": "cup"}, {"item": "pot"}]) == 2
        ((number,),) = tx.execute("update sale set item = 'mug' where item = 'cup' returning number")
        tx.result = tx.execute("select count(*), ? from sale", (number,))

    assert shop.end(shop.run(body)) == ("done", [(3, 2)])
    assert shop.sold() == ["tea", "mug", "pot"]


def test_what_raises_inside_is_rolled_back_and_the_job_goes_on(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        raise ValueError("no")

    assert shop.end(shop.run(body)) == ("dead", "ValueError: no")
    assert shop.sold() == []


def test_a_result_that_cannot_be_kept_is_rolled_back(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        tx.result = object()

    assert shop.end(shop.run(body))[0] == "dead"
    assert shop.sold() == []


def test_whose_attempt_is_over_writes_nothing(shop: Shop) -> None:
    made = shop.run(tea, "before")
    GATE.reached(1)
    over = Settled(id=made.id, token=1, state="dead", reason="somebody else had it")
    shop.system.ref(otpy.name(Writer, "jobs/writer")).call(Writer.run, lambda tx: tx.settle([over]))
    GATE.open()
    shop.system.wait_idle()
    assert [type(one) for one in RAISED] == [jobs.LostJobError]
    assert shop.sold() == []


def test_who_is_cancelled_writes_nothing(shop: Shop) -> None:
    made = shop.run(tea, "before")
    GATE.reached(1)
    shop.client.cancel(made.id)
    GATE.open()
    shop.system.wait_idle()
    assert [type(one) for one in RAISED] == [jobs.JobCancelledError]
    assert (shop.client.wait(made.id).state, shop.sold()) == ("cancelled", [])


def ring_too(loan: Loan, ring: Callable[[], object]) -> None:
    """Have this called when something is asked of a loan."""
    own = loan._ring
    loan._ring = lambda: (own(), ring())  # type: ignore[assignment,func-returns-value]  # both, one after the other


def test_who_waits_for_a_writer_that_dies_is_told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was in the mailbox of a dead writer was answered by nobody: its handler waited for half a minute."""
    asked, raised, ask = Arrivals[str](), Arrivals[type[BaseException]](), Loan.ask

    def noted(self: Loan, *args: Any, **words: Any) -> Any:
        ring_too(self, lambda: asked.add("it"))
        try:
            return ask(self, *args, **words)
        except BaseException as error:
            raised.add(type(error))
            raise

    monkeypatch.setattr(Loan, "ask", noted)
    with Gate() as busy:
        shop.run(tea, "before")
        GATE.reached(1)
        writer = shop.system.names["jobs/writer"]
        writer.cast(Writer.submit, lambda _: busy.wait(), lambda _: None)
        busy.reached()
        GATE.open()
        asked.wait(1, 5.0)
        writer.kill()
        assert raised.wait(1, 5.0) == [jobs.TransactionError]
    assert shop.sold() == []


def test_what_comes_with_the_last_word_is_refused(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread of the handler's waited for an answer for half a minute."""
    late = Arrivals[type[BaseException]]()
    kept = Loan._answer

    def meanwhile(self: Loan, value: object) -> None:
        asked = Arrivals[None]()
        ring_too(self, lambda: asked.add(None))

        def ask() -> None:
            try:
                self.open()
            except jobs.LostJobError as error:
                late.add(type(error))

        thread = threading.Thread(target=ask)
        thread.start()
        asked.wait(1, 5.0)
        kept(self, value)
        thread.join(30.0)

    monkeypatch.setattr(Loan, "_answer", meanwhile)
    assert shop.end(shop.run(tea))[0] == "done"
    assert late.wait(1, 5.0) == [jobs.LostJobError]  # who looks sees the end before it is told


@pytest.mark.report("J11", "celery/celery#7098")
def test_what_follows_is_enqueued_with_the_end_or_not_at_all(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.enqueue(note.new("packed"), note.new("sent"))

    def failing(tx: jobs.Tx) -> None:
        body(tx)
        raise ValueError

    assert shop.end(shop.run(body))[0] == "done"
    assert shop.end(shop.run(failing))[0] == "dead"
    shop.system.wait_idle()
    assert LATER == ["packed", "sent"]
    assert sum(look.numbers.get("done", 0) for look in shop.client.queues()) == 3


def test_a_key_that_is_taken_rolls_back_all(shop: Shop) -> None:
    shop.client.enqueue(note.new("a").opts(key="k"))

    def body(tx: jobs.Tx) -> None:
        tea(tx)
        with pytest.raises(jobs.KeyTakenError):
            tx.enqueue(note.new("b").opts(key="k"))
        tea(tx)

    assert shop.end(shop.run(body))[0] == "dead"
    assert isinstance(RAISED[0], jobs.KeyTakenError)
    assert shop.sold() == []


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has the writer for longer than a moment; who `hangs`, that is, for who is slow is waited for."""
    late: set[object] = set()

    def hears(bell: Any, seconds: float) -> bool:
        return sleep_on(bell, seconds if bell in late else None)

    def hang(tx: jobs.Tx) -> None:
        late.add(tx._loan._bell)
        with tx._loan._lock:
            tx._loan._ring()

    monkeypatch.setattr(Setup, "loan_seconds", 0.05)
    monkeypatch.setattr("otpy.jobs.loan.sleep_on", hears)
    monkeypatch.setitem(BODIES, "hang", hang)


def hangs(tx: jobs.Tx) -> None:
    """Have its time pass from now on."""
    BODIES["hang"](tx)


def test_what_hangs_inside_does_not_stop_the_writer(brief: None, shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        hangs(tx)
        GATE.wait()
        tea(tx)

    made = shop.run(body)
    GATE.reached(1)
    assert shop.client.enqueue(note.new("others go on")).is_new
    GATE.open()
    state, text = shop.end(made)
    assert state == "dead"
    assert "open for more than 0.05 s, and was rolled back" in str(text)
    assert shop.sold() == []


def test_who_asks_the_engine_in_between_is_told_what_to_do(brief: None, shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        hangs(tx)
        assert shop.client.enqueue(note.new("waits for the block that waits for it")).is_new
        tea(tx)

    state, text = shop.end(shop.run(body))
    assert state == "dead"
    assert "what asks the engine itself, outside of it" in str(text)
    assert shop.sold() == []


def test_a_signal_that_the_writer_hears_late_does_not_keep_it_from_others(brief: None, shop: Shop) -> None:
    """CPython before 3.13 goes on without end in `SimpleQueue.get(timeout=...)`, where that comes after the time.

    Here signals wake the writer's thread, and no other thread than this one may run until its time is over.
    """
    made = shop.run(lambda tx: (hangs(tx), GATE.wait()))
    GATE.reached(1)
    thread = next(thread for thread in threading.enumerate() if thread.name.endswith("writer"))
    interval, handler = sys.getswitchinterval(), signal.signal(signal.SIGUSR1, lambda *_: None)
    sys.setswitchinterval(10.0)
    try:
        until = time.monotonic() + 0.2
        while time.monotonic() < until:
            assert thread.ident is not None
            signal.pthread_kill(thread.ident, signal.SIGUSR1)
    finally:
        sys.setswitchinterval(interval)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)  # drops what the thread has not taken yet, which ends a process
        signal.signal(signal.SIGUSR1, handler)
    assert shop.client.enqueue(note.new("others go on")).is_new
    GATE.open()
    assert shop.end(made)[0] == "dead"


def test_a_statement_without_end_is_broken_off(brief: None, shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tea(tx)
        tx.execute(
            "insert into sale (item) with recursive n(i) as (select 1 union all select i from n) select i from n"
        )

    state, text = shop.end(shop.run(body))
    assert state == "dead"
    assert "it took too long" in str(text)
    assert shop.sold() == []
    assert shop.end(shop.run(lambda _: None))[0] == "done"


def test_what_takes_too_long_on_its_behalf_is_no_failure_of_the_store(
    brief: None, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where it is the engine's own statement."""
    endless = "with recursive n(i) as (select 1 union all select i from n) select max(i) from n"

    def body(tx: jobs.Tx) -> None:
        tea(tx)
        monkeypatch.setattr(SqliteTransaction, "insert", lambda tx, _: tx._db.execute(endless).fetchall())
        tx.enqueue(note.new("much"))

    state, text = shop.end(shop.run(body))
    assert state == "dead"
    assert "it took too long" in str(text)
    assert (shop.sold(), shop.client.store().problem) == ([], None)


@pytest.mark.parametrize("after", ["raise", "end"])
def test_a_statement_that_rolls_back_by_itself_ends_the_block(shop: Shop, after: str) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.execute("insert into sale values (1, 'tea')")
        with pytest.raises(jobs.TransactionError, match="roll back"):
            tx.execute("insert or rollback into sale values (1, 'cup')")
        with suppress(jobs.TransactionError):
            tea(tx)
        if after == "raise":
            raise ValueError

    assert shop.end(shop.run(body))[0] == "dead"
    assert [type(one) for one in RAISED] == [ValueError if after == "raise" else jobs.TransactionError]
    assert (shop.sold(), shop.client.store().problem) == ([], None)
    assert shop.end(shop.run(tea))[0] == "done"


def test_when_the_store_fails_nothing_of_it_is_kept(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    made = shop.run(tea, "before")
    GATE.reached(1)

    def full(tx: SqliteTransaction) -> None:
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(SqliteTransaction, "holds", lambda *_: "held")
        patch.setattr(SqliteTransaction, "finish", full)
        GATE.open()
        shop.system.wait_idle()
    assert [type(one) for one in RAISED] == [jobs.StoreError]
    assert made.id == 1
    assert shop.sold() == []


@jobs.job(name="loop")
async def on_a_loop(*, apart: bool) -> object:
    def write() -> None:
        with jobs.current().tx() as tx:
            tx.result = "kept"

    if apart:
        return await asyncio.to_thread(write)
    return write()


@pytest.mark.parametrize("place", ["loop", "thread"])
def test_a_coroutine_has_it_in_a_thread_alone(
    system: otpy.System, quiet: None, tmp_path: Path, place: otpy.Place
) -> None:
    system.start(jobs.engine(tmp_path / "shop.db", [on_a_loop], crews=[jobs.Crew(name="one", place=place)]))
    client = jobs.of(system)
    job = client.wait(client.enqueue(on_a_loop.new(apart=True)).id, 20.0)
    assert (job.state, job.result_value) == ("done", "kept")
    other = client.enqueue(on_a_loop.new(apart=False)).id
    system.wait_idle()
    failed = client.get(other)
    assert failed is not None
    assert "hold up the event loop: await asyncio.to_thread" in failed.attempts[0].text


def test_a_process_has_none(system: otpy.System, quiet: None, tmp_path: Path) -> None:
    crews = [jobs.Crew(name="apart", size=1, spare=0, place="process")]
    system.start(jobs.engine(tmp_path / "shop.db", [errands.transact], crews=crews))
    client = jobs.of(system)
    job = client.wait(client.enqueue(errands.transact.new()).id, 20.0)
    assert "its agent has a process of its own" in job.attempts[0].text


def test_without_a_mistake_of_the_statement_all_goes_on(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.execute("insert into sale values (1, 'tea')")
        with pytest.raises(sqlite3.IntegrityError):
            tx.execute("insert into sale values (1, 'cup')")
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            tx.execute("insert into nowhere values (1)")
        with pytest.raises(sqlite3.ProgrammingError):
            tx.execute("insert into sale values (?, ?)", (1,))
        with pytest.raises((sqlite3.ProgrammingError, sqlite3.InterfaceError)):
            tx.execute("insert into sale (item) values (?)", (object(),))

    assert shop.end(shop.run(body))[0] == "done"
    assert shop.sold() == ["tea"]


@pytest.mark.parametrize(
    "statement",
    [
        "commit",
        "/* */ ROLLBACK",
        "savepoint a",
        "pragma journal_mode = delete",
        "attach ':memory:' as other",
        "update otpy_job set state = 'done', lease_until = null",
        "delete from OTPY_JOB",
        "drop table otpy_rate",
        "create index mine on otpy_job (id)",
        "alter table sale rename /* */ to [OTPY_sale]",
        "delete from sqlite_sequence",
        "update SQLITE_sequence set seq = 0",
    ],
)
def test_what_is_the_engines_is_refused(shop: Shop, statement: str) -> None:
    def body(tx: jobs.Tx) -> None:
        with pytest.raises(jobs.TransactionError, match="for the engine alone"):
            tx.execute(statement)
        tea(tx)

    assert shop.end(shop.run(body))[0] == "done"
    assert shop.sold()[-1] == "tea"


def test_a_full_text_table_is_one_of_theirs(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.execute("create virtual table words using fts5(text)")
        tx.execute("insert into words values ('a pot of tea')")
        tx.result = tx.execute("select text from words where words match 'tea'")

    assert shop.end(shop.run(body)) == ("done", [("a pot of tea",)])


def test_a_trigger_of_theirs_writes_nothing_of_ours(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.execute("create trigger t after insert on sale begin delete from otpy_job; end")
        with pytest.raises(jobs.TransactionError, match="for the engine alone"):
            tea(tx)

    assert shop.end(shop.run(body))[0] == "done"
    assert shop.sold() == []


def test_a_table_of_theirs_may_number_its_rows_and_be_renamed(shop: Shop) -> None:
    """SQLite writes to its table of the highest numbers then, which is theirs through that alone."""

    def body(tx: jobs.Tx) -> None:
        tx.execute("create table list (id integer primary key autoincrement)")
        tx.execute("insert into list default values")
        tx.execute("alter table list rename to names")
        tx.execute("create trigger t after insert on names begin delete from sqlite_sequence; end")
        with pytest.raises(jobs.TransactionError, match="for the engine alone"):
            tx.execute("insert into names default values")
        tx.execute("drop trigger t")
        tx.result = tx.execute("select * from names")
        tx.execute("drop table names")

    assert shop.end(shop.run(body)) == ("done", [(1,)])


def test_it_may_look_at_the_engines_tables(shop: Shop) -> None:
    def body(tx: jobs.Tx) -> None:
        tx.result = tx.execute("select state from otpy_job")

    assert shop.end(shop.run(body)) == ("done", [("running",)])


def test_after_the_end_there_is_no_second_one(shop: Shop) -> None:
    left: list[jobs.Tx] = []

    def body(tx: jobs.Tx) -> None:
        left.append(tx)

    assert shop.end(shop.run(body)) == ("done", None)
    with pytest.raises(jobs.LostJobError):
        tea(left[0])


def test_who_goes_on_after_its_end_is_let_be(shop: Shop, clock: VirtualClock) -> None:
    """Its lease is over with its row, and the beat would have taken it for lost, and its agent been killed."""
    shop.system.wait_idle()
    with Recorder(shop.system, otpy.events.CrewChanged) as recorder:
        made = shop.run(tea, "after")
        GATE.reached(1)
        assert shop.client.wait(made.id, 20.0).state == "done"
        clock.advance(60.0)
        GATE.open()
        shop.system.wait_idle()
        assert recorder.of(otpy.events.CrewChanged) == []
    assert shop.end(shop.run(tea))[0] == "done"
