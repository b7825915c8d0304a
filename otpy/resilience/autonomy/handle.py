"""`Autonomy`: the handle by which an agent's main loop goes on through the loss of its hub."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.actors.keeping import refuse_second
from otpy.actors.supervisor import Supervisor
from otpy.core.backoff import Backoff
from otpy.core.number import is_number
from otpy.core.spec import ChildSpec, child
from otpy.core.text import exception_line, safe_repr
from otpy.errors import SpecError
from otpy.resilience.autonomy.line import STARTED, AutonomyLook, Line
from otpy.resilience.autonomy.server import AutonomyServer
from otpy.resilience.errand import Staff, hands_of
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.matching import Errors, matcher

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import NoReturn

    from otpy.resilience.autonomy.line import AutonomyState
    from otpy.runtime.ref import Ref

__all__ = ["Autonomy"]

R = TypeVar("R")
C = TypeVar("C")

PAUSES = Backoff(first=1.0, most=60.0)
"""A second, then twice as long each time, up to a minute; with full jitter."""


class Autonomy:
    """An agent that goes on without its hub: `hub.ask(lambda: client.plan(x), otherwise=lambda: own_plan(x))`.

    Make one where the hub's functions are, and put `hub.child()` into the tree. While the hub is there, `ask` asks it.
    When it is lost the agent is `degraded`, and `ask` does what it does otherwise, at once; meanwhile an actor tries to
    reach the hub. It brings the agent back in order: first `connect`, then `catch_up`, and only then `ask` asks again.

    Args:
        name: for people: in errors, events and the tree.
        connect: reaches the hub; anything it raises says that it is not there. This and `catch_up` may be coroutine
            functions. An error with a number `retry_after` is kept to.
        catch_up: makes good what was missed, as by a flush of the outbox; anything it raises says that the hub is lost
            again.
        lost_on: which errors of a call by `ask` say that the hub is lost: a class, some, or a function that is asked.
            Others are raised.
        timeout: seconds after which `connect` has failed.
        catch_up_timeout: seconds after which `catch_up` has.
        backoff: the pauses before attempts to reach it; with full jitter unless it says otherwise.

    Raises:
        SpecError: the options cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        *,
        connect: Callable[[], object],
        catch_up: Callable[[], object] | None = None,
        lost_on: Errors = (OSError, BreakerOpenError),
        timeout: float = 30.0,
        catch_up_timeout: float = 600.0,
        backoff: Backoff = PAUSES,
    ) -> None:
        """Make it; nothing runs yet."""
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("Autonomy", f"name={safe_repr(name)}: a text without '/'")
        self.name, self._connect, self._catch_up = name, connect, catch_up
        self.timeout, self.catch_up_timeout, self.backoff = timeout, catch_up_timeout, backoff
        problem = self._problem()
        if problem is not None:
            raise SpecError(name, problem)
        self._is_loss = matcher(name, "lost_on", lost_on)
        self.staff: Staff = {}
        self.line = Line()
        self._lock = threading.Lock()  # guards the line, and who keeps it
        self._keeper: Ref[AutonomyServer] | None = None

    # What users call.

    def child(self) -> ChildSpec:
        """The spec of the actors that keep it, for the tree of the program that uses it."""
        return child(AutonomyTree, self).opts(id=self.name)

    @property
    def state(self) -> AutonomyState:
        """`normal`, `degraded` or `catching_up`."""
        return self.line.state

    def look(self) -> AutonomyLook:
        """How the agent stands now. Any thread may ask; it asks no actor, and waits for none."""
        with self._lock:
            line, keeper = self.line, self._keeper
            since = line.since
            now = since if keeper is None else keeper.system.clock.now()
            return AutonomyLook(
                state=line.state,
                degraded=None if since is None or now is None else max(0.0, now - since),
                why=line.whys(),
                attempts=line.attempts,
                held=dict(line.held),
            )

    def ask(self, hub: Callable[[], R], otherwise: Callable[[], C]) -> R | C:
        """Ask the hub; while it is lost, or when it is now, do what is done otherwise. In the thread of who calls it.

        As long as no actor keeps the autonomy the hub is asked each time.

        Args:
            hub: what asks it.
            otherwise: what is done without it.
        """
        phase = self._open()
        if phase is None:
            return otherwise()
        try:
            return hub()
        except Exception as error:
            if not self._is_loss(error):
                raise
            self._lose(phase, exception_line(error, 200))
        return otherwise()

    async def aask(self, hub: Callable[[], Awaitable[R]], otherwise: Callable[[], C]) -> R | C:
        """As `ask`, with a hub that is awaited."""
        phase = self._open()
        if phase is None:
            return otherwise()
        try:
            return await hub()
        except Exception as error:
            if not self._is_loss(error):
                raise
            self._lose(phase, exception_line(error, 200))
        return otherwise()

    def lost(self, why: str) -> None:
        """Somebody else has found that the hub is lost, as a connection's callback. Any thread may say so."""
        # Under the lock: the phase may end in this very moment, and the loss be taken for one of before.
        if self.change(lambda line, now: line.lose(line.phase, why, now)):
            self._tell()

    def hold(self, part: str, why: str) -> None:
        """Something of the agent's own is not as it should be, and degrades it until `release`, whatever the hub says.

        `ask` still asks the hub.
        """
        self.change(lambda line, now: line.hold(part, why, now))
        self._tell()

    def release(self, part: str) -> None:
        """That is well again; nothing happens when it was."""
        if part in self.line.held:
            self.change(lambda line, now: line.release(part, now))
            self._tell()

    def __reduce__(self) -> NoReturn:
        text = f"autonomy {self.name!r} stays in its process: make it in the module that uses it"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Autonomy {self.name} {self.words()}>"

    # What its actor does with it.

    def words(self) -> str:
        """How it stands, in short."""
        look = self.look()
        if look.degraded is None:
            return look.state
        return f"{look.state} {look.degraded:.0f} s: {look.why}"

    def in_the_way(self) -> str | None:
        """Since when it is degraded, and why; None when it is not, or has not come to its first connection yet."""
        look = self.look()
        if look.state != "degraded" or look.why == STARTED:
            return None
        return f"for {look.degraded or 0.0:.0f} s: {look.why}"

    def functions(self) -> dict[str, Any]:
        """Those that are called by actors of their own."""
        return {"connect": self._connect, "catch_up": self._catch_up}

    def change(self, how: Callable[[Line, float], R]) -> R | None:
        """Change how it stands, at the time it is; nothing when nobody keeps it."""
        with self._lock:
            keeper = self._keeper
            return None if keeper is None else how(self.line, keeper.system.clock.now())

    def keep(self, keeper: Ref[AutonomyServer]) -> None:
        """Be kept by an actor. Raises NameTakenError."""
        with self._lock:
            refuse_second(self._keeper, keeper, f"autonomy {self.name}")
            self._keeper = keeper
            self.line.begin(keeper.system.clock.now())

    def release_keeper(self, keeper: Ref[AutonomyServer]) -> None:
        """Be kept by nobody, if it still is by this one."""
        with self._lock:
            if self._keeper is keeper:
                self._keeper = None

    def _problem(self) -> str | None:
        for word, function in self.functions().items():
            if not (callable(function) or (function is None and word == "catch_up")):
                return f"{word}={safe_repr(function)}: a function"
        for word in ("timeout", "catch_up_timeout"):
            seconds = getattr(self, word)
            if not (is_number(seconds) and 0 < seconds < math.inf):
                return f"{word}={safe_repr(seconds)}: seconds > 0"
        if not isinstance(self.backoff, Backoff):
            return f"backoff={safe_repr(self.backoff)}: an otpy.Backoff"
        return self.backoff.problem()

    def _open(self) -> int | None:
        """The phase in which a call begins; None: not now."""
        with self._lock:
            return self.line.phase if self.line.hub == "up" or self._keeper is None else None

    def _lose(self, phase: int, why: str) -> None:
        if self.change(lambda line, now: line.lose(phase, why, now)):
            self._tell()

    def _tell(self) -> None:
        keeper = self._keeper
        if keeper is not None:
            keeper.cast(AutonomyServer.look)


class AutonomyTree(Supervisor):
    """Who calls the functions, and who brings the agent back: in this order, for the last one uses the others."""

    def init(self, autonomy: Autonomy) -> None:
        """Of this one."""
        self._autonomy = autonomy

    def children(self) -> list[ChildSpec]:
        """In start order."""
        hands = hands_of(self._autonomy.functions(), self._autonomy.staff)
        return [*hands, child(AutonomyServer, self._autonomy).opts(id="autonomy")]
