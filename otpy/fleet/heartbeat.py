"""`Heartbeat`: the handle of an agent's beats, which tell its hub every so often that it is there, and how it is."""

from __future__ import annotations

import math
import secrets
import socket
import threading
from typing import TYPE_CHECKING, Any

from otpy.actors.keeping import refuse_second
from otpy.core.clock import virtual_wall, wall_clock
from otpy.core.number import is_number
from otpy.core.spec import ChildSpec, child
from otpy.core.text import exception_line, safe_repr
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.fleet.beat import Beat, check_figures, check_labels, check_name
from otpy.fleet.errors import BeatError
from otpy.fleet.heart import AsyncHeart, Heart, PlainHeart
from otpy.resilience.autonomy.handle import Autonomy
from otpy.resilience.breaker import Breaker
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.guard import guarded, is_async
from otpy.resilience.outbox.handle import Outbox
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import NoReturn

    from otpy.fleet.beat import BeatState
    from otpy.runtime.ref import Ref

    Said = tuple[BeatState, str | None]

__all__ = ["Heartbeat", "HeartbeatLook"]


@value(kw_only=True)
class HeartbeatLook:
    """How an agent's beats go: `heartbeat.look()`."""

    state: BeatState
    """What the next one says of the agent."""
    why: str | None
    """Why that is so."""
    sent: int
    """Beats for which `send` has returned."""
    failed: int
    """Those for which it has raised an error, or was too slow."""
    held: int
    """Those that were not tried, for the breaker is open."""
    ago: float | None
    """Seconds since one was sent; None: none was yet."""
    sending: float | None
    """Seconds for which one has been under way; None: none is."""
    error: str | None
    """What became of the last one, unless it was sent."""
    trouble: str | None
    """Why there are no figures, if they cannot be had."""


class Heartbeat:
    """An agent's beats: `Heartbeat("beats", send=post)`, with `beats.child()` as the first child of the agent's tree.

    Its actor calls `send(beat)` every `period` seconds, half of it sooner or later by chance, and the first time within
    one: so agents that were started together do not beat together. One is under way at a time; what is missed is not
    made good. When the program drains the hub is told at once. When its supervisor stops it, it says goodbye; the first
    child is stopped last, and so beats for as long as the others take to end.

    Args:
        name: for people: in errors and the tree.
        send: gets each `Beat`, and brings it to the hub by whatever way there is; may be a coroutine function. What it
            raises is counted, and the next beat is the next try.
        agent: who this is in the fleet; `name@host` unless said otherwise.
        period: seconds between two beats on the average; the hub misses an agent by this.
        labels: what it belongs to, as `{"region": "eu"}`.
        version: of its program; one more label.
        figures: is asked for numbers before each beat; when it raises an error the beat has none.
        autonomy: while it is not normal the agent says that it is degraded, and why.
        outbox: how many rows wait in it, and how old the oldest is, are figures of each beat.
        breaker: through which `send` is called; its child belongs into the tree as well.
        timeout: seconds after which a coroutine function is cancelled. A plain one needs a timeout of its own.
        goodbye: seconds that stopping may take, with the goodbye; one that is under way counts.

    Raises:
        SpecError: the options cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        *,
        send: Callable[[Beat], object] | Callable[[Beat], Awaitable[object]],
        agent: str | None = None,
        period: float = 30.0,
        labels: Mapping[str, str] | None = None,
        version: str | None = None,
        figures: Callable[[], Mapping[str, float]] | None = None,
        autonomy: Autonomy | None = None,
        outbox: Outbox | None = None,
        breaker: Breaker | None = None,
        timeout: float = 5.0,
        goodbye: float = 2.0,
    ) -> None:
        """Make it; nothing runs yet."""
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("Heartbeat", f"name={safe_repr(name)}: a text without '/'")
        self.name, self.period, self.timeout, self.goodbye = name, period, timeout, goodbye
        self.agent = f"{name}@{socket.gethostname()}" if agent is None else agent
        self.labels = dict(labels or {}) | ({} if version is None else {"version": version})
        self._figures, self._autonomy, self._outbox, self._breaker = figures, autonomy, outbox, breaker
        self._check(send)
        self.is_async = is_async(send)
        self.send: Callable[[Beat], Any] = send if breaker is None else guarded(breaker, send)
        self._lock = threading.Lock()  # guards who keeps it
        self._keeper: Ref[Heart] | None = None
        self._wall: Callable[[], int] = wall_clock
        self._incarnation = secrets.token_hex(8)
        self._started: int | None = None
        self._sequence = 0
        self._said: Said = ("normal", None)
        self.sent = self.failed = self.held = 0
        self.error: str | None = None
        self.trouble: str | None = None
        self._sent_at: float | None = None
        self._begun: float | None = None

    # What users call.

    def child(self) -> ChildSpec:
        """The spec of the actor that sends the beats, for the tree of the agent: as its first child."""
        return child(AsyncHeart if self.is_async else PlainHeart, self).opts(id=self.name, shutdown=self.goodbye)

    def say(self, state: BeatState, why: str | None = None) -> None:
        """From now on the agent is `normal`, `degraded` or `draining`; a beat says so at once. From any thread.

        Raises:
            ValueError: it is another state, or why is no text: a hub refuses each beat that says so.
        """
        if state not in ("normal", "degraded", "draining"):
            text = f"state={safe_repr(state)}: normal, degraded or draining"
            raise ValueError(text)
        if why is not None and type(why) is not str:
            text = f"why={safe_repr(why)}: a text, or None"
            raise ValueError(text)
        self._said = (state, why)
        keeper = self._keeper
        if keeper is not None:
            keeper.cast(Heart.look)

    def look(self) -> HeartbeatLook:
        """How its beats go. Any thread may ask; it asks no actor."""
        state, why = self._state()
        keeper = self._keeper
        now = None if keeper is None else keeper.system.clock.now()
        sent_at, begun = self._sent_at, self._begun
        return HeartbeatLook(
            state=state,
            why=why,
            sent=self.sent,
            failed=self.failed,
            held=self.held,
            ago=None if sent_at is None or now is None else max(0.0, now - sent_at),
            sending=None if begun is None or now is None else max(0.0, now - begun),
            error=self.error,
            trouble=self.trouble,
        )

    def __reduce__(self) -> NoReturn:
        text = f"heartbeat {self.name!r} stays in its process: make it in the module that uses it"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Heartbeat {self.agent} {self.words()}>"

    # What its actor does with it.

    def words(self) -> str:
        """How it goes, in short."""
        look = self.look()
        ago = f"{look.sent} sent" if look.ago is None else f"sent {look.ago:.0f} s ago"
        sending = "" if look.sending is None else f", sending for {look.sending:.0f} s"
        return f"{look.state}, {ago}{sending}" + ("" if look.error is None else f": {look.error}")

    def next_beat(self) -> Beat:
        """The beat that is to be sent now."""
        state, why = self._state()
        return self._beat(state, why)

    def last_beat(self) -> Beat:
        """The goodbye."""
        return self._beat("gone", "drained" if self._state()[0] == "draining" else "stopped")

    def begin(self, now: float) -> None:
        """One is under way."""
        self._begun = now

    def done(self, now: float, error: Exception | None) -> None:
        """It is not any more: it was sent, or not."""
        self._begun = None
        if error is None:
            self.sent, self._sent_at, self.error = self.sent + 1, now, None
            return
        self.error = exception_line(error, 200)
        if isinstance(error, BreakerOpenError):
            self.held += 1
        else:
            self.failed += 1

    def keep(self, keeper: Ref[Heart]) -> None:
        """Be kept by an actor. Raises NameTakenError."""
        with self._lock:
            refuse_second(self._keeper, keeper, f"heartbeat {self.name}")
            self._keeper, self._begun = keeper, None
            clock = keeper.system.clock
            self._wall = virtual_wall(clock) if clock.is_virtual else wall_clock
            self._started = self._wall() if self._started is None else self._started

    def release(self, keeper: Ref[Heart]) -> None:
        """Be kept by nobody, if it still is by this one."""
        with self._lock:
            if self._keeper is keeper:
                self._keeper = None

    # How it is done.

    def _state(self) -> Said:
        """What the program says counts for more than what its autonomy does; that it drains is seen by itself."""
        state, why = self._said
        keeper, autonomy = self._keeper, self._autonomy
        drain = None if keeper is None else draining_of(keeper.system, keeper)
        if state != "draining" and drain is not None:
            return "draining", drain.reason
        if state == "normal" and autonomy is not None and autonomy.state != "normal":
            return "degraded", autonomy.look().why
        return state, why

    def _beat(self, state: BeatState, why: str | None) -> Beat:
        self._sequence += 1
        return Beat(
            agent=self.agent,
            labels=self.labels,
            state=state,
            why=why,
            figures=self._numbers(),
            incarnation=self._incarnation,
            sequence=self._sequence,
            period=self.period,
            at=self._wall(),
            started=self._started,
        )

    def _numbers(self) -> dict[str, float]:
        """A beat without figures is better than none."""
        self.trouble = None
        try:
            numbers = {} if self._figures is None else dict(self._figures())
            if self._outbox is not None:
                look = self._outbox.look()
                numbers |= {"outbox_rows": look.rows, "outbox_age": look.oldest_age or 0.0}
            check_figures(numbers)
        except Exception as error:  # noqa: BLE001 - the user's code
            self.trouble = exception_line(error, 200)
            return {}
        return numbers

    def _check(self, send: object) -> None:
        for word, function in (("send", send), ("figures", self._figures)):
            if not (callable(function) or (function is None and word == "figures")):
                raise SpecError(self.name, f"{word}={safe_repr(function)}: a function")
        for word in ("period", "timeout", "goodbye"):
            seconds = getattr(self, word)
            if not (is_number(seconds) and 0 < seconds < math.inf):
                raise SpecError(self.name, f"{word}={safe_repr(seconds)}: seconds > 0")
        kinds: tuple[tuple[str, type[Any]], ...] = (("autonomy", Autonomy), ("outbox", Outbox), ("breaker", Breaker))
        for word, kind in kinds:
            given = getattr(self, f"_{word}")
            if given is not None and not isinstance(given, kind):
                raise SpecError(self.name, f"{word}={safe_repr(given)}: of the class {kind.__name__}, or None")
        try:
            check_name(self.agent)
            check_labels(self.labels)
        except BeatError as error:
            raise SpecError(self.name, str(error)) from None
