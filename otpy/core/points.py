"""Named points that a program comes by, at which a test may have it fail; nothing happens there otherwise."""

from __future__ import annotations

from threading import RLock
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable

__all__ = ["OWN", "Medium", "Watch", "apoint", "point", "unwatch", "watch", "watches"]

Medium = Literal["code", "file", "sqlite", "postgres", "link"]
"""What fails at a point, and so how it says that its disk is full."""

OWN: dict[str, str] = {
    "file.write": "before a file of its own (configuration, persisted state) is written",
    "file.sync": "before it is synced",
    "file.rename": "before it gets its name, and so takes the place of the one before it",
    "file.renamed": "after that, before its folder is synced",
    "jobs.commit.before": "before the store of jobs commits a transaction",
    "jobs.commit.after": "after that, before anybody is told",
    "outbox.commit.before": "before an outbox commits: new rows, or that taken ones go",
    "outbox.commit.after": "after that, before anybody is told",
    "outbox.send.before": "before a sender is called",
    "outbox.send.after": "after it has come back, before what it says is taken in",
    "state.commit.before": "before a file of actors' states commits",
    "state.commit.after": "after that, before anybody is told",
}
"""The points of otpy itself, and where each is."""


class Watch(Protocol):
    """Is told who comes by where; it may wait, raise, or end the program."""

    def pass_by(self, name: str, medium: Medium) -> None:
        """Somebody has come to a point, on this thread."""
        ...

    def await_by(self, name: str, medium: Medium) -> Awaitable[None]:
        """A task has."""
        ...


_watches: tuple[Watch, ...] = ()
_lock = RLock()  # guards changes to it: two that are made at once would undo one another


def point(name: str, medium: Medium = "code") -> None:
    """A place in your code at which a test may have it fail: `otpy.testing.faults`. Nothing happens otherwise.

    Runs in the calling thread, and costs some forty nanoseconds where nothing is armed. In a coroutine `apoint` is the
    one to use: what hangs or is slow here holds up the event loop.

    Args:
        name: what to call it; whoever arms a fault names it so.
        medium: what fails there. At one of `sqlite`, a full disk is said as SQLite says it.

    Raises:
        BaseException: whatever is armed there.
    """
    if _watches:
        for each in _watches:
            each.pass_by(name, medium)


async def apoint(name: str, medium: Medium = "code") -> None:
    """As `point`, in a coroutine: what hangs or is slow there is awaited."""
    if _watches:
        for each in _watches:
            await each.await_by(name, medium)


def watches() -> tuple[Watch, ...]:
    """Who is told."""
    return _watches


def watch(one: Watch) -> None:
    """Tell this one, too, from now on."""
    global _watches  # noqa: PLW0603 - one look at a global is all that a point costs
    with _lock:
        _watches = (*_watches, one)


def unwatch(one: Watch) -> None:
    """Tell it no longer."""
    global _watches  # noqa: PLW0603 - as above
    with _lock:
        _watches = tuple(each for each in _watches if each is not one)
