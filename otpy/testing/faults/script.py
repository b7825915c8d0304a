"""`Script`: which faults fire where, drawn from a seed; `armed`: for how long."""

from __future__ import annotations

import json
import logging
import os
import threading
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from otpy.core.number import is_number
from otpy.core.points import OWN, unwatch, watch
from otpy.core.suggest import nearest
from otpy.core.text import safe_repr
from otpy.runtime.seat import here
from otpy.testing.errors import FaultError, FaultNotFiredError
from otpy.testing.faults.holding import Holding
from otpy.testing.faults.kinds import Fault, Met

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.points import Medium

__all__ = ["Firing", "Script", "arm", "armed", "fired_in"]

log = logging.getLogger("otpy.faults")

WRITTEN = ("file", "outbox.commit", "jobs.commit", "state.commit")
"""The points of otpy's own at which something is about to be written."""


@dataclass(frozen=True, slots=True)
class Firing:
    """One fault that has fired."""

    point: str
    fault: str
    """What it was: the name of the function that made it."""
    number: int
    """How often somebody had come by that point, this time included."""
    path: str | None
    """The actor that came by; None outside of actors."""
    pid: int
    """The process in which it was."""


@dataclass(slots=True)
class _Rule:
    point: str
    fault: Fault
    chance: float
    after: int
    times: int | None
    random: Random
    fired: int = 0

    def fires(self, number: int) -> bool:
        """Whether this is the time; draws each time, so that what another rule does changes nothing."""
        is_drawn = self.random.random() < self.chance
        return is_drawn and number > self.after and (self.times is None or self.fired < self.times)


@dataclass(slots=True)
class _Passes:
    count: int = 0
    rules: list[_Rule] = field(default_factory=list)


class Script:
    """Faults, each at a named point.

    Of each point the passes are counted, whoever comes by. Whether a fault fires is drawn from the seed, the point and
    that count alone: the same seed fires at the same passes, whatever else threads do in between.
    """

    def __init__(self, seed: int = 0, *, record: str | os.PathLike[str] | None = None) -> None:
        """Make one without faults.

        Args:
            seed: what chance is drawn from.
            record: a file to which each firing is appended before it acts; `fired_in` reads it. So a killed program
                can be asked what has killed it.

        Raises:
            FaultError: the record can be no file.
        """
        self.seed = seed
        self._record = None if record is None else _checked(record)
        self._depth = 0
        self._lock = threading.RLock()  # guards what follows
        self._points: dict[str, _Passes] = {}
        self._fired: list[Firing] = []
        self._holding = Holding()

    def at(self, point: str, fault: Fault, *, chance: float = 1.0, after: int = 0, times: int | None = 1) -> Script:
        """Have a fault fire at a point; returns this script, so that several can be chained.

        Where several are armed at one point, the first whose time it is fires alone.

        Args:
            point: its name; those of otpy itself are listed in the reference.
            fault: what befalls who comes by.
            chance: of each pass to be one at which it fires.
            after: so many passes are let through first.
            times: how often it fires at most; None: each time.

        Raises:
            FaultError: it cannot be armed so.
        """
        _check(point, fault, chance, after, times)
        with self._lock:
            passes = self._points.setdefault(point, _Passes())
            random = Random(f"{self.seed} {point} {len(passes.rules)}")
            passes.rules.append(_Rule(point, fault, chance, after, times, random))
        return self

    @property
    def fired(self) -> tuple[Firing, ...]:
        """What has fired in this process, in order."""
        with self._lock:
            return tuple(self._fired)

    def passed(self, point: str) -> int:
        """How often somebody has come by a point while the script was armed, whatever fired."""
        with self._lock:
            return self._points[point].count if point in self._points else 0

    def release(self) -> None:
        """Let all go on that `hang` holds now; from any thread."""
        self._holding.release()

    def assert_fired(self) -> None:
        """Have the test fail when a fault never fired: it has shown nothing of it.

        Raises:
            FaultNotFiredError: with each of them, and how often somebody came by.
        """
        with self._lock:
            missing = [rule for passes in self._points.values() for rule in passes.rules if not rule.fired]
            problems = [self._problem(rule) for rule in missing]
        if problems:
            raise FaultNotFiredError(problems)

    def pass_by(self, name: str, medium: Medium) -> None:
        """Called at each point while the script is armed, by whoever comes by."""
        due = self._due(name, medium)
        if due is not None:
            fault, met = due
            fault.act(met)

    async def await_by(self, name: str, medium: Medium) -> None:
        """As `pass_by`, in a coroutine."""
        due = self._due(name, medium)
        if due is not None:
            fault, met = due
            if fault.aact is None:
                fault.act(met)
            else:
                await fault.aact(met)

    def _arm(self) -> None:
        with self._lock:
            self._depth += 1
            if self._depth == 1:
                self._holding.begin()
                watch(self)

    def _disarm(self) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                unwatch(self)
                self._holding.end()

    def _due(self, name: str, medium: Medium) -> tuple[Fault, Met] | None:
        with self._lock:
            passes = self._points.setdefault(name, _Passes())
            passes.count += 1
            due = [rule for rule in passes.rules if rule.fires(passes.count)]
            if not due:
                return None
            rule = due[0]
            if rule.fault.on and medium not in rule.fault.on:
                raise FaultError(f"{rule.fault.name}() at {name}: it is for the points of a Link")
            rule.fired += 1
            ref = here().ref
            path = None if ref is None else ref.path
            firing = Firing(name, rule.fault.name, passes.count, path, os.getpid())
            self._fired.append(firing)
        self._note(firing)  # not under the lock: a handler of the log may come by a point itself
        return rule.fault, Met(name, firing.number, medium, self._holding)

    def _note(self, firing: Firing) -> None:
        who = "" if firing.path is None else f" of {firing.path}"
        log.warning("fault: %s at %s%s, the %d. time", firing.fault, firing.point, who, firing.number)
        if self._record is not None:
            line = json.dumps(asdict(firing)).encode() + b"\n"
            fd = os.open(self._record, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)

    def _problem(self, rule: _Rule) -> str:
        count = self._points[rule.point].count
        if count:
            return f"{rule.fault.name} at {rule.point!r} (passed {count} times)"
        near = nearest(rule.point, [*OWN, *(name for name, passes in self._points.items() if passes.count)])
        hint = "" if near is None or near == rule.point else f"; did you mean {near!r}?"
        return f"{rule.fault.name} at {rule.point!r} (nobody came by{hint})"


def fired_in(record: str | os.PathLike[str]) -> list[Firing]:
    """What the programs that share a `record` have noted, in order; nothing where there is no such file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        lines = Path(record).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [Firing(**json.loads(line)) for line in lines]


@contextmanager
def armed(script: Script) -> Iterator[Script]:
    """Have a script's faults fire in this process during a block; several may be armed at once.

    In the end those who hang go on, and the time of day is right again. What it counts it keeps: armed a second time it
    goes on where it was. One that is armed in several blocks at once is so until the last of them ends.
    """
    arm(script)
    try:
        yield script
    finally:
        script._disarm()  # noqa: SLF001 - one piece in two halves


def arm(script: Script) -> None:
    """Have them fire until the end of the program."""
    script._arm()  # noqa: SLF001 - as above


def _checked(record: str | os.PathLike[str]) -> str:
    """Where it is; a point at which it could not be written would fail otherwise than was said."""
    path = os.fspath(record)
    if not path or Path(path).is_dir() or not Path(path).parent.is_dir():
        raise FaultError(f"record={safe_repr(path)}: a file, in a folder that is there")
    return path


def _check(point: object, fault: object, chance: object, after: object, times: object) -> None:
    problem = None
    if not isinstance(point, str) or not point:
        problem = f"point={safe_repr(point)}: a text"
    elif not isinstance(fault, Fault):
        problem = f"{safe_repr(fault)} is no fault: kill(), hang(), raises(…) and so on"
    elif not is_number(chance) or not 0 < chance <= 1:
        problem = f"chance={safe_repr(chance)}: 0 < chance <= 1"
    elif type(after) is not int or after < 0:
        problem = f"after={safe_repr(after)}: a whole number >= 0"
    elif times is not None and (type(times) is not int or times < 1):
        problem = f"times={safe_repr(times)}: a whole number >= 1, or None for each time"
    elif fault.name in ("disk_full", "fsync_error") and point in OWN and not point.startswith(WRITTEN):
        problem = f"{fault.name}() at {point}: nothing is written there"
    if problem is not None:
        raise FaultError(problem)
