"""The file of an outbox: opened by one program alone, and its transactions."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from otpy.disk.owned import Layout, OwnedFile
from otpy.resilience.errors import OutboxFileError
from otpy.resilience.outbox.tables import VERSION, Tables, make, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.disk.sqlite import Profile

__all__ = ["OutboxFile"]

LAYOUT = Layout(
    version=VERSION,
    version_of=version_of,
    make=make,
    error=OutboxFileError,
    taken="another program, or another outbox of this one, has it open",
    point="outbox",
    forked="it was opened before a fork: a child needs an outbox of its own",
)


class OutboxFile(OwnedFile):
    """Opened and used by one thread, and by one program: while it is open, nobody else can open it as an outbox.

    Raises:
        OutboxFileError: it cannot be opened, is damaged, in use, of a newer otpy, or on a network file system.
    """

    def __init__(self, path: str, *, profile: Profile = "full", patience: float = 5.0) -> None:
        """Open it, as `OwnedFile` does."""
        super().__init__(path, LAYOUT, profile=profile, patience=patience)

    @contextmanager
    def transaction(self) -> Iterator[Tables]:
        """Begin one, and commit it in the end."""
        with self.changing() as db:
            yield Tables(db)

    @contextmanager
    def reading(self) -> Iterator[Tables]:
        """To look at it, outside of any transaction."""
        with self.looking() as db:
            yield Tables(db)
