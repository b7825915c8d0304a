"""What a scenario's actors have done on otpy, kept where all of them can write it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.links import Monitor, watch

from .words import word_of

if TYPE_CHECKING:
    import otpy

    from .actors import Gates, Worker

__all__ = ["Book"]


class Book:
    """Notes by lane, deaths, and who is who."""

    def __init__(self, gates: otpy.Ref[Gates], worker: type[Worker]) -> None:
        self.gates = gates
        self.worker = worker
        """The class of all workers: it says where they run."""
        self.slowness = 0.0
        """Seconds that a worker may need to end."""
        self.args: tuple[object, ...] = (self,)
        """What each worker is started with, before its definition."""
        self.events = 0
        self.lanes: dict[str, list[str]] = {}
        self.deaths: list[list[str]] = []
        self.refs: dict[str, list[otpy.Ref[Any]]] = {}
        self.labels: dict[otpy.Ref[Any], str] = {}
        self.awaited: set[otpy.Ref[Any]] = set()
        """Those whose death is not noted: it may be under way, in whatever thread."""

    def enter(self, ref: otpy.Ref[Any], ident: str) -> tuple[int, str]:
        """The next incarnation of an actor: it has a number, and its death is going to be seen."""
        self.events += 1
        refs = self.refs.setdefault(ident, [])
        refs.append(ref)
        self.labels[ref] = f"{ident}#{len(refs)}"
        self.awaited.add(ref)
        watch(_Death(self, ref))
        return len(refs), self.labels[ref]

    def note(self, lane: str, text: str) -> None:
        """Add to a lane."""
        self.events += 1
        self.lanes.setdefault(lane, []).append(text)

    def knows(self, ident: str) -> bool:
        """Whether there ever was one."""
        return ident in self.refs

    def latest(self, ident: str) -> otpy.Ref[Any]:
        """The latest incarnation, dead or alive."""
        return self.refs[ident][-1]

    def label(self, ref: Any) -> str:
        """Whom a ref means."""
        return self.labels.get(ref, "stranger")

    def supervisors(self) -> list[otpy.Ref[Any]]:
        """Those that live."""
        latest = [refs[-1] for refs in self.refs.values()]
        return [ref for ref in latest if ref.actor_class.is_supervisor and ref.is_alive()]

    def is_behind(self) -> bool:
        """Whether somebody is dead and it is not noted yet: until then nothing may be taken."""
        return any(not ref.is_alive() for ref in list(self.awaited))

    def take(self) -> tuple[list[Any], list[list[str]]]:
        """The lanes and the deaths since the last time."""
        lanes = [[lane, notes] for lane, notes in sorted(self.lanes.items())]
        deaths = sorted(self.deaths)
        self.lanes, self.deaths = {}, []
        return lanes, deaths


class _Death(Monitor):
    """Notes an end in the moment of death."""

    __slots__ = ("book",)

    def __init__(self, book: Book, ref: otpy.Ref[Any]) -> None:
        super().__init__(ref, ref, None)
        self.book = book

    def fire(self, reason: otpy.Reason) -> None:
        self.book.events += 1
        self.book.deaths.append([self.book.labels[self.target], word_of(reason)])  # type: ignore[index]  # a ref
        self.book.awaited.discard(self.target)  # type: ignore[arg-type]  # as above; after it is noted
