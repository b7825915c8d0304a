"""`singleton`: a child that exists once in all programs that share a store, under a name of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from otpy.actors.children import Entry
from otpy.actors.declared import check_children
from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.supervisor import Supervisor
from otpy.core.intensity import Window
from otpy.core.spec import INFINITY, ChildSpec, Name, child
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.events.names import NameHeld, NameLost, NameResigned
from otpy.jobs.awake import Awake
from otpy.jobs.candidate import BRIEF, LEAVE, Candidate, Terms, another_active
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.declared import is_seconds, is_text
from otpy.jobs.errors import NoEngineError
from otpy.jobs.looking import engine_at
from otpy.jobs.model.lead import SHARED, Fence
from otpy.jobs.setup import AGAIN, MARGIN, RENEW, trusted
from otpy.jobs.steward import Steward
from otpy.jobs.writer import Writer
from otpy.runtime.spawn import actor_class

if TYPE_CHECKING:
    from otpy.core.strategy import Strategy
    from otpy.events.event import Event
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Singleton", "singleton"]

A = TypeVar("A")

Made: TypeAlias = ChildSpec | Callable[[Fence], ChildSpec]
"""What exists once: its spec, or what makes it of the epoch under which it begins."""

LOOK, OFTEN = 1.0, 1 / 15
"""Seconds between two looks of who stands by, at most, and the part of a lease that may be less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What there is to hold, as it was declared."""

    name: str
    engine: str
    made: Made = field(repr=False)
    lease: float
    stop: float
    """Seconds that the child has to end."""
    max_restarts: int
    max_seconds: float

    def spec(self, fence: Fence) -> ChildSpec:
        """What begins under this epoch. Its `init`, too, must be over while the name is trusted to be held.

        A child that is not to be started again gives the name back with its end.
        """
        spec = _spec(self.name, self.made, fence)
        given, most = spec.options.start_timeout, trusted(self.lease) - self.stop
        spec = spec.opts(start_timeout=most if given is None else min(given, most))
        return spec if spec.options.restart == "permanent" else spec.opts(significant=True)

    def actor(self, cls: type[A], role: str) -> Name[A]:
        """The name of one of its actors."""
        return Name(f"{self.engine}/{SHARED}{self.name}/{role}", cls)

    @property
    def end(self) -> float:
        """Seconds after which the child has ended, or was killed."""
        return self.stop + self.lease * MARGIN / 2

    @property
    def leave(self) -> float:
        """Seconds after which the name is given back as well."""
        return self.end + LEAVE


class Singleton(Supervisor):
    """Where a name's child runs while this program holds the name, and who takes part in its election."""

    strategy: Strategy = "rest_for_one"

    def init(self, post: Post) -> None:
        """Of this one."""
        self.post = post
        # A part around the child that fails again and again takes that long each time: in less it is never too often.
        self.max_seconds = max(self.max_seconds, 2 * post.leave)

    @classmethod
    def declares_by_itself(cls) -> bool:
        """Its `init` keeps what it is given."""
        return True

    @classmethod
    def check_declared(cls, path: str, spec: ChildSpec, names: dict[str, str]) -> None:
        """Refuse what is declared for the name, before anything starts. Raises SpecError."""
        post: Post = spec.args[0]  # type: ignore[assignment]  # `singleton` made it
        check_children(path, [post.spec(_never(post.name))], auto_shutdown="any_significant", names=names, below=True)

    def children(self) -> list[ChildSpec]:
        """In start order; the candidate ends the child before it gives the name back."""
        post = self.post
        held, candidate = post.actor(DynamicSupervisor, "held"), post.actor(Holder, "candidate")
        return [
            dynamic(child(Incarnation, post), max_restarts=0).opts(id="held", name=held),
            child(Steward, "its child", held, candidate).opts(
                id="steward", name=post.actor(Steward, "steward"), shutdown=BRIEF
            ),
            child(Holder, post).opts(id="candidate", name=candidate, shutdown=post.leave),
        ]


class Incarnation(Supervisor):
    """Keeps the child while the name is held; it ends when the child fails beyond its limit, and then the name is free.

    A child that is started again is of the same epoch.
    """

    def init(self, post: Post, fence: Fence | None = None) -> None:
        """Under this epoch; without one it only says what it would declare."""
        self.spec = post.spec(fence or _never(post.name))
        self.auto_shutdown = "any_significant" if self.spec.options.significant else "never"
        self.max_restarts, self.max_seconds = post.max_restarts, post.max_seconds

    @classmethod
    def declares_by_itself(cls) -> bool:
        """Its `init` keeps what it is given."""
        return True

    def children(self) -> list[ChildSpec]:
        """The one that exists once."""
        return [self.spec]


class Holder(Candidate):
    """The candidate for a name."""

    def init(self, post: Post) -> None:
        """Hold nothing, and look at once whether anybody does."""
        self.post = post
        self.awake = Awake(math.inf)
        self.setup: Setup | None = None
        poll = min(LOOK, post.lease * OFTEN)
        terms = Terms(name=SHARED + post.name, lease=post.lease, poll=poll, stop=post.stop)
        self.stand(terms, Name(f"{post.engine}/writer", Writer), post.actor(Steward, "steward"))

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows who holds the name."""
        return f"Holder of epoch {self.epoch}" if getattr(self, "is_leader", False) else "Holder, standing by"

    def now(self) -> int:
        """The engine's."""
        if self.setup is None:
            raise NoEngineError(self.post.engine)
        return self.setup.now()

    def waking(self) -> None:
        """Find the engine. A clock that was set says nothing of who holds the name: for a lease nobody new does."""
        engine = engine_at(self.system, self.post.engine)
        self.setup = None if engine is None else engine.setup
        if not self.awake.look(self.clock(), self.now()):
            self.not_before = self.clock() + self.post.lease

    def barred(self, tx: Transaction) -> str | None:
        """Where another version is active its programs hold the names."""
        return None if self.setup is None else another_active(tx, self.setup.version)

    def duties(self, fence: Fence) -> ChildSpec:
        """The child, under its supervisor."""
        own = Fence(name=self.post.name, epoch=fence.epoch)
        return child(Incarnation, self.post, own).opts(shutdown=self.post.end)

    def elected(self, fence: Fence) -> Event:
        """It holds the name."""
        return NameHeld(path=self.ref.path, name=self.post.name, epoch=fence.epoch)

    def lost(self, fence: Fence, why: str) -> Event:
        """It could not any longer."""
        return NameLost(path=self.ref.path, name=self.post.name, epoch=fence.epoch, why=why)

    def resigned(self, fence: Fence, why: str, *, is_well: bool) -> Event:
        """It lets another one."""
        return NameResigned(path=self.ref.path, name=self.post.name, epoch=fence.epoch, why=why, is_well=is_well)


def singleton(
    name: str,
    made: Made,
    *,
    engine: str = "jobs",
    lease: float = 15.0,
    max_restarts: int = 3,
    max_seconds: float | None = None,
) -> ChildSpec:
    """A child that exists once in all programs that share the engine's store, whichever of them that is.

    Each of the programs declares it, behind its engine. They elect who holds the name, and that one starts the child.
    It stops it when the store has not let it hold the name any longer, and before the time is over that it was granted
    last, by its own monotonic clock. When it ends, it gives the name back, and the next one takes over at once. A
    program that is gone is followed after a lease. Each election has an epoch of its own, one more than any before:
    what is written under an older one is refused (`Client.under`), for code may go on that should have stopped.

    A child that fails beyond its restarts gives the name back, and so does one with `restart` other than `permanent`
    that ends by itself; this program stands for it again after a pause, which grows.

    Args:
        name: what the programs share; the child's id in the tree.
        made: the child, or a function that makes it of a `Fence`, the name's epoch under which it begins. Such a
            function is also called with epoch 0, for a look at what it makes. Its `shutdown` may not be without end,
            and its `init` must be over while the name is held.
        engine: the name of the engine in whose store the name is.
        lease: seconds after which a program that is not heard of holds the name no longer. A tenth of them, and what
            the child may take to stop, are not used; a third lie between two renewals. What is left is the outage of
            the store that changes nothing.
        max_restarts: of the child, within `max_seconds`, before the name is given back.
        max_seconds: the window, in seconds; None means a lease, which is longer than an `init` may hang.

    Raises:
        SpecError: options that cannot work.

    OTP: a `gen_server` under `{global, Name}`. Differs: no message travels between programs.
    """
    for what, value in (("name", name), ("engine", engine)):
        if not is_text(value):
            raise SpecError("singleton", f"{what}={safe_repr(value)}: a text")
    if not is_seconds(lease):
        raise SpecError(name, f"lease={safe_repr(lease)}: seconds > 0, and less than {MOST_SECONDS:g}")
    window = lease if max_seconds is None else max_seconds
    problem = Window(max_restarts, window).problem()
    if problem is not None:
        raise SpecError(name, problem)
    post = Post(
        name=name,
        engine=engine,
        made=made,
        lease=lease,
        stop=_stop(name, _spec(name, made, _never(name)), lease),
        max_restarts=max_restarts,
        max_seconds=window,
    )
    return child(Singleton, post).opts(id=name)


def _never(name: str) -> Fence:
    """An epoch that no election has."""
    return Fence(name=name, epoch=0)


def _spec(name: str, made: Made, fence: Fence) -> ChildSpec:
    """What is made under this epoch, as the user says it. Raises SpecError."""
    spec: object = made
    if callable(made) and not isinstance(made, type):
        spec = made(fence)
    if not isinstance(spec, ChildSpec):
        raise SpecError(name, f"{safe_repr(spec)}: otpy.child(…), or a function that makes that of an epoch")
    return spec


def _stop(name: str, spec: ChildSpec, lease: float) -> float:
    """Seconds that the child has to end, and that must fit into the lease. Raises SpecError."""
    cls = actor_class(spec.id, spec.start, spec.options.place, spec.options.loop)
    stop = max(0.0, Entry(spec, cls).shutdown)
    if stop == INFINITY:
        why = "it must have ended before another program may begin it: say how long that takes, .opts(shutdown=…)"
        raise SpecError(f"{name}/{spec.id}", why)
    left = lease * (1 - MARGIN - RENEW - 2 * AGAIN)
    if stop >= left:
        raise SpecError(name, f"lease={lease:g}: of these it has {left:.3g} s to stop, and takes {stop:g} (shutdown)")
    return stop
