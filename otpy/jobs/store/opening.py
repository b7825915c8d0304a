"""Which store an engine has: by what it was given for one, a file or the address of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.clock import wall_clock
from otpy.jobs.errors import StoreError
from otpy.jobs.store.server_clock import ServerClock
from otpy.jobs.store.sqlite.readers import SqliteReaders
from otpy.jobs.store.sqlite.store import SqliteStore
from otpy.jobs.store.where import is_server, lacking, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Readers, Store

__all__ = ["clock_of", "open_store", "readers_of"]


def clock_of(setup: Setup) -> Callable[[], int]:
    """The time that is written down, as this program knows it: that of the server, where there is one."""
    return ServerClock() if is_server(setup.path) and setup.now is wall_clock else setup.now


def readers_of(setup: Setup) -> Readers:
    """Those who look beside who writes, once that has opened the store."""
    if not is_server(setup.path):
        return SqliteReaders(setup.path, setup.now, setup.busy_seconds)
    try:
        from otpy.jobs.store.postgres.readers import PostgresReaders  # noqa: PLC0415 - an extra
    except ImportError:  # whoever opens it to write says so
        return SqliteReaders(setup.path, setup.now, setup.busy_seconds)
    return PostgresReaders(setup.path, _now(setup), setup.busy_seconds)


def open_store(setup: Setup, others: Callable[[], object]) -> Store:
    """Open it; `others` is called, in any thread, when another program has made something ready and says so.

    Raises:
        StoreError: it cannot be opened, or its driver is not installed.
    """
    options: dict[str, Any] = {
        "profile": setup.profile,
        "patience": setup.busy_seconds,
        "redact": setup.redact,
    }
    if not is_server(setup.path):
        return SqliteStore(setup.path, now=setup.now, **options)
    try:
        from otpy.jobs.store.postgres.store import PostgresStore  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise StoreError(shown(setup.path), lacking(error)) from None
    told = setup.now.set if isinstance(setup.now, ServerClock) else None
    return PostgresStore(setup.path, now=_now(setup), told=told, others=others, **options)


def _now(setup: Setup) -> Callable[[], int] | None:
    """None is the server's clock, for programs on several machines have one each; one that was set is that of tests."""
    return None if setup.now is wall_clock or isinstance(setup.now, ServerClock) else setup.now
