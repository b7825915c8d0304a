"""A supervisor's table of children: their specs, their processes and their history, in start order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from otpy.core.spec import BRUTAL_KILL, INFINITY
from otpy.core.value import value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.core.reason import Reason
    from otpy.core.spec import ChildSpec
    from otpy.runtime.actor import Actor
    from otpy.runtime.ref import Ref

__all__ = ["WORKER_SHUTDOWN", "ChildCounts", "ChildInfo", "ChildTable", "Entry", "info_of"]

WORKER_SHUTDOWN = 5.0
"""Seconds a worker gets to end. OTP: 5000 ms."""


class Entry:
    """One child. Only its supervisor's turns write it; the inspector reads it at any time."""

    __slots__ = ("cls", "last_exit", "ref", "restarting", "spec", "starts")

    def __init__(self, spec: ChildSpec, cls: type[Actor]) -> None:
        """A child that has not been started."""
        self.spec = spec
        self.cls = cls
        self.ref: Ref[Any] | None = None
        self.restarting = False
        self.starts = 0
        self.last_exit: Reason | None = None

    @property
    def restarts(self) -> int:
        """How often it was started again; attempts that failed are not counted."""
        return max(0, self.starts - 1)

    @property
    def due(self) -> float | None:
        """When its restart is due, by the system's clock; None unless it has a back-off and waits."""
        return None

    @property
    def given_up(self) -> bool:
        """Whether a limit of its own was passed, and nobody has started it since."""
        return False

    def give_up(self) -> None:
        """Have no process until somebody starts it by hand; for one with a limit of its own."""
        raise NotImplementedError

    @property
    def shutdown(self) -> float:
        """Seconds it gets to end; a brutal kill is -1."""
        own = self.spec.options.shutdown
        if own is None:
            return INFINITY if self.cls.is_supervisor else WORKER_SHUTDOWN
        return -1.0 if own == BRUTAL_KILL else float(own)

    @property
    def type(self) -> Literal["worker", "supervisor"]:
        """What it is, for counting."""
        return "supervisor" if self.cls.is_supervisor else "worker"


@value
class ChildInfo:
    """One row of `which_children`. OTP: {Id, Child, Type, Modules}."""

    id: str
    """Its id; of a dynamic child its number."""
    ref: Ref[Any] | None
    """Its process, None when it has none."""
    state: Literal["running", "restarting", "stopped", "failed"]
    """`restarting` while its restart is due later, or has failed and is tried again; `failed` when a limit of its own
    was passed, until it is started by hand."""
    type: Literal["worker", "supervisor"]
    """What it is."""


@value
class ChildCounts:
    """What `count_children` returns."""

    specs: int
    """All children, running or not."""
    active: int
    """Those with a living process."""
    supervisors: int
    """Those that are supervisors, running or not."""
    workers: int
    """Those that are workers, running or not."""


class ChildTable:
    """Children by id, in start order."""

    def __init__(self) -> None:
        """No children."""
        self.by_id: dict[str | int, Entry] = {}

    def __len__(self) -> int:
        return len(self.by_id)

    def entries(self) -> list[Entry]:
        """All children, first started first."""
        return list(self.by_id.values())

    def items(self) -> Iterable[tuple[str | int, Entry]]:
        """Ids and children in start order, as they are now; for any thread."""
        return self.by_id.copy().items()

    def add(self, ident: str | int, entry: Entry) -> None:
        """Add a child at the end."""
        self.by_id[ident] = entry

    def remove(self, ident: str | int) -> None:
        """Forget a child and its spec."""
        self.by_id.pop(ident, None)

    def holding(self, ref: Ref[Any]) -> Entry | None:
        """The child whose process this is; None for a stranger or a process that was replaced."""
        entry = self.by_id.get(ref.id)
        return entry if entry is not None and entry.ref is ref else None

    def ref_of(self, ident: str) -> Ref[Any] | None:
        """A child's living process, found by the text of its id."""
        entry = self.by_id.get(ident)
        if entry is None and ident.isdecimal():
            entry = self.by_id.get(int(ident))
        return entry.ref if entry is not None else None

    def infos(self) -> list[ChildInfo]:
        """All children, last started first, as OTP lists them."""
        return [info_of(ident, entry) for ident, entry in reversed(list(self.items()))]

    def counts(self) -> ChildCounts:
        """How many there are of each kind."""
        entries = self.entries()
        active = sum(entry.ref is not None and entry.ref.reason is None for entry in entries)
        supervisors = sum(entry.cls.is_supervisor for entry in entries)
        return ChildCounts(len(entries), active, supervisors, len(entries) - supervisors)


def info_of(ident: str | int, entry: Entry) -> ChildInfo:
    """One child as others see it."""
    return ChildInfo(str(ident), entry.ref, _state(entry), entry.type)


def _state(entry: Entry) -> Literal["running", "restarting", "stopped", "failed"]:
    if entry.restarting:
        return "restarting"
    if entry.ref is not None:
        return "running"
    return "failed" if entry.given_up else "stopped"
