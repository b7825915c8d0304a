"""What would be late if a program were drained now: pure functions from what is published of it to findings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from otpy.core.naming import is_below
from otpy.core.seconds import in_seconds
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["Late", "Rehearsal", "Running", "Standing", "rehearse"]

SLOWEST = 3
"""Actors that are named where a stop takes too long."""


@value(kw_only=True)
class Standing:
    """One actor, as far as a drain would wait for it."""

    path: str
    """Where it is."""
    shutdown: float = 5.0
    """Seconds it gets to end; without end for most supervisors, 0 for what is killed at once."""
    is_supervisor: bool = False
    """Whether it keeps children."""
    is_dynamic: bool = False
    """Whether it stops its children all at once."""
    sealed: float | None = None
    """Of a part of otpy's own seconds that all of it takes to stop, at most, once its work is done; then what is below
    does not count one by one."""
    is_function: bool = False
    """Whether it runs for itself, as a function or an `init`, and not for a message: nobody waits for its return."""
    status: str = "idle"
    """As in a record."""
    queue: int = 0
    """Messages that wait for it."""
    pace: float | None = None
    """Messages it has begun in a second, as measured; None where nothing was measured."""
    busy: float | None = None
    """Seconds in its current message."""
    current: str = ""
    """That message."""
    waiting: str | None = None
    """Whom it waits for in the middle of it."""
    frame: str | None = None
    """Where its code is."""
    trouble: str | None = None
    """Why nothing is known of it."""
    hooks: tuple[str, ...] = ()
    """What it does in a drain: `handle_drain`, `persist`, `handle_flush`."""


@value(kw_only=True)
class Running:
    """A piece of work that a drain would wait for, of whichever part of the program."""

    path: str
    """Who does it."""
    what: str
    """What it is, as `job 17, shop.send_mail`."""
    since: float
    """Seconds it has been going on."""
    usual: float | None = None
    """Seconds that its like takes; None where nobody knows."""


@value(kw_only=True)
class Late:
    """Something that would be late, or may be."""

    level: Literal["late", "doubt"]
    """`late`: as it stands it would be. `doubt`: it may be, if it takes all the time that it is given."""
    path: str
    """Who."""
    text: str
    """Why, and where that is known the mend."""
    by: float | None = None
    """Seconds after the time it is given; without end for what never ends; None where that cannot be said."""

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@value(kw_only=True)
class Rehearsal:
    """What a drain would meet."""

    within: float
    """Seconds that it would have."""
    late: tuple[Late, ...] = ()
    """What would be late, the latest first, then what may be."""
    hooks: tuple[tuple[str, str], ...] = ()
    """Who takes part, by path, and with which hooks, as `handle_drain, persist`."""
    waits_for: float = 0.0
    """Seconds after which the work in flight is done, as far as can be foreseen."""

    @property
    def is_late(self) -> bool:
        """Whether anything would be late."""
        return any(one.level == "late" for one in self.late)


def rehearse(
    actors: Sequence[Standing],
    running: Sequence[Running],
    zombies: Sequence[tuple[str, str | None]],
    within: float,
    soft: float,
) -> Rehearsal:
    """What would be late.

    Args:
        actors: those in scope, depth first in start order.
        running: work that is known better than its actors tell; these are not judged by their messages then.
        zombies: paths of killed actors whose code still runs, and where it is.
        within: seconds for all of the drain.
        soft: seconds of them for work in flight; what is left is for state, queues and the stop.
    """
    known = {one.path for one in running}
    ends = [(_work_left(one), _about_work(one, soft)) for one in running]
    ends += [(_left(one), _about_actor(one, soft)) for one in actors if one.path not in known]
    late = [found for _, found in ends if found is not None]
    late += [_about_zombie(path, frame) for path, frame in zombies]
    lasts = max((left for left, _ in ends), default=0.0)
    late += [*_about_stop(actors, running, min(lasts, soft), within), *_about_limits(actors, within)]
    return Rehearsal(
        within=within,
        late=tuple(sorted(late, key=_rank)),
        hooks=tuple((one.path, ", ".join(one.hooks)) for one in actors if one.hooks),
        waits_for=lasts,
    )


def _rank(one: Late) -> tuple[bool, float]:
    return one.level != "late", -(one.by or 0.0)


# How long work takes.


def _work_left(one: Running) -> float:
    """Seconds a piece of work still takes: what its like takes, or as long again as it has been going on."""
    if one.usual is not None and one.usual > one.since:
        return one.usual - one.since
    return one.since


def _left(one: Standing) -> float:
    """Seconds until an actor has nothing to do, as far as can be foreseen."""
    if one.is_function or one.is_supervisor or one.status == "suspended":
        return 0.0
    own = one.busy or 0.0
    return own + _queue_time(one)


def _queue_time(one: Standing) -> float:
    """Seconds for what waits in its mailbox: by its pace, else each as long as the one it is in has taken so far."""
    if not one.queue:
        return 0.0
    if one.pace:
        return one.queue / one.pace
    return one.queue * one.busy if one.busy is not None else 0.0


# What is to be said of it.


def _about_work(one: Running, soft: float) -> Late | None:
    left = _work_left(one)
    if left <= soft:
        return None
    if one.usual is None:
        like = "nobody knows how long its like takes: as long again"
    elif one.usual > one.since:
        like = f"its like takes {_seconds(one.usual)}"
    else:
        like = f"its like takes {_seconds(one.usual)}, so that it may never end: as long again"
    text = f"{one.what} has been running for {_seconds(one.since)}, and {like}, which is {_after(left - soft)}"
    return Late(level="late", path=one.path, text=text, by=left - soft)


def _about_actor(one: Standing, soft: float) -> Late | None:
    left = _left(one)
    if one.status == "silent":
        return Late(level="late", path=one.path, text=f"nobody knows what it does: {one.trouble or 'it is silent'}")
    if one.status == "suspended" and one.queue:
        text = f"it is suspended, and {_messages(one.queue)} for it that nobody will handle: otpy resume lets it go on"
        return Late(level="late", path=one.path, text=text)
    if left <= soft:
        return None
    return Late(level="late", path=one.path, text=f"{_reason(one)}, which is {_after(left - soft)}", by=left - soft)


def _reason(one: Standing) -> str:
    """Why an actor would be late."""
    if one.pace:
        pace = f"{_messages(one.queue)}, and it takes {one.pace:.3g} of them in a second"
        return f"{pace}: {_seconds(one.queue / one.pace)} in all"
    waiting = f", where it waits for {one.waiting}" if one.waiting else ""
    frame = f", at {one.frame}" if one.frame else ""
    each = "the message" if one.queue == 1 else f"each of the {one.queue} messages"
    behind = f" for it and for {each} behind it" if one.queue else ""
    return f"it has been in {one.current} for {_seconds(one.busy or 0.0)}{waiting}{frame}: as long again{behind}"


def _about_zombie(path: str, frame: str | None) -> Late:
    where = f", at {frame}" if frame else ""
    text = f"it was killed and its code still runs{where}: the program cannot end in peace; on_stuck='process' lets it"
    return Late(level="late", path=path, text=text, by=math.inf)


def _about_stop(actors: Sequence[Standing], running: Sequence[Running], begins: float, within: float) -> Iterator[Late]:
    """What is still at work when the stop begins is waited for one after the other, each for its `shutdown` time."""
    work = {one.path: _work_left(one) for one in running}
    left = {one.path: max(0.0, work.get(one.path, _left(one)) - begins) for one in actors if not one.is_supervisor}
    own = {one.path: min(one.shutdown, left[one.path]) for one in actors if one.path in left}
    slow = [(seconds, path) for path, seconds in own.items() if seconds > 0]
    total = _stop_time(actors, own)
    if len(slow) > 1 and begins + total > within:
        text = (
            f"what would still be at work is stopped one after the other, which takes {_seconds(total)} "
            f"({_slowest(slow)}) of the {_seconds(within - begins)} that are left"
        )
        yield Late(level="late", path=actors[0].path, text=text, by=begins + total - within)


def _about_limits(actors: Sequence[Standing], within: float) -> Iterator[Late]:
    """`shutdown` times that add up to more than there is: nothing is late yet, and all of it may be."""
    known = _sealed(actors)
    own = {one.path: one.shutdown for one in known if not one.is_supervisor}
    total = _stop_time(known, own)
    if total > within:
        most = _slowest([(seconds, path) for path, seconds in own.items()])
        text = (
            f"if each took all of its shutdown time, that would be {_seconds(total)} of {_seconds(within)}; most of it "
            f"is for {most}: lower their shutdown, or give the program more"
        )
        yield Late(level="doubt", path=actors[0].path, text=text, by=total - within)


def _sealed(actors: Sequence[Standing]) -> list[Standing]:
    """The actors with each part of otpy's own as one, which takes as long as that."""
    known: list[Standing] = []
    inside = ""
    for one in actors:  # what is below comes after
        if inside and is_below(one.path, inside):
            continue
        inside = "" if one.sealed is None else one.path
        known.append(one if one.sealed is None else replace(one, is_supervisor=False, shutdown=one.sealed))
    return known


def _stop_time(actors: Sequence[Standing], own: dict[str, float]) -> float:
    """Seconds for a stop, when each worker takes its own: of ordered children the sum, of dynamic ones the longest."""
    below: dict[str, list[float]] = {}  # by the path above
    for one in reversed(actors):  # children come after their parents
        times = below.pop(one.path, [])
        if one.is_supervisor:
            seconds = min(one.shutdown, max(times, default=0.0) if one.is_dynamic else sum(times))
        else:
            seconds = own[one.path] + sum(times)
        below.setdefault(one.path.rpartition("/")[0], []).append(seconds)
    return sum(seconds for times in below.values() for seconds in times)


# Words.


def _slowest(times: Iterable[tuple[float, str]]) -> str:
    ranked = sorted(times, key=lambda one: -one[0])
    shown = ", ".join(f"{path} {_seconds(seconds)}" for seconds, path in ranked[:SLOWEST])
    return shown + (f" and {len(ranked) - SLOWEST} more" if len(ranked) > SLOWEST else "")


def _messages(number: int) -> str:
    return "a message waits" if number == 1 else f"{number} messages wait"


def _after(seconds: float) -> str:
    return f"{_seconds(seconds)} too late"


def _seconds(seconds: float) -> str:
    return "for ever" if seconds == math.inf else f"{in_seconds(seconds)}"
