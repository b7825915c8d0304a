"""Workers in processes of their own, and what they have in the place of the book; such a process imports no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy
from support.ways import done

from .actors import Worker

if TYPE_CHECKING:
    from .actors import Gates
    from .book import Book
    from .model import Definition

__all__ = ["ProcessWorker", "Scribe"]


class Scribe(otpy.GenServer):
    """Keeps the book for workers elsewhere. What one sends before it ends is noted before its end is acted on."""

    def init(self, book: Book) -> None:
        self.book = book

    @otpy.call
    def enter(self, ref: otpy.Ref[Any], ident: str) -> tuple[int, str]:
        return self.book.enter(ref, ident)

    @otpy.cast
    def note(self, lane: str, text: str) -> None:
        self.book.note(lane, text)

    @otpy.call
    def knows(self, ident: str) -> bool:
        return self.book.knows(ident)

    @otpy.call
    def latest(self, ident: str) -> otpy.Ref[Any]:
        return self.book.latest(ident)

    @otpy.call
    def label(self, ref: Any) -> str:
        return self.book.label(ref)


class FarBook:
    """The book as a worker in another process sees it."""

    def __init__(self, scribe: otpy.Ref[Scribe], gates: otpy.Ref[Gates]) -> None:
        self._scribe = scribe
        self.gates = gates
        self.worker: type[Worker] = Worker  # whom it starts itself, in its own process

    @property
    def args(self) -> tuple[object, ...]:
        return (self,)

    def enter(self, ref: otpy.Ref[Any], ident: str) -> tuple[int, str]:
        return self._scribe.within(None).call(Scribe.enter, ref, ident)

    def note(self, lane: str, text: str) -> None:
        self._scribe.cast(Scribe.note, lane, text)

    def knows(self, ident: str) -> bool:
        return self._scribe.within(None).call(Scribe.knows, ident)

    def latest(self, ident: str) -> otpy.Ref[Any]:
        return self._scribe.within(None).call(Scribe.latest, ident)

    def label(self, ref: Any) -> str:
        return self._scribe.within(None).call(Scribe.label, ref)


class ProcessWorker(Worker):
    """A worker in a process of its own."""

    place = "process"

    def init(  # type: ignore[override]  # as a user's may
        self, scribe: otpy.Ref[Scribe], gates: otpy.Ref[Gates], definition: Definition
    ) -> Any:
        return done(self.begin(FarBook(scribe, gates), definition))
