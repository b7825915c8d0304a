"""`Outbox`: the handle of an outbox, by which any thread or task puts rows and sees how it stands."""

from __future__ import annotations

import socket
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otpy.actors.keeping import refuse_second
from otpy.actors.supervisor import Supervisor
from otpy.core.backoff import Backoff
from otpy.core.reason import NoProc
from otpy.core.spec import ChildSpec, child
from otpy.core.suggest import listing
from otpy.core.text import safe_repr
from otpy.errors import NoProcError, SpecError
from otpy.resilience.errors import PayloadError
from otpy.resilience.outbox.batch import packed
from otpy.resilience.outbox.books import Books, OutboxLook
from otpy.resilience.outbox.carrier import AsyncCarrier, Crew, PlainCarrier
from otpy.resilience.outbox.keeper import Keeper
from otpy.resilience.outbox.plan import Plan
from otpy.resilience.outbox.sender import ways_of
from otpy.resilience.outbox.topic import MAX_KEY, topics_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from otpy.disk.sqlite import Profile
    from otpy.resilience.outbox.plan import Damaged
    from otpy.resilience.outbox.sender import Sender, Sends
    from otpy.resilience.outbox.topic import Topic
    from otpy.runtime.ref import Ref

__all__ = ["Outbox"]

PAUSES = Backoff(first=0.5, most=30.0)
"""Half a second, then twice as long each time, up to half a minute; with full jitter."""

KEEP_END, SEND_END, BRIEF = 5.0, 5.0, 1.0
"""Seconds to stop for who keeps the file, for all who call senders together, and for all breakers together."""

KIBI, LONG = 1_024, 120
"""Bytes of a larger unit, and of how many seconds, or minutes, the next larger unit is used."""


class Outbox:
    """Store and forward: `outbox.put("temperature", 21.5)` returns when it is on the disk; it is sent when it can be.

    Make one where the readings are, and put `outbox.child()` into the tree. Its rows are sent in batches, one batch at
    a time, in the order in which they were put into their topic, again and again until a receiver has taken them. So
    the receiver sees some twice, and `received` tells those apart.

    Args:
        name: for people: in errors, events and the tree.
        path: its file, on a local disk. One outbox alone can have it open.
        senders: functions that deliver a batch, or `Sender`s. The first that may is tried first, each time; the others
            step in while it fails, or while its breaker is open.
        topics: `Topic`s, or the names of some with the usual bounds.
        agent: who this is to the receiver; `name@host` unless said otherwise.
        batch: rows that are sent together at most.
        batch_bytes: bytes that their payloads have together at most, unless one alone has more.
        backoff: the pauses after all senders have failed; with full jitter unless it says otherwise.
        ramp: seconds after a reconnection, or a start, in which batches grow to their full size, and come one after the
            other without a gap; so a receiver that has just come back is not flooded by all agents. 0: none.
        profile: `full` has each commit on the disk before `put` returns; `fast` loses nothing when the program dies,
            but may lose the last moments when the power fails.
        damaged: what becomes of a file that is damaged: `refuse` fails the start; `set_aside` moves it out of the way
            and begins a new one, for a machine that nobody looks after.

    Raises:
        SpecError: the options cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        path: str | Path,
        *,
        senders: Sequence[Sender | Sends],
        topics: Sequence[Topic | str],
        agent: str | None = None,
        batch: int = 500,
        batch_bytes: int = 1 << 20,
        backoff: Backoff = PAUSES,
        ramp: float = 30.0,
        profile: Profile = "full",
        damaged: Damaged = "refuse",
    ) -> None:
        """Make it; nothing runs yet, and no file is opened."""
        try:
            whole = str(Path(path).absolute())
        except TypeError:
            raise SpecError(str(name), f"path={safe_repr(path)}: that of a file") from None
        self.plan = Plan(
            name=name,
            path=whole,
            ways=ways_of(str(name), senders),
            topics=topics_of(str(name), topics),
            agent=f"{name}@{socket.gethostname()}" if agent is None else agent,
            batch=batch,
            batch_bytes=batch_bytes,
            backoff=backoff,
            ramp=ramp,
            profile=profile,
            damaged=damaged,
        )
        self.books = Books()
        self.crew: Crew = {}
        self.trouble: str | None = None
        self._lock = threading.Lock()  # guards who keeps it
        self._keeper: Ref[Keeper] | None = None
        self._zero = 0.0

    # What users call.

    @property
    def name(self) -> str:
        """As it was made."""
        return self.plan.name

    def child(self) -> ChildSpec:
        """The spec of the actors that keep it, for the tree of the program that uses it."""
        return child(OutboxTree, self).opts(id=self.plan.name)

    def put(self, topic: str, payload: object, *, key: str = "") -> int | None:
        """Keep a row; when this returns it is on the disk, and will be sent.

        Many threads and tasks that put at the same time share one commit.

        Args:
            topic: one of its topics.
            payload: plain data: what JSON has, and bytes; up to 1 MiB of it.
            key: whose row it is, as the name of a sensor; for the receiver, and for `overflow="sample"`.

        Returns:
            Its number; None when it was dropped, for the topic is full and its overflow is `drop_new`.

        Raises:
            OutboxFullError: the topic is full, and refuses.
            NoSuchTopicError: there is no such topic.
            PayloadError: the payload, or the key, cannot be kept.
            OutboxFileError: the disk is full, or does not work.
            NoProcError: no actor keeps it.
            CallTimeoutError: it was not done within 5 seconds; it may have been kept.
        """
        return self._kept("put").call(Keeper.put, topic, _checked(key), packed(payload))  # type: ignore[no-any-return]

    async def aput(self, topic: str, payload: object, *, key: str = "") -> int | None:
        """As `put`, awaited."""
        return await self._kept("put").acall(Keeper.put, topic, _checked(key), packed(payload))

    def flush(self, timeout: float | None = None) -> None:
        """Wait until all that was put before this is taken, or dropped; the pause that is being made is cut short.

        Raises:
            CallTimeoutError: not within `timeout` seconds; None waits as long as it takes.
            NoProcError: no actor keeps it.
        """
        self._kept("flush").within(timeout).call(Keeper.flush)

    async def aflush(self, timeout: float | None = None) -> None:
        """As `flush`, awaited."""
        await self._kept("flush").within(timeout).acall(Keeper.flush)

    def look(self) -> OutboxLook:
        """How it stands now. Any thread may ask; it asks no actor, and waits for none."""
        books, keeper = self.books, self._keeper
        now = 0.0 if keeper is None else keeper.system.clock.now()
        oldest, since = books.oldest, books.degraded_since
        age = None if oldest is None else max(0.0, now + self._zero - oldest / 1_000)
        return OutboxLook(
            rows=books.rows,
            size_bytes=books.size,
            oldest_age=age if keeper is not None else None,
            sent=books.sent,
            dropped=books.drops(),
            sender=books.sender,
            degraded=None if since is None else max(0.0, now - since),
            why=self.trouble or books.why,
            full=books.full(),
        )

    def __reduce__(self) -> NoReturn:
        text = f"outbox {self.name!r} stays in its process: put by an actor of the program that keeps it"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Outbox {self.name} {self.words()}>"

    # What its actor does with it.

    def words(self) -> str:
        """How it stands, in short: how many rows, how large, how old, and how many were dropped."""
        look = self.look()
        parts = [f"{look.rows} {'row' if look.rows == 1 else 'rows'}"]
        if look.rows:
            parts.append(_size(look.size_bytes))
        if look.oldest_age is not None:
            parts.append(f"{_time(look.oldest_age)} old")
        if lost := sum(look.dropped.values()):
            parts.append(f"{lost} dropped")
        return ", ".join(parts)

    def in_the_way(self) -> str | None:
        """What keeps rows from being kept or sent; None when nothing does."""
        look = self.look()
        if self.trouble is not None:
            return f"it keeps nothing new: {self.trouble}"
        parts = [f"full in {listing(look.full)}"] if look.full else []
        if look.degraded is not None:
            parts.append(f"degraded for {_time(look.degraded)}: {look.why}")
        return "; ".join(parts) or None

    def copes(self) -> bool:
        """Whether that is the way to the receiver alone: what is put is kept, and sent when it can be."""
        return self.trouble is None and not self.books.full()

    def keep(self, keeper: Ref[Keeper], open_for: int) -> None:
        """Be kept by an actor; the outbox has been open for so many milliseconds."""
        with self._lock:
            refuse_second(self._keeper, keeper, f"outbox {self.name}")
            self._keeper = keeper
            self._zero = open_for / 1_000 - keeper.system.clock.now()

    def release(self, keeper: Ref[Keeper]) -> None:
        """Be kept by nobody, if it still is by this one."""
        with self._lock:
            if self._keeper is keeper:
                self._keeper = None

    def _kept(self, what: str) -> Ref[Keeper]:
        keeper = self._keeper
        if keeper is None or not keeper.is_alive():
            raise NoProcError(f"outbox {self.name!r}", what, NoProc())
        return keeper


class OutboxTree(Supervisor):
    """The breakers, who calls the senders, and who keeps the file: in this order, for the last one uses the others."""

    def init(self, outbox: Outbox) -> None:
        """Of this outbox."""
        self._outbox = outbox

    @classmethod
    def sealed_stop(cls) -> float:
        """Nothing in it is the user's to mend, and its options were checked when it was made."""
        return KEEP_END + SEND_END + BRIEF

    def children(self) -> list[ChildSpec]:
        """In start order. What their stops take adds up to `sealed_stop`, however many senders there are."""
        outbox = self._outbox
        ways = outbox.plan.ways
        breakers = [way.breaker.child().opts(shutdown=BRIEF / len(ways)) for way in ways if way.is_own]
        carriers: list[Any] = [AsyncCarrier if way.is_async else PlainCarrier for way in ways]
        callers = [
            child(carrier, way, outbox.crew, index).opts(id=f"{way.name}-sender", shutdown=SEND_END / len(ways))
            for index, (way, carrier) in enumerate(zip(ways, carriers, strict=True))
        ]
        return [*breakers, *callers, child(Keeper, outbox).opts(id="outbox", shutdown=KEEP_END)]


def _checked(key: object) -> str:
    if not isinstance(key, str) or len(key) > MAX_KEY:
        raise PayloadError(f"key={safe_repr(key)}: a text of up to {MAX_KEY} characters")
    return key


def _size(size_bytes: int) -> str:
    size, unit = float(size_bytes), "B"
    for larger in ("K", "M", "G"):
        if size < KIBI:
            break
        size, unit = size / KIBI, larger
    return f"{size:.0f}{unit}"


def _time(seconds: float) -> str:
    if seconds < LONG:
        return f"{seconds:.0f}s"
    return f"{seconds / 60:.0f}m" if seconds < LONG * 60 else f"{seconds / 3_600:.0f}h"
