"""The round trips to the store: how attempts went goes there, and jobs come in return."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.jobs.model.claim import Ask, Rate, Settled
    from otpy.jobs.model.job import Job
    from otpy.jobs.scheduler.rights import Right
    from otpy.jobs.scheduler.standing import Standing
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Exchange", "Outbox", "Survey"]

Note: TypeAlias = tuple[int, bytes | None, bytes | None]
"""The token of an attempt, its progress, its checkpoint."""


class Survey:
    """What runs already, and where there may be work; a scheduler begins with it, in the writer's thread."""

    def __init__(self, *, is_shared: bool) -> None:
        """Not done yet. Where others claim as well the store counts what runs, and nobody has to know it."""
        self.is_shared = is_shared
        self.running: list[Job] = []
        self.queues: set[str] = set()

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.running, self.queues = [] if self.is_shared else tx.running(), tx.ready()


class Exchange:
    """One round trip: called in the writer's thread, in a transaction; read in the scheduler's when that is over."""

    def __init__(
        self,
        outcomes: list[Settled],
        notes: dict[int, Note],
        asks: list[Ask],
        right: Right | None,
        sent_at: float,
        standing: Standing | None = None,
        *,
        is_again: bool = False,
    ) -> None:
        """Not done yet; leases are trusted from `sent_at`, by the monotonic clock, from before it is handed over.

        A standing wish ends with it; when that was granted meanwhile it asks for nothing, for its agents may have work.
        """
        self._standing, self._is_again = standing, is_again
        self.outcomes, self.notes, self.asks, self.right, self.sent_at = outcomes, notes, asks, right, sent_at
        self.jobs: list[Job] | None = []
        """What was claimed; None when this program may claim nothing."""
        self.accepted: list[bool] = []
        """Which of the outcomes were written: one that was not is of an attempt that is over otherwise."""
        self.rated: dict[str, Rate] = {}
        """Queues whose rate holds back what is ready."""

    @property
    def written(self) -> Iterator[tuple[Settled, bool]]:
        """What became of the outcomes, once it is over."""
        return zip(self.outcomes, self.accepted, strict=False)

    def __call__(self, tx: Transaction) -> None:
        """Do it; what was said before an attempt ended is kept before its end is.

        Of an outcome that was not accepted the job is somebody else's, or has ended before.
        """
        if self._standing is not None and not self._standing.withdraw():
            self.asks = []
        for job, (token, progress, checkpoint) in self.notes.items():
            tx.note(job, token, progress, checkpoint)
        self.accepted = tx.settle(self.outcomes, is_again=self._is_again)
        paused = tx.paused() if self.asks else {}
        asks = [ask.among(set(ask.queues) - paused.keys()) for ask in self.asks] if paused else self.asks
        self.jobs = self.right.claim(tx, asks) if asks and self.right is not None else []
        self.rated = {
            ask.queues[0]: ask.rate for ask in asks if ask.rate is not None and any(map(tx.has_ready, ask.queues))
        }


class Outbox:
    """What is to be written. One exchange is on its way at a time, so that what happens meanwhile shares the next one.

    What a failed one has not brought goes first with the next.
    """

    def __init__(self) -> None:
        """Empty."""
        self._outcomes: list[Settled] = []
        self._notes: dict[int, Note] = {}
        self._sent: Exchange | None = None
        self._kept: set[int] = set()  # jobs at work that have a checkpoint of this attempt

    def has_checkpoint(self, id: int) -> bool:
        """Whether this attempt at a job, which is not over, has kept how far it is."""
        return id in self._kept

    @property
    def is_out(self) -> bool:
        """Whether an exchange is on its way."""
        return self._sent is not None

    @property
    def has_words(self) -> bool:
        """Whether anything of attempts is to be written, or is on its way."""
        return bool(self._sent is not None or self._outcomes or self._notes)

    def settle(self, outcome: Settled) -> None:
        """Write down how an attempt went."""
        self._outcomes.append(outcome)
        self._kept.discard(outcome.id)

    def note(self, id: int, token: int, progress: bytes | None, checkpoint: bytes | None) -> None:
        """Write down how far one is; a later word replaces an earlier one of its kind."""
        note = (token, progress, checkpoint)
        if checkpoint is not None:
            self._kept.add(id)
        self._notes[id] = _later(self._notes.get(id, note), note)

    def send(self, asks: list[Ask], right: Right | None, now: float, standing: Standing | None) -> Exchange | None:
        """The next exchange, with these wishes, by this right; None when there is nothing to say. None may be out."""
        if not asks and not self._outcomes and not self._notes:
            return None
        self._sent = Exchange(self._outcomes, self._notes, asks, right, now, standing)
        self._outcomes, self._notes = [], {}
        return self._sent

    def kept(self) -> None:
        """The one that was out is kept."""
        self._sent = None

    def failed(self) -> None:
        """The store failed, and nothing of the one that was out is kept."""
        sent, self._sent = self._sent, None
        if sent is not None:
            self._outcomes = sent.outcomes + self._outcomes
            for job, note in sent.notes.items():
                self._notes[job] = _later(note, self._notes.get(job, note))

    def last(
        self, give_back: Callable[[Job], Settled], standing: Standing | None
    ) -> Callable[[Transaction], list[tuple[Settled, bool]]] | None:
        """All that is left to write when there will be no further exchange; None when that is nothing.

        What the one that is out brings is given back; if that fails, its outcomes are written here. The writer does
        them in their order, so what it has brought is known when this is done.
        """
        sent, outcomes, notes = self._sent, self._outcomes, self._notes
        if not self.has_words and standing is None:
            return None

        def end(tx: Transaction) -> list[tuple[Settled, bool]]:
            first = [] if sent is None else sent.outcomes + [give_back(job) for job in sent.jobs or ()]
            first += [] if standing is None else standing.unseen(give_back)
            last = Exchange(first + outcomes, notes, [], None, 0.0, is_again=True)
            last(tx)
            # Of the one that was out nobody else tells: what it has brought is refused here.
            return [*(() if sent is None else sent.written), *last.written]

        return end


def _later(note: Note, after: Note) -> Note:
    """What was said first and what was said after it, as one: of each kind the last word, of the same attempt."""
    token, progress, checkpoint = after
    if note[0] != token:
        return after
    return token, note[1] if progress is None else progress, note[2] if checkpoint is None else checkpoint
