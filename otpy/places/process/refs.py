"""Refs over a pipe: which actors of this side the other one knows, and who stands here for those of the other side.

On the pipe a ref is a list: `[CHILD]` the child's own actor, `[MINE, …]` another one of the sender's side, `[YOURS, …]`
one of the receiver's, `[NAMED, name]` whoever holds a name. A class is named, and never imported for a child's sake.
"""

from __future__ import annotations

import importlib
import math
import sys
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from otpy.core.reason import NoProc, Reason
from otpy.places.process.bonds import InnerSystem
from otpy.places.process.far import FarBox, stand_in
from otpy.places.process.far_home import HiddenToken, NoHome
from otpy.places.process.say import Say
from otpy.runtime.actor import Actor
from otpy.runtime.death import finish
from otpy.runtime.links import Monitor, watch
from otpy.runtime.named import NamedRef
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from otpy.places.process.bonds import Bonds
    from otpy.places.process.line import Line
    from otpy.runtime.system import System

__all__ = ["FarRef", "Refs", "lose"]


class Known:
    """The first item of a ref on the pipe."""

    CHILD = 0
    MINE = 1
    YOURS = 2
    NAMED = 3


class FarRef(Ref[Any]):
    """An actor that runs on the other side of a pipe."""

    __slots__ = ("_path", "line", "wire")

    def __init__(self, system: System, cls: type[Actor], path: str, wire: int, line: Line | None) -> None:
        """Without a line it hears nothing: the parent itself, whom the port tells of everything, and the dead."""
        super().__init__(system, stand_in(Actor, cls), path.rpartition("/")[2], None)
        self._path = path
        self.wire = wire
        self.line = line
        self.started_at = math.nan  # by the clock of the other side, which does not say
        with system.lock:
            self.number = system.last_number = system.last_number + 1
        self.home = NoHome(system)
        box = FarBox(self, cls, wire)
        self.mailbox = box
        if line is not None:
            box.open(line)
        self.tok = HiddenToken([True])

    @property
    def path(self) -> str:
        """Where it is in the tree of the program."""
        return self._path

    def join(self, one: Ref[Any]) -> bool:
        """As `Ref.join`; the links of a child's own actor are known to the parent, and hold whatever ends it."""
        bonds = self._bonds_of(one)
        if bonds is None or self.reason is not None:
            return super().join(one)
        bonds.link(self.wire)
        return True

    def part(self, one: Ref[Any]) -> None:
        """As `Ref.part`."""
        super().part(one)
        bonds = self._bonds_of(one)
        if bonds is not None:
            bonds.unlink(self.wire)

    def _bonds_of(self, one: Ref[Any]) -> Bonds | None:
        system = self.system
        return system.bonds if isinstance(system, InnerSystem) and one is system.root else None

    def traps_exit(self) -> bool:
        """Whether it does is known on the other side: all signals go there."""
        return True

    def kill(self) -> bool:
        """As `Ref.kill`, as far as is known here; its end may be known before this returns."""
        was_alive = self.reason is None
        if was_alive and isinstance(self.mailbox, FarBox):
            self.mailbox.say_kill()
        return was_alive

    def __repr__(self) -> str:
        return f"<Ref {self._path} #{self.wire}>"

    __str__ = __repr__


class _Ghost(Ref[Any]):
    """An actor of which the other side speaks, and which ended so long ago that nobody else here has its ref."""

    __slots__ = ("_path",)

    def __init__(self, system: System, path: str) -> None:
        super().__init__(system, Actor, path.rpartition("/")[2], None)
        self.reason = NoProc()
        self._path = path

    @property
    def path(self) -> str:
        """Where it was, as the other side says."""
        return self._path


def lose(ref: FarRef, reason: Reason) -> None:
    """An actor of the other side has ended, or can be reached no more."""
    with ref.system.lock:
        if ref.reason is not None:
            return
        ref.system.alive += 1  # it was counted on the other side
    finish(ref, reason)


class Refs:
    """The refs of one pipe, at one of its ends."""

    def __init__(self, line: Line, *, may_import: bool) -> None:
        """Know nobody yet; `root` is the child's own actor, or its port, from when there is one."""
        self.line = line
        self.root: Ref[Any] | None = None
        self.system: System | None = None
        self.own: dict[int, Ref[Any]] = {}
        """Those of this side that the other one knows, and may send to."""
        self.far: dict[int, FarRef] = {}
        """Those of the other side that are known here."""
        self._watches: dict[int, _Gone] = {}
        # No lock: any thread writes these, one store or look-up at a time, and nothing is decided from two of them.
        # `own` and `_watches` get entries in `known`, under the line's lock; whoever ends takes its own one out.
        self.own_dead: WeakValueDictionary[int, Ref[Any]] = WeakValueDictionary()
        self.far_dead: WeakValueDictionary[int, FarRef] = WeakValueDictionary()
        self._may_import = may_import

    def known(self, value: object) -> list[Any] | None:
        """A ref as the other side knows it, or is to know it from now on; None for what is no ref."""
        if value is self.root:
            return [Known.CHILD]
        if isinstance(value, FarRef) and value.line is self.line:
            return [Known.YOURS, value.wire, value.path]
        if isinstance(value, NamedRef):
            return [Known.NAMED, value.name]
        if not isinstance(value, Ref):
            return None
        if value.reason is not None:
            self.own_dead[value.number] = value
        elif value.number not in self.own:
            self.own[value.number] = value
            monitor = self._watches[value.number] = _Gone(value, self)
            watch(monitor)
        return [Known.MINE, value.number, value.path, *_where(value), value.reason]

    def ref_of(self, known: list[Any]) -> Ref[Any] | NamedRef[Any]:
        """The ref behind that.

        Raises:
            LookupError, TypeError, ValueError: it is none.
        """
        match known:
            case [Known.CHILD] if self.root is not None:
                return self.root
            case [Known.MINE, int(number), str(path), str(module), str(name), None | Reason() as reason]:
                return self._far_ref(number, path, module, name, reason)
            case [Known.YOURS, int(number), str(path)]:  # it may have ended before the other side knew
                return self.own_ref(number, path)
            case [Known.NAMED, str(name)]:
                return NamedRef(self._system, name)
        raise ValueError(known)

    def own_ref(self, number: int, path: str = "") -> Ref[Any]:
        """The actor of this side of which the other one speaks, dead or alive."""
        return self.own.get(number) or self.own_dead.get(number) or _Ghost(self._system, path)

    def gone(self, number: int, reason: Reason) -> None:
        """One of the other side has ended."""
        ref = self.far.get(number)
        if ref is not None:
            self.far_dead[number] = ref  # then the other: it may be named just now
            self.far.pop(number, None)
            lose(ref, reason)

    def own_ended(self, ref: Ref[Any], reason: Reason) -> None:
        """One of this side has ended."""
        self.own_dead[ref.number] = ref  # as above
        self._watches.pop(ref.number, None)
        self.own.pop(ref.number, None)
        self.line.say(Say.GONE, ref.number, reason)

    def lose_all(self, reason: Reason) -> None:
        """The other side is gone."""
        for number in list(self._watches.copy()):  # those that end just now take themselves out, in their own threads
            if (watched := self._watches.pop(number, None)) is not None:
                watched.cancel()
        while self.far:
            lose(self.far.popitem()[1], reason)

    @property
    def _system(self) -> System:
        assert self.system is not None  # noqa: S101 - nobody speaks of refs before that
        return self.system

    def _far_ref(self, number: int, path: str, module: str, name: str, reason: Reason | None) -> Ref[Any]:
        found = self.far.get(number) or self.far_dead.get(number)
        if found is None:
            found = FarRef(self._system, self._class(module, name), path, number, self.line)
            (self.far if reason is None else self.far_dead)[number] = found
        if reason is not None:
            lose(found, reason)
        return found

    def _class(self, module: str, name: str) -> type[Actor]:
        found: Any = importlib.import_module(module) if self._may_import else sys.modules.get(module)
        for part in name.split("."):
            found = None if found is None else vars(found).get(part)
        if isinstance(found, type) and issubclass(found, Actor):
            return found
        if self._may_import:
            raise LookupError(f"{module}.{name}")
        return Actor


def _where(ref: Ref[Any]) -> tuple[str, str]:
    """Where its class is found; of one that nobody can find, the most general one."""
    cls = getattr(ref.actor_class, "inside", ref.actor_class)
    if "<" in cls.__qualname__:
        return Actor.__module__, Actor.__qualname__
    module = str(cls.__module__)
    return "__main__" if module == "__mp_main__" else module, str(cls.__qualname__)


class _Gone(Monitor):
    """Tells the other side of the end of an actor that it knows."""

    __slots__ = ("_refs",)

    def __init__(self, ref: Ref[Any], refs: Refs) -> None:
        super().__init__(ref, ref, None)
        self._refs = refs

    def fire(self, reason: Reason) -> None:
        assert self.target_ref is not None  # noqa: S101 - made with one
        self._refs.own_ended(self.target_ref, reason)
