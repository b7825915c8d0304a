"""Commits whose answer is lost: the line to the server goes down just then, or the server does."""

from __future__ import annotations

import threading
from contextlib import closing
from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.errors import StoreError
from support.postgres import fresh_url

from .shop import get, insert, new, numbers, one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.store.postgres import PostgresStore

pytestmark = pytest.mark.any_python


@pytest.fixture
def store() -> Iterator[PostgresStore]:
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    with closing(PostgresStore(fresh_url())) as opened:
        yield opened


class Line:
    """The server's end of a line that went down in a commit."""

    def __init__(self, db: Any, words: str) -> None:
        self.db, self.words = db, words

    def commit(self) -> None:
        """The words have arrived."""
        self.db.execute(self.words)
        self.db.close()

    def drop(self) -> None:
        """The server hears that nobody is there."""
        self.db.close()


@pytest.fixture
def cut(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Line], object]], None]:
    """Has the line go down in the next commit; what is given hears of the server's end of it."""
    import psycopg  # noqa: PLC0415 - an extra

    from otpy.jobs.store.postgres.session import Session  # noqa: PLC0415 - an extra

    whole = Session.commit

    def cut(then: Callable[[Line], object]) -> None:
        def go_down(session: Session, *before: str) -> None:
            monkeypatch.setattr(Session, "commit", whole)
            line = Line(session.db, "; ".join([*before, "commit"]))
            session.db = psycopg.connect(store._url)
            session.db.close()
            then(line)
            raise psycopg.OperationalError("server closed the connection unexpectedly")

        monkeypatch.setattr(Session, "commit", go_down)

    return cut


def test_a_commit_whose_answer_was_lost_is_asked_for(store: PostgresStore, cut: Any) -> None:
    """Else a caller would be told that nothing is kept, and would do it again."""
    for number in range(1, 4):
        cut(Line.commit)
        insert(store, new())
        assert numbers(store) == {"ready": number}


def test_a_commit_that_did_not_arrive_is_not_kept(store: PostgresStore, cut: Any) -> None:
    for number in range(1, 4):
        cut(Line.drop)
        with pytest.raises(StoreError, match="closed the connection"):
            insert(store, new())
        insert(store, new())
        assert numbers(store) == {"ready": number}


def test_one_that_arrives_later_is_waited_for(store: PostgresStore, cut: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one of a program as well, which has no row yet whose lock could be waited for."""
    for number in range(1, 3):
        asked, ask, lines = threading.Event(), store._last_commit, []

        def answer(asked: threading.Event = asked, lines: list[Line] = lines) -> None:
            asked.wait()
            lines[0].commit()

        thread = threading.Thread(target=answer)
        thread.start()
        cut(lines.append)
        with monkeypatch.context() as patch:
            patch.setattr(store, "_last_commit", lambda asked=asked, ask=ask: asked.set() or ask())
            insert(store, new())
        thread.join()
        assert numbers(store) == {"ready": number}


def test_nobody_knows_of_one_that_stays_on_its_way(
    store: PostgresStore, cut: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the server's disk hangs; a transaction that only waits is ended by then."""
    from otpy.jobs.store.postgres import store as module  # noqa: PLC0415 - an extra

    lines: list[Line] = []

    def stay(line: Line) -> None:
        line.db.execute("set local idle_in_transaction_session_timeout = 0")
        lines.append(line)
        monkeypatch.setattr(store, "_patience", 1.0)
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=count(0, 10).__next__))  # it is over after a look

    cut(stay)
    with pytest.raises(StoreError, match="has not decided"):
        insert(store, new())
    lines[0].commit()
    assert numbers(store) == {"ready": 1}


def test_of_another_program_s_commits_nothing_is_concluded(store: PostgresStore, cut: Any) -> None:
    """A server that died may have given the number of our transaction to one of theirs, which was kept."""
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    def drop_and_let_others(line: Line) -> None:
        line.drop()
        with closing(PostgresStore(store._url)) as other:
            insert(other, new(), new())

    cut(drop_and_let_others)
    with pytest.raises(StoreError, match="closed the connection"):
        insert(store, new())
    assert numbers(store) == {"ready": 2}


def test_one_that_leaves_all_numbers_as_they_were_is_asked_for(store: PostgresStore, cut: Any) -> None:
    """As one that changes a job that waits, or has one tried again and begins another: there was no mark of it."""
    words: dict[str, Any] = {"until": "finished", "on_conflict": "replace", "replaces": ("args",)}
    insert(store, one("k", **words))
    cut(Line.commit)
    assert [made.how for made in insert(store, one("k", args=b"b", **words))] == ["replaced"]
    cut(Line.drop)
    with pytest.raises(StoreError):
        insert(store, one("k", args=b"c", **words))
    assert get(store, 1).args == b"b"


def test_one_is_not_forgotten_while_somebody_may_ask_for_it(store: PostgresStore, cut: Any) -> None:
    """With a small `keep` the janitor of another program did so first: what was kept was told to be lost."""

    def forget(line: Line) -> None:
        line.commit()
        with closing(type(store)(store._url)) as other, other.transaction() as tx:
            tx.prune(tx.now + 1, 1_000)

    cut(forget)
    insert(store, new())
    assert numbers(store) == {"ready": 1}
