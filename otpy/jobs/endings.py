"""Who waits for the end of a job, and hears of it whichever program does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.actors.gen_server import GenServer
from otpy.core.decision import NoReply
from otpy.jobs.errors import NoSuchJobError
from otpy.jobs.model.job import LIVING
from otpy.jobs.writer import Writer
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.jobs.model.job import Job
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.caller import Caller
    from otpy.runtime.timers import Timer

__all__ = ["Endings"]


class Look:
    """How some jobs are, in the writer's thread."""

    def __init__(self, ids: set[int]) -> None:
        """Of these."""
        self.ids = ids
        self.jobs: dict[int, Job | None] = {}

    def __call__(self, tx: Transaction) -> None:
        """Do it."""
        self.jobs = {one: tx.get(one) for one in self.ids}


class Endings(GenServer):
    """Looks at the jobs that somebody waits for: when the scheduler says that some have ended, and twice in `poll`."""

    def init(self, setup: Setup) -> None:
        """Nobody waits."""
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
            self._look()
        return NoReply()  # type: ignore[return-value]  # the reply comes later

    def handle_info(self, message: object) -> None:
        """Some may have ended."""
        if message == "look" or (isinstance(message, frozenset) and not self.waiting.keys().isdisjoint(message)):
            self._look()

    @cast
    def seen(self, look: Look, is_kept: bool) -> None:  # noqa: FBT001 - a cast, and the checker knows its arguments
        """Tell who has waited for those that have ended, and look again for the others.

        A look shares its transaction with the ends that it sees: when that was not kept, they have not come.
        """
        self._is_looking = False
        for one, job in look.jobs.items() if is_kept else ():
            if job is not None and job.state in LIVING:
                continue
            for caller in self.waiting.pop(one, ()):
                if job is None:
                    caller.refuse(NoSuchJobError(one))
                else:
                    caller.reply(job)
        self._drop()
        if self.waiting:
            if self._timer is not None:
                self.cancel_timer(self._timer)
            self._timer = self.send_after(self.pause, "look")

    def _look(self) -> None:
        if not self._is_looking and self.waiting:
            self._is_looking = True
            look, own = Look(set(self.waiting)), self.ref
            self.writer.cast(Writer.submit, look, lambda error: own.cast(Endings.seen, look, error is None))

    def _drop(self) -> None:
        """Forget who waits no longer."""
        left = {job: [one for one in callers if one.claim] for job, callers in self.waiting.items()}
        self.waiting = {job: callers for job, callers in left.items() if callers}
