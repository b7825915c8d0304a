"""What statements are given to: a connection, or a cursor of somebody's own.

The statements here are such that any database takes them. Words in comments, as in `/* for update */`, are said on
PostgreSQL alone, where others write at the same time: what is read to be changed must stay as it was read. On SQLite
one transaction writes after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Base", "Rows"]


class Rows(Protocol):
    """What a statement has given."""

    @property
    def rowcount(self) -> int:
        """How many rows it has changed."""

    @property
    def lastrowid(self) -> int | None:
        """The number of the row that it has inserted."""

    def fetchone(self) -> Any:  # Any here and below: as many values as the statement names, of their types
        """The next row; None when there is no other one."""

    def fetchall(self) -> list[Any]:
        """The rows that are left."""

    def __iter__(self) -> Iterator[Any]:
        """One after the other."""


class Base(Protocol):
    """A connection, in a transaction."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows:
        """Do it, with values for its question marks, or for its names."""

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> object:
        """Do it with each of these."""
