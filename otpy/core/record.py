"""What the inspector publishes of an actor: plain data, safe to send anywhere."""

from __future__ import annotations

from otpy.core.value import value

__all__ = ["ActorRecord", "DrainRecord", "LateRecord", "MailboxRecord", "ProcessRecord", "StateRecord"]


@value(kw_only=True)
class ProcessRecord:
    """The process of a process child, as the kernel sees it."""

    pid: int
    """Its process id; 0 while it is being started."""
    memory_bytes: int = 0
    """What it holds in memory, with what it shares with others."""
    cpu: float = 0.0
    """Seconds of CPU time it has used."""
    limits: tuple[str, ...] = ()
    """What its spec allows it, as `memory 512 MiB`."""
    problem: str | None = None
    """Why nothing is known of its inside: it does not answer."""


@value(kw_only=True)
class ActorRecord:
    """One actor, or one child without a process, as it was when the record was made."""

    path: str
    """Ids joined by `/`, as `shop/feed/17`."""
    id: str
    """The last part of the path."""
    kind: str
    """The class or function it runs."""
    type: str
    """`worker` or `supervisor`."""
    status: str
    """`starting`, `idle`, `running`, `suspended`, `stopping`, `zombie`, `restarting`,
    `stopped`, `failed`: given up by a limit of its own, or `silent`: its process does not answer."""
    place: str
    """`pool`, `thread`, `loop` or `process`."""
    number: int
    """Which incarnation, counted over all actors that its system has started; 0 when there is no process."""
    name: str | None
    """The registered name."""
    uptime: float
    """Seconds since this incarnation started."""
    restarts: int
    """How often its supervisor has started it again."""
    queue: int
    """Messages waiting."""
    busy: float | None
    """Seconds in the current message, in steps of 10 ms, on a thread of its own of 1 s; None when idle."""
    current: str | None
    """The current message, as `cast put`, `call get`, `info`, `init`."""
    thread: str | None
    """The OS thread that runs it now."""
    strategy: str | None
    """A supervisor's strategy."""
    children: int
    """How many children a supervisor has."""
    trap_exit: bool
    """Whether exit signals reach it as messages."""
    links: tuple[str, ...]
    """Paths of linked actors."""
    monitors: int
    """How many watch it."""
    resources: tuple[str, ...]
    """What it holds through `self.use` and `self.ause`."""
    last_exit: str | None
    """Why the previous incarnation ended."""
    next_start: float | None = None
    """Seconds until its supervisor makes the next attempt to start it; None unless it has a back-off and waits."""
    suspended: float | None = None
    """Seconds since it was suspended; None when it is not."""
    waiting: str | None = None
    """Whom it waits for in the middle of its message, as `shop/db in call get`; None when it does not."""
    trouble: str | None = None
    """What is wrong with where it runs, as `silent for 12 s: it is stopped (T)`, or with what it is for."""
    copes: bool = False
    """Whether it gets along by itself with its trouble, as an outbox that keeps rows while its receiver is away."""
    handlers: int = 0
    """Handlers in flight, of an actor that may have several."""
    max_concurrency: int = 1
    """How many it may have."""
    timers: int = 0
    """Timers that will send it something."""
    saved: float | None = None
    """Seconds since what it persists was written; None when nothing is."""
    process: ProcessRecord | None = None
    """Its process, if it has one of its own."""


@value(kw_only=True)
class StateRecord:
    """What an actor holds, as it told in its own turn; or why it did not tell."""

    path: str
    """Whose."""
    status: str
    """As in `ActorRecord`."""
    state: tuple[str, ...] = ()
    """Its public attributes, as `name = value`: bounded, without what is named like a secret or hidden by `redact`."""
    problem: str | None = None
    """Why there is no state: it has no process, or what it has been busy with; None when it told."""
    stack: str | None = None
    """Its Python stack, when it was busy."""


@value(kw_only=True)
class MailboxRecord:
    """What waits in a mailbox, by kind alone."""

    path: str
    """Whose."""
    status: str
    """As in `ActorRecord`."""
    length: int
    """How many messages wait."""
    messages: tuple[str, ...] = ()
    """The first of them, the next one first, as `cast put`, `call get from shop/web`, `info`; never what they hold."""
    doing: str | None = None
    """What the actor does at this moment; None without a process."""


@value(kw_only=True)
class LateRecord:
    """Somebody who is not done in a drain, or has failed in it."""

    path: str
    """Whose."""
    why: str
    """What is not done, in words."""
    thread: str | None = None
    """The OS thread that runs its code."""
    frame: str | None = None
    """Where that code is."""
    names: tuple[str, ...] = ()
    """What it says is in flight."""


@value(kw_only=True)
class DrainRecord:
    """How far the part of a program that runs in a process of its own has drained."""

    has_returned: bool
    """Whether all that were asked have returned."""
    is_done: bool
    """Whether they are done."""
    is_at_rest: bool
    """Whether nothing is in flight, and no message waits or is being handled."""
    in_flight: int
    """How many things somebody says are in flight."""
    queue: int
    """Messages that wait."""
    resources: int
    """What its actors have opened."""
    late: tuple[LateRecord, ...]
    """Who is not done, the first of them."""
    failed: tuple[LateRecord, ...]
    """Who has failed, the first of them."""
