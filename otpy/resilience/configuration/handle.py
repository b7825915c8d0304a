"""`Configuration`: the handle of a configuration, from which any thread or task reads what is in use."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from otpy.actors.keeping import refuse_second
from otpy.actors.supervisor import Supervisor
from otpy.core.backoff import Backoff
from otpy.core.reason import NoProc
from otpy.core.spec import ChildSpec, child
from otpy.core.text import safe_repr
from otpy.errors import NoProcError, SpecError
from otpy.resilience.configuration.age import moments
from otpy.resilience.configuration.folder import Folder
from otpy.resilience.configuration.keeper import Keeper
from otpy.resilience.configuration.plan import NONE, ConfigurationLook, Plan
from otpy.resilience.configuration.standing import Standing
from otpy.resilience.errand import Staff, hands_of
from otpy.resilience.errors import NoConfigurationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import NoReturn

    from otpy.core.clock import Clock
    from otpy.resilience.autonomy.handle import Autonomy
    from otpy.resilience.configuration.age import Moment
    from otpy.resilience.configuration.document import Document
    from otpy.resilience.configuration.plan import Current, Expired
    from otpy.runtime.ref import Ref

__all__ = ["Configuration"]

T = TypeVar("T")

PAUSES = Backoff(first=1.0, most=60.0)
"""A second, then twice as long each time, up to a minute; with full jitter."""


class Configuration(Generic[T]):
    """Last-known-good configuration: fetched from a hub, verified, kept on the disk, applied; given up when it fails.

    Make one where its functions are, and put `limits.child()` into the tree, before the actors that need it: when these
    start, `limits.current()` is there, also without the hub.

    Args:
        name: for people: in errors, events and the tree.
        folder: where it is kept, on a local disk. One configuration alone can have it open.
        fetch: asks the hub. Gets the version in use, or None, and returns a `Document`, or None when there is nothing
            newer. This and the functions after `signed` may be coroutine functions.
        check: gets the data of a document and returns what `current` gives out; anything it raises refuses it. A plain
            function that looks at nothing else. Without one, that is the data as it is.
        signed: gets a document; it is refused when this raises or returns False. As plain as `check`.
        canary: gets what `check` has returned, tries it out, and refuses it by raising or by returning False.
        apply: gets it when it is about to be used: a new one, and the one that is kept at each start.
        healthy: whether the agent works with it; asked while it is on trial. It fails when this raises or returns
            False.
        default: one to begin with before the first was fetched. Kept nowhere.
        every: seconds between two fetches; drawn from a tenth less to a tenth more.
        timeout: seconds after which a call of one of these functions has failed.
        startup: seconds after which the agent has survived a configuration. One that it has not survived twice is
            skipped, and never applied again.
        good_after: seconds after which one is good: from then on the next one falls back to it.
        health_every: seconds between two calls of `healthy`.
        max_age: seconds since the hub last said that it is current, after which it is too old; None: never.
        expired: what happens then: `serve_stale` tells of it and goes on; `degrade` degrades `autonomy` as well; `stop`
            gives none out any more and ends its actors, of which their supervisor makes what it does of any failure.
        backoff: the pauses after fetches that failed; with full jitter unless it says otherwise.
        autonomy: what is degraded while it is too old.

    Raises:
        SpecError: the options cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        folder: str | Path,
        *,
        fetch: Callable[[int | None], Document | Awaitable[Document | None] | None],
        check: Callable[[Any], T] | None = None,
        signed: Callable[[Document], object] | None = None,
        canary: Callable[[T], object] | None = None,
        apply: Callable[[T], object] | None = None,
        healthy: Callable[[], object] | None = None,
        default: Document | None = None,
        every: float = 60.0,
        timeout: float = 30.0,
        startup: float = 30.0,
        good_after: float = 300.0,
        health_every: float = 10.0,
        max_age: float | None = None,
        expired: Expired = "serve_stale",
        backoff: Backoff = PAUSES,
        autonomy: Autonomy | None = None,
    ) -> None:
        """Make it; nothing runs yet, and no folder is opened."""
        try:
            whole = str(Path(folder).absolute())
        except TypeError:
            raise SpecError(str(name), f"folder={safe_repr(folder)}: that of a folder") from None
        self.plan = Plan(
            name=name,
            folder=whole,
            fetch=fetch,
            check=check,
            signed=signed,
            canary=canary,
            apply=apply,
            healthy=healthy,
            default=default,
            every=every,
            timeout=timeout,
            startup=startup,
            good_after=good_after,
            health_every=health_every,
            max_age=max_age,
            expired=expired,
            backoff=backoff,
            autonomy=autonomy,
        )
        self.staff: Staff = {}
        self.standing = Standing(name)
        self.moments: Callable[[Clock], Callable[[], Moment]] = moments
        self.counted: int | None = None
        """The version whose trial this program has counted on the disk, and not taken back."""
        self.has_started = False
        """Whether it was ever given out in this program."""
        self._current: Current = NONE
        self._lock = threading.Lock()  # guards who keeps it
        self._keeper: Ref[Keeper] | None = None
        self._folder: Folder | None = None

    # What users call.

    @property
    def name(self) -> str:
        """As it was made."""
        return self.plan.name

    def child(self) -> ChildSpec:
        """The spec of the actors that keep it, for the tree of the program that uses it; before those that need it.

        Their start loads what is kept. Only where nothing is, and there is no default, it waits for the hub, for two
        times `timeout` at most; and fails when that has none either.
        """
        return child(ConfigurationTree, self).opts(id=self.plan.name)

    def current(self) -> T:
        """What is in use. Any thread may ask; it asks no actor, and waits for none.

        Raises:
            NoConfigurationError: there is none: no actor has ever kept it, or it is too old and `expired` is `stop`.
        """
        current = self._current
        if current.version is None:
            why = self.standing.why or "its actors have not been started"
            raise NoConfigurationError(f"configuration {self.plan.name!r}: there is none ({why})")
        return cast("T", current.value)

    @property
    def version(self) -> int | None:
        """The version in use; None: there is none."""
        return self._current.version

    def look(self) -> ConfigurationLook:
        """How it stands now. Any thread may ask; it asks no actor, and waits for none."""
        current, standing, keeper = self._current, self.standing, self._keeper
        age, since, most = standing.age(), standing.since, self.plan.max_age
        now = 0.0 if keeper is None else keeper.system.clock.now()
        return ConfigurationLook(
            version=current.version,
            state=current.state,
            age=age,
            is_expired=most is not None and age is not None and age > most,
            fallback=current.fallback,
            failed=current.failed,
            degraded=None if since is None else max(0.0, now - since),
            why=standing.why,
        )

    def refresh(self, timeout: float | None = 60.0) -> int:
        """Ask the hub now; gives the version that is in use when that is done. One call serves all who wait.

        Raises:
            ConfigurationError: nothing came, or what came was refused or has failed; the message says why.
            CallTimeoutError: not within `timeout` seconds; None waits as long as it takes.
            NoProcError: no actor keeps it.
        """
        version: int = self._kept("refresh").within(timeout).call(Keeper.refresh)
        return version

    async def arefresh(self, timeout: float | None = 60.0) -> int:
        """As `refresh`, awaited."""
        return await self._kept("refresh").within(timeout).acall(Keeper.refresh)

    def reject(self, why: str, version: int | None = None) -> None:
        """The version in use does not work: the one before is in use when this returns, and it is never applied again.

        Args:
            why: in words.
            version: which does not work; nothing happens when another one is in use by now.

        Raises:
            NoProcError: no actor keeps it.
        """
        self._kept("reject").call(Keeper.reject, why, version)

    async def areject(self, why: str, version: int | None = None) -> None:
        """As `reject`, awaited."""
        await self._kept("reject").acall(Keeper.reject, why, version)

    def __reduce__(self) -> NoReturn:
        text = f"configuration {self.plan.name!r} stays in its process: hand on what `current()` gives"
        raise TypeError(text)

    def __repr__(self) -> str:
        words = ", ".join(filter(None, (self.words(), self.in_the_way())))
        return f"<Configuration {self.name} {words}>"

    # What its actor does with it.

    def words(self) -> str:
        """How it stands, in short."""
        look = self.look()
        parts = ["none" if look.version is None else f"version {look.version} ({look.state})"]
        if look.age is not None:
            parts.append(f"{look.age:.0f} s old")
        return ", ".join(parts)

    def in_the_way(self) -> str | None:
        """What is the matter with it; None when nothing is."""
        look = self.look()
        return None if look.degraded is None else f"degraded {look.degraded:.0f} s: {look.why}"

    def publish(self, keeper: Ref[Keeper], current: Current) -> None:
        """Have this in use from now on, if it is still kept by this one."""
        with self._lock:
            if self._keeper is keeper:
                self._current = current
                self.standing.version = current.version

    def keep(self, keeper: Ref[Keeper]) -> Folder:
        """Be kept by an actor, which gets its folder; an incarnation whose code still runs writes nothing any more.

        Raises:
            NameTakenError: another actor keeps it.
            ConfigurationFileError: the folder cannot be used.
        """
        with self._lock:
            refuse_second(self._keeper, keeper, f"configuration {self.name}")
            lock = None if self._folder is None else self._folder.hand_over()
            self._folder = Folder(self.plan.folder, lock=lock)
            self._keeper = keeper
            return self._folder

    def release(self, keeper: Ref[Keeper]) -> None:
        """Be kept by nobody, if it still is by this one. What was in use stays so."""
        with self._lock:
            if self._keeper is keeper and self._folder is not None:
                self._keeper = None
                self._folder.close()

    def _kept(self, what: str) -> Ref[Keeper]:
        keeper = self._keeper
        if keeper is None or not keeper.is_alive():
            raise NoProcError(f"configuration {self.name!r}", what, NoProc())
        return keeper


class ConfigurationTree(Supervisor):
    """Who calls the functions, and who keeps the folder: in this order, for the last one uses the others."""

    def init(self, configuration: Configuration[Any]) -> None:
        """Of this configuration."""
        self._configuration = configuration

    def children(self) -> list[ChildSpec]:
        """In start order."""
        configuration = self._configuration
        hands = hands_of(configuration.plan.functions(), configuration.staff)
        return [*hands, child(Keeper, configuration).opts(id="configuration")]
