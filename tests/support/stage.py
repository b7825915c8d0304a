"""A stage for tests that hold in every place: the places, who is started in them, and how a test speaks to those."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import otpy
from otpy.runtime.records import kept_by
from otpy.testing.arrivals import PATIENCE, Arrivals
from support import deeds
from support.players import AsyncPlayer, Keeper, Log, Player
from support.steps import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "BOOM",
    "KINDS",
    "PLACES",
    "Barrier",
    "Notes",
    "Place",
    "Stage",
    "do",
    "ends",
    "one_of",
    "run",
    "seen",
    "tell_to",
]

T = TypeVar("T")

BOOM = otpy.Exit("boom")


@dataclass(frozen=True, slots=True)
class Place:
    """Where actors run, and what is different there."""

    name: str
    cls: type[Player] = Player
    kill_leaves_zombie: bool = False
    """A kill cannot reach code that is stuck: it is listed until it ends."""
    kill_closes: bool = True
    """What a killed one used is closed."""
    knows_late: bool = True
    """Who answers a caller that no longer waits is told so."""
    starts: tuple[str, ...] = ("pool", "thread", "loop", "process")
    """Where those run that it starts itself."""
    where: Any = None
    """The place as a spec has it, if that is not its name."""

    def __str__(self) -> str:
        return self.name


PLACES = [
    Place("pool", kill_leaves_zombie=True),
    Place("thread", kill_leaves_zombie=True),
    Place("loop", AsyncPlayer),
    # Its own children could run in processes of theirs, but that takes a helper of its own each time, and seconds.
    Place("process", kill_closes=False, knows_late=False, starts=("pool", "thread", "loop")),
]
KINDS = [*PLACES, replace(PLACES[3], name="async-process", cls=AsyncPlayer, where="process")]
"""Those, and what one of them has two kinds of."""


def one_of(choices: Sequence[T], one: Place, other: Place) -> T:
    """One of several for each pair of places, so that each place has all of them with some other; for speed."""
    return choices[(PLACES.index(one) + PLACES.index(other)) % len(choices)]


class Notes:
    """What actors of any place have noted, in the order in which it came."""

    def __init__(self, system: otpy.System) -> None:
        self._entries: Arrivals[Any] = Arrivals()
        self.ref = system.start(otpy.child(Log, self._entries).opts(id="log"))

    def so_far(self) -> list[Any]:
        """All that has come; what was noted before by those who have answered since is there."""
        return self.ref.call(Log.flush)

    def expect(self, count: int) -> list[Any]:
        """The first of them, as soon as there are so many."""
        return self._entries.wait(count, PATIENCE)


class Barrier:
    """A gate for actors of any place, closed at first."""

    def __init__(self, system: otpy.System) -> None:
        self._arrivals: Arrivals[str] = Arrivals()
        self.ref = system.start(otpy.child(Keeper, self._arrivals).opts(id="gate"))

    def reached(self, count: int = 1) -> list[str]:
        """Wait until so many are here; who they are."""
        return self._arrivals.wait(count, PATIENCE)

    def open(self) -> None:
        """Let all go on, and let through who comes later."""
        self.ref.call(Keeper.open)


class Stage:
    """One test's actors."""

    def __init__(self, system: otpy.System, resting: dict[str, list[otpy.Ref[Any]]]) -> None:
        self.system = system
        self._resting = resting
        self._plain: list[tuple[otpy.Ref[Any], list[otpy.Ref[Any]]]] = []
        self._barriers: list[Barrier] = []

    def spec(
        self, place: Place, *args: Any, log: Notes | None = None, traps: bool = False, **options: Any
    ) -> otpy.ChildSpec:
        """The spec of an actor in a place, which does a deed in its `init` if it was given one."""
        words: dict[str, Any] = {"traps": True} if traps else {}
        if log is not None:
            words["log"] = log.ref
        made = otpy.child(place.cls, *map(named, args), **words)
        return made.opts(place=place.where or place.name, **{"id": "a", **options})

    def start(self, place: Place, *args: Any, **words: Any) -> otpy.Ref[Any]:
        """Start one, beside the tree; one without wishes may have served another test, and is as new."""
        if args or words:
            return self.system.start(self.spec(place, *args, **words))
        resting = self._resting.setdefault(place.name, [])
        ref = resting.pop() if resting else self.system.start(self.spec(place))
        self._plain.append((ref, resting))
        return ref

    def notes(self) -> Notes:
        return Notes(self.system)

    def barrier(self) -> Barrier:
        """A gate that is open at the end of the test."""
        self._barriers.append(Barrier(self.system))
        return self._barriers[-1]

    def close(self) -> None:
        """End everybody, but for those who can serve another test."""
        deeds.RELEASE.set()
        for barrier in self._barriers:
            if barrier.ref.is_alive():
                barrier.open()
        plain, self._plain = self._plain, []
        for ref, resting in plain:
            if ref.is_alive() and _is_as_new(ref):
                resting.append(ref)
        keep = {ref for resting in self._resting.values() for ref in resting}
        left = [ref for ref in self._all() if ref not in keep]
        monitors = [ref.monitor() for ref in left]
        for ref in left:
            ref.kill()
        for monitor in monitors:
            monitor.wait()
        self.system.wait_idle()
        deeds.RELEASE.clear()

    def _all(self) -> list[otpy.Ref[Any]]:
        """All who are alive in this process; those below others come after these."""
        found = [*self.system.tops.values(), *self.system.orphans]
        for ref in found:
            found += kept_by(ref)
        return found


def _is_as_new(ref: otpy.Ref[Any]) -> bool:
    try:
        return bool(ref.within(1.0).call(Player.reset))
    except otpy.OtpyError:
        return False


def do(ref: Any, deed: Callable[..., Any], *args: Any, seconds: float | None = 5.0) -> Any:
    """Have an actor do a deed; what it returns."""
    return ref.within(seconds).call(Player.do, *map(named, (deed, *args)))


def run(ref: Any, deed: Callable[..., Any], *args: Any) -> None:
    """Have an actor do a deed, and do not wait for it."""
    ref.cast(Player.run, *map(named, (deed, *args)))


def tell_to(ref: Any, deed: Callable[..., Any], *args: Any) -> None:
    """The same by a message."""
    ref.tell(("do", *map(named, (deed, *args))))


def seen(ref: Any, count: int = 0) -> list[Any]:
    """What an actor has heard: of all that was sent before, and as soon as it is so much."""
    return ref.call(Player.read, count)  # type: ignore[no-any-return]


def ends(ref: Any, act: Callable[[], object]) -> otpy.Reason:
    """The reason with which an actor ends when this is done."""
    monitor = ref.monitor()
    act()
    reason: otpy.Reason = monitor.wait().reason
    return reason
