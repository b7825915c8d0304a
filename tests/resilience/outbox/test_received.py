"""The receiver's side: each row once, in the transaction of its effect, on SQLite and on PostgreSQL."""

from __future__ import annotations

import sqlite3
import sys
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgpack
import pytest

from otpy.resilience import Batch, BatchError, PayloadError, Row, received
from otpy.resilience.outbox.batch import packed
from support.postgres import empty_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Connect = Callable[[], Any]


def batch(first: int, last: int, incarnation: str = "one", agent: str = "a", topic: str = "t") -> Batch:
    rows = tuple(Row(number, "k", 1.0, packed(number)) for number in range(first, last + 1))
    return Batch(agent, incarnation, topic, rows)


@pytest.fixture(params=["sqlite", "postgres"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connect]:
    opened: list[Any] = []
    url = empty_url() if request.param == "postgres" else ""  # skips where there is no server

    def again() -> Any:
        if url:
            import psycopg  # noqa: PLC0415 - an extra

            one: Any = psycopg.connect(url)
        else:
            one = sqlite3.connect(tmp_path / "hub.db", timeout=30.0, check_same_thread=False)
        opened.append(one)
        return one

    first = again()
    first.execute("drop table if exists reading")
    first.execute("drop table if exists otpy_received")
    first.execute("create table reading (value integer)")
    first.commit()
    yield again
    for one in opened:
        one.close()


def take(connection: Any, one: Batch) -> None:
    with received(connection, one) as fresh:
        for row in fresh:
            connection.execute(f"insert into reading values ({row.payload})")  # noqa: S608 - a number


def taken(connect: Connect) -> list[int]:
    with closing(connect()) as db:
        return [value for (value,) in db.execute("select value from reading order by value").fetchall()]


def test_a_batch_that_comes_again_changes_nothing(connect: Connect) -> None:
    db = connect()
    for one in (batch(1, 3), batch(1, 3), batch(1, 5), batch(2, 4), batch(6, 6), batch(1, 6)):
        take(db, one)
    assert taken(connect) == [1, 2, 3, 4, 5, 6]


def test_what_fails_leaves_nothing_and_comes_again(connect: Connect) -> None:
    db = connect()
    with pytest.raises(ZeroDivisionError), received(db, batch(1, 3)) as fresh:
        db.execute(f"insert into reading values ({fresh[0].payload})")  # noqa: S608 - a number
        raise ZeroDivisionError
    assert taken(connect) == []
    take(db, batch(1, 3))
    assert taken(connect) == [1, 2, 3]


def test_incarnations_agents_and_topics_count_apart(connect: Connect) -> None:
    db = connect()
    for one in (batch(1, 1), batch(1, 1, "two"), batch(1, 1, agent="b"), batch(1, 1, topic="u")):
        take(db, one)
        take(db, one)
    assert taken(connect) == [1, 1, 1, 1]


def test_numbers_that_are_missing_are_no_reason_to_wait(connect: Connect) -> None:
    db = connect()
    take(db, batch(1, 2))
    take(db, batch(90, 91))
    take(db, batch(1, 50))
    assert taken(connect) == [1, 2, 90, 91]


def test_the_same_batch_twice_at_once_is_taken_once(connect: Connect) -> None:
    """As when a line is cut, and the agent sends again while the first one is being taken."""
    first, second = connect(), connect()
    come = threading.Event()

    def again() -> None:
        come.wait()
        take(second, batch(1, 4))

    other = threading.Thread(target=again)
    other.start()
    with received(first, batch(1, 3)) as fresh:
        come.set()
        for row in fresh:
            first.execute(f"insert into reading values ({row.payload})")  # noqa: S608 - a number
    other.join()
    assert taken(connect) == [1, 2, 3, 4]


def test_old_incarnations_are_forgotten_in_time(connect: Connect) -> None:
    db = connect()
    for number in range(5):
        with received(db, batch(1, 1, f"life {number}"), keep=-1.0):
            pass
    assert db.execute("select count(*) from otpy_received").fetchone() == (1,)
    db.commit()
    with received(db, batch(1, 1, "another")):
        pass
    assert db.execute("select count(*) from otpy_received").fetchone() == (2,)


def test_an_open_transaction_is_refused_for_its_end_is_not_ours(connect: Connect) -> None:
    db = connect()
    db.execute("insert into reading values (1)")
    with pytest.raises(RuntimeError, match="a transaction is open"), received(db, batch(1, 1)):
        pass
    db.rollback()
    take(db, batch(1, 1))
    assert taken(connect) == [1]


@pytest.mark.parametrize("options", [{"isolation_level": None}, {"autocommit": True}, {"autocommit": False}])
def test_each_way_of_sqlite3_to_begin_transactions_will_do(tmp_path: Path, options: dict[str, Any]) -> None:
    if "autocommit" in options and sys.version_info < (3, 12):
        pytest.skip("from 3.12 on")
    db = sqlite3.connect(tmp_path / "hub.db", **options)
    db.row_factory = sqlite3.Row
    db.execute("create table reading (value integer)")
    db.commit()
    with closing(db):
        for one in (batch(1, 2), batch(1, 3)):
            take(db, one)
        with pytest.raises(ZeroDivisionError), received(db, batch(4, 4)):
            raise ZeroDivisionError
    with closing(sqlite3.connect(tmp_path / "hub.db")) as other:
        assert other.execute("select value from reading").fetchall() == [(1,), (2,), (3,)]


def test_another_kind_of_connection_is_refused() -> None:
    with pytest.raises(TypeError, match="sqlite3 or psycopg"), received(object(), batch(1, 1)):
        pass


# On the way.


def test_a_batch_is_what_it_was_after_a_network() -> None:
    one = batch(1, 50)
    assert Batch.unpack(one.pack()) == one
    assert [row.payload for row in Batch.unpack(one.pack()).rows] == list(range(1, 51))


ROW = [1, "k", 1.0, b"\x01"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xff",
        b"not a batch",
        msgpack.packb(3),
        msgpack.packb([1, "a", "i", "t", []]),
        msgpack.packb([1, "a", "i", "t", [[1]]]),
        msgpack.packb([1, "a", "i", "t", [3]]),
        msgpack.packb([1, "", "i", "t", [ROW]]),
        msgpack.packb([1, "a", 3, "t", [ROW]]),
        msgpack.packb([1, "a", "i", "t", [["1", "k", 1.0, b""]]]),
        msgpack.packb([1, "a", "i", "t", [[0, "k", 1.0, b""]]]),
        msgpack.packb([1, "a", "i", "t", [ROW, ROW]]),
        msgpack.packb([2, "a", "i", "t", [ROW]]),
        batch(1, 3).pack()[:-3],
    ],
)
def test_what_is_no_batch_is_refused(data: bytes) -> None:
    with pytest.raises(BatchError):
        Batch.unpack(data)


def test_a_payload_that_cannot_be_read_is_told() -> None:
    with pytest.raises(PayloadError, match="row 7"):
        _ = Row(7, "k", 1.0, b"\xc1").payload
