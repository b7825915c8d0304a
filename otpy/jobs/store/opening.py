"""Which store an engine has: by what it was given for one, a file or the address of a server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.errors import StoreError
from otpy.jobs.store.clock import wall_clock
from otpy.jobs.store.sqlite.store import SqliteStore
from otpy.jobs.store.where import is_server, shown

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Store

__all__ = ["open_store"]


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
        raise StoreError(shown(setup.path), f"it needs otpy[postgres]: {error}") from None
    # The server's clock, for programs on several machines have one each; a clock that was set here is that of tests.
    now = None if setup.now is wall_clock else setup.now
    return PostgresStore(setup.path, now=now, others=others, **options)
