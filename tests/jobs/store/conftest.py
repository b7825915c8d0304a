"""The stores that must all do the same; a further one joins by one line in STORES."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.jobs.store.sqlite import SqliteStore
from support.postgres import empty_url, fresh_url

from .shop import lead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Store


class Clock:
    """The time of a store, which moves when told."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


STORES: dict[str, Callable[[Path, Clock], Store]] = {
    "memory": lambda _, clock: SqliteStore(":memory:", now=clock),
    "full": lambda folder, clock: SqliteStore(folder / "jobs.db", now=clock),
    "fast": lambda folder, clock: SqliteStore(folder / "jobs.db", profile="fast", now=clock),
    "postgres": lambda _, clock: _postgres(clock),
}


def _postgres(clock: Clock) -> Store:
    url = empty_url()  # first: it skips where there is no server, and no psycopg
    from otpy.jobs.store.postgres import PostgresStore  # noqa: PLC0415 - an extra

    return PostgresStore(url, now=clock)


@pytest.fixture
def clock() -> Clock:
    """Stands at a million milliseconds."""
    return Clock()


def _params() -> list[Any]:
    """What a server makes of our SQL it makes for each Python."""
    marks = {"postgres": [pytest.mark.any_python]}
    return [pytest.param(name, marks=marks.get(name, [])) for name in STORES]


@pytest.fixture(params=_params())
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Store]:
    """Each store, empty."""
    made = STORES[request.param](tmp_path, clock)
    yield made
    made.close()


@pytest.fixture
def fence(store: Store) -> Fence:
    """That of a leader elected for an hour."""
    return lead(store)


@pytest.fixture
def url() -> str:
    """A place on the server, without tables."""
    return fresh_url()
