"""A run of `otpy demo` on a server: a schema of its own, which is there as long as the run is not done."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import psycopg

from otpy.cli.lazy import CommandError
from otpy.jobs.store.postgres.failures import failures
from otpy.jobs.store.postgres.link import is_pooled
from otpy.jobs.store.where import shown

__all__ = ["ServerPlace", "with_schema"]

PATIENCE = 10
"""Seconds in which the server must take a connection."""


class ServerPlace:
    """The schema of a run. Who counts into it has a lock of its connection, which the server lets go when that ends."""

    beside = "this one counts with it, and goes on when that one ends or is killed"

    def __init__(self, address: str, schema: str, *, is_fresh: bool) -> None:
        """Take it, together with others; alone it begins anew if asked to.

        Raises:
            CommandError: others count into it and it was to be begun anew, or the address is that of a pooler.
            StoreError: the server cannot be reached, or the user may not make a schema.
        """
        self._where, self._schema = shown(address), schema
        self.address = with_schema(address, schema)
        self.shown = f"{self._where}, schema {schema}"
        with failures(self._where):
            self._db = psycopg.Connection[Any].connect(
                address, autocommit=True, connect_timeout=PATIENCE, application_name="otpy demo"
            )
            try:
                self._begin(is_fresh=is_fresh)
            except BaseException:
                self.leave()
                raise

    def finish(self) -> None:
        """All is done: forget the run, unless another program is in it; then that one does."""
        # Whoever has lost his connection does not know who else is there: what is done stays, and the next run ends.
        with suppress(psycopg.Error):
            self._lock("advisory_unlock_shared")
            if self._lock("try_advisory_lock"):
                self._remove()

    def leave(self) -> None:
        """Let go of it; a run that is not finished stays there."""
        self._db.close()

    def _begin(self, *, is_fresh: bool) -> None:
        if is_pooled(self._db):
            raise CommandError(f"{self._where} is a pooler, which keeps no locks: name the server itself")
        self.is_shared = not self._lock("try_advisory_lock")
        if is_fresh and self.is_shared:
            raise CommandError(f"another program counts into {self.shown}: stop it first")
        if is_fresh:
            self._remove()
        self.is_resumed = bool(
            self._db.execute("select 1 from pg_namespace where nspname = %s", [self._schema]).rowcount
        )
        if not self.is_resumed:
            self._db.execute(f"create schema if not exists {self._schema}")
        self._lock("advisory_lock_shared")
        if not self.is_shared:
            self._lock("advisory_unlock")

    def _lock(self, how: str) -> bool:
        """That of this run; whether it was had, where it need not be."""
        text = f"select pg_{how}(hashtext('otpy_demo'), hashtext(%s))"
        ((found,),) = self._db.execute(text, [self._schema]).fetchall()
        return found is True

    def _remove(self) -> None:
        self._db.execute(f"drop schema if exists {self._schema} cascade")


def with_schema(address: str, schema: str) -> str:
    """The address of this schema of the database."""
    base, _, query = address.partition("?")
    words = parse_qsl(query, keep_blank_values=True)
    options = " ".join([*(value for name, value in words if name == "options"), f"-csearch_path={schema}"])
    rest = [(name, value) for name, value in words if name != "options"]
    return f"{base}?{urlencode([*rest, ('options', options)], quote_via=quote, safe='/')}"
