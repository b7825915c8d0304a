"""The system: one clock, one generator of chance, one set of workers, one table of names; nothing is global."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.histogram import Histogram
from otpy.core.masking import veil
from otpy.core.number import is_number
from otpy.core.reason import Exit, Reason, Shutdown, check_reason
from otpy.core.spec import Name
from otpy.core.text import safe_repr
from otpy.errors import DeadlockError, NameTakenError, NoSuchActorError, SpecError
from otpy.events.hook import Events
from otpy.runtime.aside import aside
from otpy.runtime.awaited import AwaitedCaller
from otpy.runtime.caller import Caller
from otpy.runtime.draining import Drains, own_flight
from otpy.runtime.hints import hint_for_path
from otpy.runtime.history import History
from otpy.runtime.home import PLACES
from otpy.runtime.inspection import Inspection
from otpy.runtime.named import NamedRef
from otpy.runtime.pool import Pool
from otpy.runtime.portrait import name_ref
from otpy.runtime.report import Allowance
from otpy.runtime.seat import here
from otpy.runtime.starting import Starting
from otpy.runtime.station import station
from otpy.runtime.stopping import Unstopped, stop_all
from otpy.runtime.systems import remember
from otpy.runtime.timed import BOUNDS, TimedAwaitedCaller, TimedCaller
from otpy.runtime.timers import MonotonicClock, Timers
from otpy.runtime.wait_idle import wait_idle
from otpy.runtime.watchdog import Watchdog

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.clock import Clock
    from otpy.core.masking import Show
    from otpy.runtime.actor import Actor
    from otpy.runtime.beyond import Beyond
    from otpy.runtime.draining import Draining, Flight
    from otpy.runtime.home import OwnHome
    from otpy.runtime.ref import Ref
    from otpy.runtime.restoring import KeptStates
    from otpy.runtime.seat import Slot

__all__ = ["LOOP_BLOCKED_AFTER", "MAX_THREADS", "MAX_ZOMBIES", "System", "check_blocked_after"]

A = TypeVar("A")
W = TypeVar("W", bound="Slot")

MAX_THREADS = 1_000
"""Extra threads for actors that block outside of otpy; each costs some 30 KiB while it waits."""

LOOP_BLOCKED_AFTER = 0.1
"""Real seconds for which one step of a handler may keep all others of an event loop waiting."""

MAX_ZOMBIES = 10
"""Killed actors whose code still runs; beyond that the program had better be started afresh by its keeper."""


class System(Starting, Inspection):
    """Everything that one running tree needs; two in a program do not see each other.

    Args:
        name: the first part of every path.
        clock: where time comes from; a virtual one in tests.
        seed: for `random`, the system's only generator of chance.
        pool: the workers; one with a seeded run queue in explorations.
        max_threads: extra threads for blocked actors.
        max_zombies: killed actors that may still run before `on_too_many_zombies` is called.
        loop_blocked_after: real seconds after which a handler that keeps an event loop is reported (`LoopBlocked`).
        redact: `redact(name, value)` returns what may be shown, as `Actor.redact`; for all actors, in any thread.
    """

    awaits_root = False
    """Whether a root is still to be started: a drain has nobody to ask before."""

    def __init__(
        self,
        name: str = "otpy",
        *,
        clock: Clock | None = None,
        seed: int | None = None,
        pool: Pool | None = None,
        max_threads: int = MAX_THREADS,
        max_zombies: int = MAX_ZOMBIES,
        loop_blocked_after: float = LOOP_BLOCKED_AFTER,
        redact: Show | None = None,
    ) -> None:
        """Make a system in which nothing runs; no thread starts before the first actor does.

        Raises:
            SpecError: the name is no text, is empty, or has a `/` in it; or a time is none.
        """
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("System", f"name={safe_repr(name)}: a text without '/', for paths begin with it")
        check_blocked_after("System", loop_blocked_after)
        self.loop_blocked_after = loop_blocked_after
        self.name = name
        self.clock: Clock = clock or MonotonicClock()
        self.is_virtual = self.clock.is_virtual
        self.random = random.Random(seed)  # for jitter and tests, no secrets
        self.events = Events()
        self.states: KeptStates | None = None  # where actors' states are kept over restarts of the program
        self.allowance = Allowance()  # of detailed crash reports
        self.redact = redact
        self.show = veil(*(() if redact is None else (redact,)), name_ref)
        self.history = History(self)
        self.lock = threading.RLock()  # guards names, links, monitors, deaths; RLock: a `__del__` inside may send
        self.names: dict[str, Ref[Any]] = {}
        self.awaited_names: dict[str, dict[Slot, None]] = {}  # who waits for a name that nobody holds
        self.undead: dict[Ref[Any], bool] = {}  # killed actors whose code may still run; True: it was reported
        self.timers = Timers(self.clock)
        self.pool = pool or Pool(max_threads=max_threads)
        self.places = PLACES
        self.threads: set[OwnHome] = set()  # homes beside the pool that have a thread
        self.beyonds: dict[Ref[Any], Beyond] = {}  # who stands here for what runs elsewhere; any thread may change it
        self.homes: dict[str, OwnHome] = {}  # those of them that many actors share, by place
        self.checks: dict[str, Callable[[], str | None]] = {}  # by name, what says why the program cannot serve now
        self.max_zombies = max_zombies
        self.on_too_many_zombies: Callable[[], None] | None = None
        self.alive = 0
        self.latency: Histogram | None = None  # of calls; None while nobody measures
        self.caller_class, self.awaited_class = Caller, AwaitedCaller
        self.root: Ref[Any] | None = None
        self.tops: dict[str, Ref[Any]] = {}
        self.orphans: dict[Ref[Any], None] = {}  # started by actors that have ended since
        self.trials: dict[str, Any] = {}  # Any: of children that prove themselves, by path, known on a higher floor
        self.draining: Draining | None = None
        self.drains = Drains()  # what else of that is to be known
        self.started_at = time.time()
        self.stopped = False
        self.forked = False
        self.last_number = 0
        self.watchdog = Watchdog(self) if pool is None else None
        attach = getattr(self.clock, "attach", None)  # a clock that is moved by hand fires the timers of its systems
        if attach is not None:
            attach(self)
        remember(self)

    @property
    def is_told(self) -> bool:
        """Whether the program was told to stop from outside; of a system that is no program nobody can say so."""
        return False

    def measure(self) -> Histogram:
        """Have what takes time and is counted be so from now on: calls, here, and jobs, by their engines.

        It stays so; each call then takes half a microsecond more. Until somebody wants it, it takes nothing.
        """
        with self.lock:
            if self.latency is None:
                self.latency = Histogram(BOUNDS)
                self.caller_class, self.awaited_class = TimedCaller, TimedAwaitedCaller
            return self.latency

    def ref(self, name: Name[A] | str) -> NamedRef[A]:
        """A handle that reaches whatever incarnation holds the name when it is used."""
        return NamedRef(self, name.text if isinstance(name, Name) else name)

    def whereis(self, name: Name[Any] | str) -> Ref[Any] | None:
        """Who holds the name now; never a dead one. OTP: whereis/1."""
        return self.names.get(name.text if isinstance(name, Name) else name)

    def register(self, ref: Ref[Any], name: str) -> None:
        """Give an actor a name. OTP: register/2. Raises NameTakenError when the name, or a name, is taken."""
        here().fence()
        with self.lock:
            holder = self.names[name] if name in self.names else None  # noqa: SIM401 - in a child `get` asks its parent
            if holder is not None or ref.name is not None:
                taken = name if holder is not None else str(ref.name)
                raise NameTakenError(ref.path, Exit("already_started"), taken, holder or ref, wanted=name)
            if ref.reason is None:
                self.names[name] = ref
                ref.name = name
                if self.awaited_names:
                    self.tell_of_name(name)

    def await_name(self, name: str, wait: Callable[[], W], *, is_last: bool) -> tuple[Ref[Any] | None, W | None]:
        """Who holds a name, or what is resolved when somebody takes it; neither when this `is_last` look."""
        with self.lock:  # whoever takes the name holds it, too: either it is seen here, or it sees who waits
            ref = self.names.get(name)
            if ref is not None or is_last or self.stopped:
                return ref, None
            made = wait()
            self.awaited_names.setdefault(name, {})[made] = None
            return None, made

    def forget_wait(self, name: str, wait: Any) -> None:
        """It waits no longer."""
        with self.lock:
            waiting = self.awaited_names.get(name)
            if waiting is not None:
                waiting.pop(wait, None)
                if not waiting:
                    del self.awaited_names[name]

    def tell_of_name(self, name: str) -> None:
        """Wake those who wait for a name that has just been taken; called with the lock held."""
        for slot in self.awaited_names.pop(name, {}):
            slot.resolve(None)

    def find(self, path: str) -> Ref[Any] | None:
        """The living actor at a path such as `shop/feed/17`."""
        if path != self.name and not path.startswith(f"{self.name}/"):  # that of a process child's system has a `/`
            return None
        rest = path[len(self.name) + 1 :].split("/") if path != self.name else []
        ref = self.root
        if ref is None or (rest and self.child_of(ref, rest[0]) is None):
            ref = self.tops.get(rest.pop(0)) if rest else None
        for ident in rest:
            if ref is None:
                return None
            ref = self.child_of(ref, ident)
        return ref

    def child_of(self, ref: Ref[Any], ident: str) -> Ref[Any] | None:
        """A living child, of a supervisor or of an actor that started it itself."""
        actor: Actor | None = ref.actor
        children = None if actor is None else actor.otpy_children()
        found = None if children is None else children.ref_of(ident)
        if found is not None:
            return found
        return ref.more.spawned.get(ident) if ref.more is not None else None

    def path_of_top(self, ref: Ref[Any]) -> str:
        """The path of an actor without a parent."""
        return self.name if ref is self.root else f"{self.name}/{ref.id}"

    def forget(self, ref: Ref[Any]) -> None:
        """Drop a dead actor from all tables; called with the lock held."""
        self.alive -= 1
        if ref.name is not None:
            self.names.pop(ref.name, None)
        parent = ref.parent
        if parent is None:
            if self.tops.get(str(ref.id)) is ref:  # not that of an actor which stands here for one elsewhere
                del self.tops[str(ref.id)]
        elif parent.more is not None and parent.more.spawned.get(str(ref.id)) is ref:
            del parent.more.spawned[str(ref.id)]
        self.orphans.pop(ref, None)
        if ref.actor_class.otpy_hooks or self.drains.parts:
            self.drains.forget(ref)
        more = ref.more
        if more is not None and more.has_spawned:
            self.orphans.update(dict.fromkeys(more.spawned.values()))

    def wait_idle(self, timeout: float = 10.0) -> None:
        """Wait until no actor has a message to handle or is handling one; waiting inside otpy counts as rest.

        Of what runs in processes of its own: until none of them is asked anything or being made, and nothing is left of
        those whose actors have ended, neither the process with its group nor what this program has open for it.
        What one does with casts and messages is not known here.

        Args:
            timeout: real seconds; a safety net for tests that would hang.

        Raises:
            TimeoutError: something still runs; the message says where each thread is.
        """
        wait_idle(self, timeout)

    def stop(self, reason: Reason | None = None, *, timeout: float = 30.0) -> list[Unstopped]:
        """Stop everything within one total time: what has no supervisor, then the tree, the last started first.

        Args:
            reason: the exit reason of the root; `Shutdown()` unless given.
            timeout: real seconds for all of it; what has not ended by then is killed.

        Returns:
            What had not stopped: path, thread and frame of each. Its threads may still run.

        Raises:
            DeadlockError: called by one of its own actors, which would wait for its own end.
            BlockingError: called on the event loop of another system.
        """
        if self.forked:
            return []  # the actors are those of the parent process
        seat = here()
        if seat.ref is not None and seat.ref.system is self:
            path = seat.ref.path
            raise DeadlockError(self.name, "stop", [path, self.name, path])
        seat.may_block()
        wanted = Shutdown() if reason is None else reason
        check_reason("stop", wanted)
        left = stop_all(self, wanted, timeout)
        self.close()
        return left

    async def astop(self, reason: Reason | None = None, *, timeout: float = 30.0) -> list[Unstopped]:
        """As `stop`, awaited from a coroutine on any event loop; cancelled while it waits here, it still stops."""
        asking = station().seat.ref
        if asking is not None and asking.system is self:
            raise DeadlockError(self.name, "stop", [asking.path, self.name, asking.path])
        return await aside(lambda: self.stop(reason, timeout=timeout))

    def in_flight(self) -> Flight:
        """As `otpy.in_flight()`, for threads that run no actor: `with system.in_flight():`."""
        return own_flight(self)

    def close(self) -> None:
        """End all threads of the system that can end."""
        with self.lock:
            self.stopped = True
            for name in list(self.awaited_names):
                self.tell_of_name(name)  # nobody will ever take it
        self.timers.close()
        if self.watchdog is not None:
            self.watchdog.close()
        self.pool.close()
        if self.states is not None:
            self.states.close()
        for home in list(self.threads):
            home.close()

    def missing(self, path: str) -> NoSuchActorError:
        """The error for a path that leads nowhere, with a guess what was meant."""
        return NoSuchActorError(path, hint_for_path(self, path))


def check_blocked_after(where: str, seconds: object) -> None:
    """Raise SpecError for what is no time after which a handler could be reported."""
    if not (is_number(seconds) and 0 < seconds < threading.TIMEOUT_MAX):
        raise SpecError(where, f"loop_blocked_after={safe_repr(seconds)}: seconds > 0")
