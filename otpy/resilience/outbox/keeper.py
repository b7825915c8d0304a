"""The actor that keeps an outbox's file: all puts go through it and share its commits, and it has batches sent."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.gen_server import GenServer
from otpy.core.clock import virtual_wall, wall_clock
from otpy.core.decision import Fail, NoReply
from otpy.core.gathering import GATHER, Gathering
from otpy.core.reason import Shutdown
from otpy.disk.owned import set_aside
from otpy.events.jobs import StoreFailed, StoreRecovered
from otpy.events.resilience import OutboxDropped, OutboxSetAside
from otpy.resilience.errors import OutboxFileError
from otpy.resilience.outbox.file import OutboxFile
from otpy.resilience.outbox.sending import Expired, Go, Sending
from otpy.resilience.outbox.shelf import Shelf
from otpy.runtime.links import Down
from otpy.runtime.ref import Ref
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from types import TracebackType

    from otpy.core.reason import Reason
    from otpy.events.event import Event
    from otpy.resilience.outbox.batch import Receipt
    from otpy.resilience.outbox.handle import Outbox
    from otpy.resilience.outbox.shelf import Put
    from otpy.runtime.caller import Caller
    from otpy.runtime.drain import Drain
    from otpy.runtime.timers import Timer

__all__ = ["Keeper"]

LATER = NoReply()
"""The reply comes with the commit."""

UPKEEP = 1.0
"""Seconds between two looks for what is too old, or has to be told or deleted; made while there is such a thing."""

CALM = 5.0
"""Seconds without a failure of the file after which an outage is over: small rows may find room in between."""

TELL = 10.0
"""Seconds between two events of rows dropped for the same reason; the first is told at once."""

MOST_OF_IT = 0.8
"""Of the time for flushing, what is used: rows that cannot be sent in it are as safe on the disk as they ever were."""

_UPKEEP, _LOOK = object(), object()


class Keeping:
    """An outbox that an actor keeps, and its file, as a resource: given up with the incarnation, however it ends."""

    def __init__(self, outbox: Outbox, keeper: Ref[Keeper], shelf: Shelf) -> None:
        self._outbox, self._keeper, self._shelf = outbox, keeper, shelf

    def __enter__(self) -> None:
        self._outbox.keep(self._keeper, self._shelf.open_for)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._outbox.release(self._keeper)
        self._shelf.close()


class Keeper(GenServer):
    """Keeps one `Outbox`; started by its `child()`, on a thread of its own.

    A failure of the file is that of all who share the commit, of whom nothing was kept. The actor lives on, and goes on
    sending: to start it again mends no disk.
    """

    place: ClassVar[str] = "thread"
    trap_exit = True

    def init(self, outbox: Outbox) -> Fail | None:
        """Open the file, in its own thread."""
        self._outbox, self._plan, self._books = outbox, outbox.plan, outbox.books
        try:
            self._shelf = self._opened()
        except OutboxFileError as error:  # no fault of this actor: a sentence, and no crash report
            return Fail(Shutdown(str(error)))
        self.use(Keeping(outbox, self.ref, self._shelf))
        self._waiting: list[tuple[Caller, Put]] = []
        self._gathering = Gathering()
        self._flushes: list[tuple[Caller, int]] = []
        self._drain: Drain | None = None
        self._drained_by = 0.0
        self._watched: set[Ref[Any]] = set()
        self._upkeep: Timer | None = None
        self._failed_since: float | None = None
        self._failed_at, self._refused, self._refuses = 0.0, 0, False
        self._told = dict(self._books.dropped)
        self._told_at: dict[tuple[str, str], float] = {}
        self._times: tuple[int | None, float | None] = (None, None)
        self.oldest_since: str | None = None
        self.degraded_since: str | None = None
        self._sending = Sending(self, self._plan, self._shelf, self._books, outbox.crew, (self._land, self._fail))
        self._after()
        self._sending.go_on()
        return None

    @property
    def otpy_handle(self) -> Outbox | None:
        """What it keeps; None before its `init`."""
        return self._outbox if hasattr(self, "_outbox") else None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the outbox stands."""
        return f"Outbox {self._outbox.words()}" if hasattr(self, "_outbox") else "Outbox"

    @property
    def otpy_trouble(self) -> str | None:
        """What stands in its way, for the tree and for `otpy doctor`."""
        return self._outbox.in_the_way() if hasattr(self, "_outbox") else None

    @property
    def otpy_copes(self) -> bool:
        """Whether it gets along with that by itself."""
        return self._outbox.copes() if hasattr(self, "_outbox") else False

    @call
    def put(self, topic: str, key: str, payload: bytes) -> Any:  # Any: its number, or None
        """Keep a row; the reply comes when it is committed."""
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        if not self._waiting:
            self.ref.cast(Keeper.commit)
        self._waiting.append((caller, (topic, key, payload)))
        return LATER

    @cast
    def commit(self) -> None:
        """Keep what waits, once those are back who have just been served together."""
        if self._gathering.waits(len(self._waiting), time.monotonic()):
            time.sleep(GATHER)
            self.ref.cast(Keeper.commit)
        else:
            self._put_all()

    @call
    def flush(self) -> Any:  # Any: None, later
        """Send without further pauses; the reply comes when nothing that was put until now waits."""
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        self._put_all()
        self._flushes.append((caller, self._shelf.last))
        self._sending.hurry()
        self._after()
        return LATER

    def handle_flush(self, drain: Drain) -> NoReply:
        """The program ends: send what can be sent meanwhile. The rest is on the disk, and so nothing is left undone."""
        self._drain, self._drained_by = drain, self.system.clock.now() + drain.remaining() * MOST_OF_IT
        self._put_all()
        self._sending.finish()
        self.send_after(UPKEEP, _LOOK)
        self._after()
        return LATER

    @cast
    def landed(self, ticket: int, receipt: Receipt | None, error: BaseException | None) -> None:
        """A sender has come back."""
        self._sending.landed(ticket, receipt, error)
        if self._failed_since is not None and not self._refuses and not self._shelf.owes:
            self._works()  # it was read, and what was taken is gone; whether it takes new rows only a put finds out
        self._after()

    def handle_info(self, message: Any) -> None:
        """A time has come, or who calls a sender has ended."""
        match message:
            case Go(number=number):
                self._sending.rested(number)
            case Expired(ticket=ticket):
                self._sending.expired(ticket)
            case Down(target=Ref() as target):
                self._watched.discard(target)
                self._sending.lost(target)
            case _ if message is _UPKEEP:
                self._keep_up()
            case _ if message is _LOOK:
                if self._drain is not None:
                    self.send_after(UPKEEP, _LOOK)  # what follows looks at the time
            case _:
                self.unknown(message)
        self._after()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """What was taken is kept."""
        self._put_all()

    def _opened(self) -> Shelf:
        try:
            return self._open()
        except OutboxFileError as error:
            if error.failure != "broken" or self._plan.damaged != "set_aside":
                raise
            aside = set_aside(self._plan.path)
            self._emit(OutboxSetAside(path=self.ref.path, outbox=self._plan.name, aside=aside, problem=error.problem))
            return self._open()

    def _open(self) -> Shelf:
        plan, clock = self._plan, self.system.clock
        wall = virtual_wall(clock) if self.system.is_virtual else wall_clock
        file = OutboxFile(plan.path, profile=plan.profile)
        try:
            return Shelf(plan.name, file, plan.topics, self._books, clock.now, wall)
        except BaseException:
            file.close()
            raise

    def _land(self, ticket: int, receipt: Receipt | None, error: BaseException | None) -> None:
        """Called in the thread of whoever has called the sender."""
        self.ref.cast(Keeper.landed, ticket, receipt, error)

    def _put_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._gathering.begin()
        if not waiting:
            return
        try:
            answers = self._shelf.put([put for _, put in waiting])
        except OutboxFileError as error:
            self._fail(error, len(waiting))
            for caller, _ in waiting:
                caller.refuse(OutboxFileError(error.path, error.problem, error.failure))
            return
        self._refuses = False
        self._works()  # before anybody is told: who has put something may look then
        for (caller, _), answer in zip(waiting, answers, strict=True):
            if isinstance(answer, Exception):
                caller.refuse(answer)
            else:
                caller.reply(answer)
        self._gathering.served(len(waiting), time.monotonic())
        self._sending.go_on()
        self._after()

    def _keep_up(self) -> None:
        self._upkeep = None
        try:
            self._shelf.keep_up()
        except OutboxFileError as error:
            self._fail(error)
        self._sending.go_on()

    def _after(self) -> None:
        """Whatever has changed: tell of it, answer those who wait for it, and look again when that is needed."""
        books = self._books
        for carrier in self._outbox.crew.values():
            if carrier not in self._watched:
                self._watched.add(carrier)
                self.monitor(carrier)
        is_left = self._tell_drops() if books.dropped else False
        if self._flushes:
            oldest = min((tally.head[0] for tally in books.tallies.values() if tally.head), default=None)
            done = [each for each in self._flushes if oldest is None or oldest > each[1]]
            self._flushes = [each for each in self._flushes if each not in done]
            for caller, _ in done:
                caller.reply(None)
        if self._drain is not None:
            self._flush_for(self._drain)
        if self._upkeep is None and (is_left or self._shelf.owes or self._shelf.ages()):
            self._upkeep = self.send_after(UPKEEP, _UPKEEP)
        self._show()

    def _flush_for(self, drain: Drain) -> None:
        """Say how much is still to be sent, and be done when all is, or nothing more can be."""
        left, seconds = self._books.rows, self._drained_by - self.system.clock.now()
        drain.working(left)
        if not left or seconds <= 0 or self._sending.is_vain(seconds):
            drain.done()
            self._drain = None

    def _tell_drops(self) -> bool:
        """Tell of dropped rows; whether some have not been told of yet."""
        now, is_left = self.system.clock.now(), False
        for each, (rows, size) in self._books.dropped.items():
            told_rows, told_size = self._told.get(each, (0, 0))
            new = rows - told_rows
            if new <= 0:
                continue
            if now - self._told_at.get(each, -TELL) < TELL:
                is_left = True
                continue
            self._told_at[each], self._told[each] = now, (rows, size)
            topic, why = each
            self._emit(
                OutboxDropped(
                    path=self.ref.path,
                    outbox=self._plan.name,
                    topic=topic,
                    why=why,
                    rows=new,
                    size_bytes=size - told_size,
                )
            )
        return is_left

    def _fail(self, error: OutboxFileError, refused: int = 0) -> None:
        now = self.system.clock.now()
        self._failed_at, self._refused = now, self._refused + refused
        self._refuses = self._refuses or refused > 0
        self._outbox.trouble = error.problem
        if self._failed_since is None:
            self._failed_since = now
            kind = type(error).__name__
            self._emit(StoreFailed(path=self.ref.path, store=error.path, error=kind, problem=error.problem))

    def _works(self) -> None:
        self._outbox.trouble = None
        since = self._failed_since
        if since is not None and self.system.clock.now() - self._failed_at >= CALM:
            seconds, refused = self._failed_at - since, self._refused
            self._failed_since, self._refused = None, 0
            self._emit(StoreRecovered(path=self.ref.path, store=self._plan.path, seconds=seconds, refused=refused))

    def _emit(self, event: Event) -> None:
        self.system.events.emit(event)

    def _show(self) -> None:
        """Have the state at hand for whoever asks the inspector."""
        books = self._books
        self.rows, self.size_bytes = books.rows, books.size
        self.sent, self.dropped, self.sender = books.sent, books.drops(), books.sender
        self.why = self._outbox.trouble or books.why
        times = (books.oldest, books.degraded_since)
        if times != self._times:  # else they are told already: to write a time of day takes longer than all the rest
            self._times = times
            look = self._outbox.look()
            self.oldest_since, self.degraded_since = _time_of(look.oldest_age), _time_of(look.degraded)
        self.breakers = {way.name: way.breaker.state for way in self._plan.ways}


def _time_of(seconds_ago: float | None) -> str | None:
    """A time of day, which stays true when the state is shown much later than it was noted."""
    if seconds_ago is None:
        return None
    return datetime.fromtimestamp(time.time() - seconds_ago, UTC).isoformat(timespec="seconds")
