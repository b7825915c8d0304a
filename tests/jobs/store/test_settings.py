"""What a database, a user or somebody's own connection may be set to, and what must hold nevertheless."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.errors import StoreBusyError, StoreConflictError, StoreError
from otpy.jobs.model.claim import Limits
from support.postgres import fresh_url, server

from .on_server import connected, opened
from .shop import get, insert, new, one
from .test_shared_limits import given, station, wish

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.any_python


@pytest.fixture
def url() -> str:
    """A place without tables."""
    return fresh_url()


@pytest.mark.parametrize(
    ("profile", "found", "meant"), [("full", "off", "on"), ("full", "local", "local"), ("fast", "on", "off")]
)
def test_what_is_acknowledged_is_on_the_disk_whatever_is_set(url: str, profile: Any, found: str, meant: str) -> None:
    """Who administers a database may have it acknowledge what is not written yet: of that jobs were lost."""
    asked = "select current_setting('synchronous_commit')"
    with opened(f"{url}%20-csynchronous_commit%3D{found}", profile=profile) as store, store.transaction() as tx:
        assert tx._db.execute(asked).fetchall() == [(meant,)]


@pytest.fixture
def latin() -> Iterator[str]:
    server().sql("create database latin encoding 'LATIN1' template template0")
    yield server().url().replace("/postgres?", "/latin?")
    server().sql("drop database latin with (force)")


def test_a_database_that_cannot_keep_every_text_is_refused_at_the_start(latin: str) -> None:
    """The text of an error in another script was refused in the transaction with all other ends, for ever."""
    with pytest.raises(StoreError, match=r"its encoding is LATIN1.*UTF8"), opened(latin):
        pass


def test_texts_are_sent_as_they_are_whatever_the_environment_says(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with opened(url) as store:
        insert(store, new(tenant="日本"))
        assert get(store, 1).tenant == "日本"


def test_a_program_that_is_frozen_in_a_claim_fails_none_of_the_others(url: str) -> None:
    """They waited for its locks, and gave up a moment before the server would have taken those away."""
    with opened(url, patience=1.0) as frozen, opened(url, patience=1.0) as other:
        stations = [station(frozen, "a"), station(other, "b")]
        insert(frozen, *[new() for _ in range(9)])
        has_claimed, goes_on = threading.Event(), threading.Event()

        def freeze() -> None:
            with pytest.raises(StoreBusyError, match="idle-in-transaction"), frozen.transaction() as tx:
                tx.claim([wish(3, Limits(queue=5))], stations[0])
                has_claimed.set()
                assert goes_on.wait(30.0)

        thread = threading.Thread(target=freeze)
        thread.start()
        assert has_claimed.wait(30.0)
        assert len(given(other, stations[1], wish(9, Limits(queue=5)))) == 5
        goes_on.set()
        thread.join()


def test_a_handler_with_a_transaction_may_think_for_as_long_as_it_has_that(url: str) -> None:
    with opened(url, patience=1.0) as store, store.transaction() as tx, tx.lent(monotonic() + 20.0) as foreign:
        time.sleep(0.7)  # beyond the time after which the server takes a program for frozen
        assert foreign.run("select 1", ()) == ([(1,)], None)


@contextmanager
def many_files() -> Iterator[None]:
    """Whatever is opened in this block has a number beyond a thousand."""
    least, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        yield
    finally:
        for file in files:
            os.close(file)
        resource.setrlimit(resource.RLIMIT_NOFILE, (least, most))


def test_a_program_with_a_thousand_files_open_hears_calls(url: str) -> None:
    """Who listened ended with an error, and what others had made ready was found a second later."""
    heard = threading.Semaphore(0)
    with many_files(), opened(url, others=heard.release), opened(url) as other:
        assert heard.acquire(timeout=30.0)  # it listens
        insert(other, new())
        assert heard.acquire(timeout=30.0)


@pytest.mark.parametrize("level", ["REPEATABLE_READ", "SERIALIZABLE"])
def test_a_transaction_that_cannot_look_back_enqueues_nothing_that_is_unique_for_a_time(url: str, level: str) -> None:
    """It sees what was there when it began: so there were two. Other keys are refused by the server itself."""
    import psycopg  # noqa: PLC0415 - an extra

    from otpy.jobs.store.postgres.guest import guest  # noqa: PLC0415 - an extra

    hourly, alone = one("k", until="period", period_ms=3_600_000), one("k", until="finished")
    with opened(url) as store, connected(url) as db:
        db.rollback()
        db.isolation_level = psycopg.IsolationLevel[level]
        db.execute("select count(*) from otpy_job")
        insert(store, hourly, alone)
        with pytest.raises(StoreError, match="begin it as read committed"), guest(db) as own:
            own.insert([hourly], own.now)
        with pytest.raises(StoreConflictError), guest(db) as own:
            own.insert([alone], own.now)
