"""Who waits for the end of a job, and hears of it whichever program does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.core.decision import NoReply
from otpy.jobs.errors import NoSuchJobError, StoreError
from otpy.jobs.model.job import LIVING
from otpy.jobs.writer import Writer
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Readers, Transaction
    from otpy.runtime.caller import Caller
    from otpy.runtime.timers import Timer

__all__ = ["Endings"]


class Round:
    """How some jobs are, beside the writer, or in its thread where the store has no room for two."""

    def __init__(self, ids: set[int]) -> None:
        """Of these."""
        self.ids = ids
        self.jobs: dict[int, Job | None] = {}
        """Those that have ended, or are not there."""

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.jobs = {one: tx.get(one) for one in self.ids - tx.living(self.ids)}


class Endings(GenServer):
    """Looks at the jobs that somebody waits for: when the scheduler says that some have ended, and twice in `poll`."""

    def init(self, setup: Setup, readers: Readers) -> None:
        """Nobody waits."""
        self.readers = readers
        self.pause = setup.poll / 2
        self.writer = self.system.ref(setup.actor(Writer, "writer"))
        self.waiting: dict[int, list[Caller]] = {}
        self._is_looking = False
        self._timer: Timer | None = None

    @call
    def wait(self, id: int) -> Job:
        """The job, when it has ended. Raises NoSuchJobError."""
        assert self.caller is not None  # noqa: S101 - a call has one
        if type(id) is not int:
            self.caller.refuse(NoSuchJobError(id))
        else:
            self.waiting.setdefault(id, []).append(self.caller)
            self._look({id})
        return NoReply()  # type: ignore[return-value]  # the reply comes later

    def handle_info(self, message: object) -> None:
        """Some may have ended."""
        if message == "look":
            self._timer = None
            self._drop()
            self._look(set(self.waiting))
        elif isinstance(message, frozenset):
            self._look({one for one in message if one in self.waiting})

    @cast
    def seen(self, done: Round, is_kept: bool) -> None:  # noqa: FBT001 - a cast, and the checker knows its arguments
        """Tell who has waited for those that have ended, and look again for the others.

        A look in the writer's thread shares its transaction with the ends that it sees: when that was not kept, they
        have not come.
        """
        self._is_looking = False
        for one, job in done.jobs.items() if is_kept else ():
            if job is not None and job.state in LIVING:
                continue
            for caller in self.waiting.pop(one, ()):
                if job is None:
                    caller.refuse(NoSuchJobError(one))
                else:
                    caller.reply(job)
        if self.waiting and self._timer is None:
            self._timer = self.send_after(self.pause, "look")

    def _look(self, ids: set[int]) -> None:
        """See how these are; what is asked of the writer is asked for all at once."""
        if ids and self.readers.is_open:
            done = Round(ids)
            self.seen(done, self._is_seen(done))
        elif ids and not self._is_looking:
            self._is_looking = True
            done, own = Round(set(self.waiting)), self.ref
            self.writer.cast(Writer.submit, done, lambda error: own.cast(Endings.seen, done, error is None))

    def _is_seen(self, done: Round) -> bool:
        try:
            with self.readers.look() as tx:
                done(tx)
        except StoreError:
            return False
        return True

    def _drop(self) -> None:
        """Forget who waits no longer."""
        left = {job: [one for one in callers if one.claim] for job, callers in self.waiting.items()}
        self.waiting = {job: callers for job, callers in left.items() if callers}
