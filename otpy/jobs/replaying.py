"""Running dead jobs again, from any thread or task of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.fenced import under
from otpy.jobs.looking import Looking
from otpy.jobs.model.look import Look
from otpy.jobs.model.new import Replayed
from otpy.jobs.spec import new_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.model.lead import Fence
    from otpy.jobs.spec import JobSpec
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Replaying"]

T = TypeVar("T")


class Replaying(Looking):
    """The part of a `Client` that replays, and how it writes."""

    _fence: Fence | None = None
    """Under which epoch it writes, if any."""

    def replay(self, *ids: int, force: bool = False, per_second: float | None = None) -> list[Replayed]:
        """Run dead jobs again, as new ones; what became of each, in this order.

        The new job does the same work with fresh attempts and the same keys, `once` included; `replay_of` names the
        old one, which is `replayed`, and keeps its attempts. All of it is one transaction.

        Args:
            ids: which.
            force: also those that were replayed before.
            per_second: how many of them begin in a second; None means all at once.

        Raises:
            SpecError: `per_second` is no number above 0.
        """
        gap_ms = _gap(per_second)
        return self._write(lambda tx: tx.replay(ids, is_forced=force, gap_ms=gap_ms))

    def replay_with(self, id: int, spec: JobSpec[Any], *, force: bool = False) -> Replayed:
        """Run one dead job again with other arguments, as `replay` does it otherwise.

        Its key for the services that it calls stays the same, and what it has done `once` is done: change what was
        wrong about it, and enqueue another job for other work.

        Args:
            id: which.
            spec: the arguments, and the tenant and the unique key that its kind makes of them; nothing else of it.
            force: also one that was replayed before.

        Raises:
            SpecError: it is of another kind.
        """

        def replay(tx: Transaction) -> Replayed:
            old = tx.get(id)
            if old is not None and old.kind != spec.kind.name:
                raise SpecError("replay", f"job {id} is a {old.kind}, and no {spec.kind.name}")
            instead = new_job(spec, tx.now)
            return tx.replay([id], is_forced=force, gap_ms=0, instead=instead)[0]

        return self._write(replay)

    def replay_all(
        self,
        *,
        queue: str | None = None,
        kind: str | None = None,
        limit: int = 1_000,
        per_second: float | None = None,
        dry_run: bool = False,
    ) -> list[Replayed]:
        """Run the dead jobs again that fit, the newest first: the bulk form of `replay`.

        Args:
            queue: only of this one.
            kind: only of the kind with this name.
            limit: at most so many.
            per_second: as in `replay`.
            dry_run: change nothing, and name those that would be; they have no new number.

        Raises:
            SpecError: as in `replay`.
        """
        look = Look(queue=queue, kind=kind, state="dead", limit=limit)
        gap_ms = _gap(per_second)

        def replay(tx: Transaction) -> list[Replayed]:
            found = tx.find(look)
            if dry_run:
                return [Replayed(job.id, None, job.queue, "new") for job in found]
            return tx.replay([job.id for job in found], is_forced=False, gap_ms=gap_ms)

        return self._write(replay)

    def _write(self, step: Callable[[Transaction], T]) -> T:
        return self._run(self._fenced(step))

    def _fenced(self, step: Callable[[Transaction], T]) -> Callable[[Transaction], T]:
        """The same, or refused when it comes too late."""
        fence = self._fence
        return step if fence is None else lambda tx: under(tx, fence, step)


def _gap(per_second: float | None) -> int:
    if per_second is None:
        return 0
    if not (is_number(per_second) and per_second > 0):
        raise SpecError("replay", f"per_second={safe_repr(per_second)}: a number above 0, or None")
    return round(1_000 / per_second)
