"""`of`: what enqueues jobs, looks at them and has them done again, from any thread or task of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.declared import is_text
from otpy.jobs.errors import NoSuchJobError, NoSuchScheduleError, NoSuchVersionError
from otpy.jobs.insertion import Insertion
from otpy.jobs.replaying import Replaying
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.spec import job_specs
from otpy.jobs.writer import Writer
from otpy.runtime.caller import CALL_TIMEOUT
from otpy.runtime.system import System

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.jobs.insertion import Enqueued
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.model.look import CrewLook
    from otpy.jobs.spec import JobSpec
    from otpy.jobs.store.protocol import Transaction
    from otpy.runtime.ref import Ref

__all__ = ["Client", "of"]


class Client(Replaying):
    """A handle on one engine: costs nothing, holds nothing, and stays good over restarts.

    Every method may be called in any thread, also inside an actor; `aenqueue` and `aenqueue_all` are for event loops.
    All of them raise `NoEngineError` when no engine of this name runs, `StoreError` when the store fails, and
    `CallTimeoutError` when it does not answer within `seconds`: then nobody knows whether it was done.
    """

    def under(self, fence: Fence) -> Client:
        """The same handle, but what it writes is kept only while this epoch of a name is current.

        For the code of a `singleton`, which may go on although another program holds the name already: what that
        wrote, and what this writes, do not mix. Whether the epoch is current is looked at in the transaction that
        writes, and nobody else can be elected before that has ended. What only looks is not refused.

        The methods of it that write raise `StaleEpochError`, besides what they raise otherwise.
        """
        client = Client(self._system, self._name, self._seconds)
        client._fence = fence
        return client

    # Enqueuing.

    def enqueue(self, spec: JobSpec[Any]) -> Enqueued:
        """Enqueue one job; when this returns it is kept.

        Raises:
            KeyTakenError: its key was used for another job, or one is in the way; nothing is kept.
        """
        return self.enqueue_all([spec])[0]

    def enqueue_all(self, specs: Iterable[JobSpec[Any]]) -> list[Enqueued]:
        """Enqueue many in one transaction: all or, when one of them cannot be, none. Raises as `enqueue`."""
        return self._write(Insertion(job_specs(specs)))

    async def aenqueue(self, spec: JobSpec[Any]) -> Enqueued:
        """As `enqueue`, awaited: the event loop goes on meanwhile."""
        return (await self.aenqueue_all([spec]))[0]

    async def aenqueue_all(self, specs: Iterable[JobSpec[Any]]) -> list[Enqueued]:
        """As `enqueue_all`, awaited."""
        wanted = job_specs(specs)
        self._check_store()
        made: list[Enqueued] = await self._writer.acall(Writer.run, self._fenced(Insertion(wanted)))
        return made

    # Mending.

    def scale(self, crew: str, size: int, *, spare: int | None = None) -> CrewLook:
        """Have a crew of this program do so many jobs at once, until the program, or on a file its lead, ends.

        More agents are started at once. Of fewer, those that rest end first, and others when they have done their job.

        Args:
            crew: its name.
            size: jobs at once.
            spare: agents beside those; as many as before unless said.

        Raises:
            NoSuchCrewError: there is none of this name.
            NotLeadingError: the agents are in another program.
            SpecError: a number that cannot be.
        """
        return self._staff().scale(crew, size, spare, self._seconds)

    def cancel(self, *ids: int, reason: str = "cancelled by hand") -> list[Job]:
        """Cancel jobs; returns them as they are then.

        One that waits is `cancelled` at once. One that runs is told, and ends `cancelled` whatever it returns; until
        then it is `running`. One that has ended stays as it is.

        A coroutine is cancelled where it awaits something, a process gets SIGTERM, and all see
        `current().is_cancelled`; one that goes on has the engine's `grace` before its agent is killed. The program
        that does the job may be another one: on a server it is called, and else looks again after `poll` seconds.

        Raises:
            NoSuchJobError: there is none of that number; nothing was done.
        """

        def cancel(tx: Transaction) -> list[Job]:
            _all(tx, ids)
            tx.cancel(ids, reason)
            return _all(tx, ids)

        found = self._write(cancel)
        running = [(job.id, job.token) for job in found if job.state == "running"]
        scheduler = self._scheduler.whereis()
        if scheduler is not None and running:
            scheduler.cast(Scheduler.cancel, running)
        return found

    def retry(self, *ids: int) -> list[Job]:
        """Have jobs begin now that wait for their time; returns them as they are then.

        Others stay as they are: one that was given up is replayed.

        Raises:
            NoSuchJobError: there is none of that number; nothing was done.
        """

        def hasten(tx: Transaction) -> list[Job]:
            _all(tx, ids)
            tx.hasten(ids)
            return _all(tx, ids)

        return self._write(hasten)

    def pause(self, *queues: str) -> list[str]:
        """Begin no more jobs of these queues, in whichever program; those that run go on, and any are enqueued.

        Returns those of them that nobody has heard of: no job of such a queue was ever enqueued, and nothing of this
        engine names it. They are paused as well, for jobs of theirs may come; or the name is misspelt.
        """

        def pause(tx: Transaction) -> list[str]:
            strange = self._strange(tx, queues)
            for queue in queues:
                tx.pause(queue)
            return strange

        strange = self._write(pause)
        if (scheduler := self._scheduler.whereis()) is not None:
            scheduler.cast(Scheduler.pause, queues)
        return strange

    def resume(self, *queues: str) -> list[str]:
        """Begin them again; returns those that nobody has heard of, as `pause`, and that were not paused."""

        def resume(tx: Transaction) -> list[str]:
            strange = self._strange(tx, queues)
            for queue in queues:
                tx.resume(queue)
            return strange

        return self._write(resume)

    def _strange(self, tx: Transaction, queues: Iterable[str]) -> list[str]:
        known = self._begun().setup.queue_names() | {look.name for look in tx.queues()} | tx.paused().keys()
        return [queue for queue in queues if queue not in known]

    def pause_schedule(self, *ids: str) -> None:
        """Enqueue no more jobs of these schedules, whichever program leads; times that pass meanwhile are left out.

        Raises:
            NoSuchScheduleError: there is none of that name; nothing was done.
        """
        self._plan(lambda tx, one: tx.pause_schedule(one, is_paused=True), ids)

    def resume_schedule(self, *ids: str) -> None:
        """Enqueue them again, from now on. Raises as `pause_schedule`."""
        self._plan(lambda tx, one: tx.pause_schedule(one, is_paused=False), ids)

    def drop_schedule(self, *ids: str) -> None:
        """Forget these schedules; their jobs stay. Raises as `pause_schedule`.

        One that no program declares any more stays in the store until then. One that is still declared is back with the
        next start of that program.
        """
        self._plan(lambda tx, one: tx.unplan(one), ids)

    def _plan(self, change: Callable[[Transaction, str], bool], ids: tuple[str, ...]) -> None:
        def plan(tx: Transaction) -> None:
            missing = [one for one in ids if not change(tx, one)]
            if missing:  # and so the others are rolled back
                raise NoSuchScheduleError(*missing)

        self._write(plan)
        timekeeper: Ref[Any] | None = self._system.ref(f"{self._name}/timekeeper").whereis()
        if timekeeper is not None:
            timekeeper.tell("look")

    def activate(self, version: str | None, *, force: bool = False) -> str | None:
        """Have the programs of this version lead, and begin the jobs that belong to none; returns which were before.

        It holds from the next claim on. Programs of other versions end what they have, and resign; they stand by, and
        are switched back to in the same way. What is written down is the text alone: a program that comes later and
        says this version is active, too.

        Args:
            version: as in `jobs.engine(…, version=…)`; None means the programs of any version.
            force: also when no program that works on the store says it; of those on a file none is known.

        Raises:
            NoSuchVersionError: none does.
            SpecError: that is no text.
        """
        if not (version is None or is_text(version)):
            raise SpecError("activate", f"{safe_repr(version)}: a text, or None")

        def activate(tx: Transaction) -> str | None:
            known = {look.host.version for look in tx.hosts(living=True) if look.draining_since is None}
            if not (force or version is None or version in known):
                raise NoSuchVersionError(version, sorted(known - {""}))
            before = tx.active()
            tx.activate(version)
            return before

        before = self._write(activate)
        lookout: Ref[Any] | None = self._system.ref(f"{self._name}/lookout").whereis()
        if lookout is not None:
            lookout.tell("news")
        return before

    def paused(self) -> dict[str, int]:
        """The queues that are paused, and since when, in milliseconds."""
        return self._look(lambda tx: tx.paused())


def of(system: System, name: str = "jobs", *, seconds: float | None = CALL_TIMEOUT) -> Client:
    """The engine of this name: `jobs.of(system)`, or `jobs.of(self.system)` in an actor. Costs nothing.

    Args:
        system: where it runs.
        name: as in `jobs.engine(…, name=…)`.
        seconds: how long the store's answer is waited for; None waits for ever.

    Raises:
        TypeError: that is no system.
    """
    if not isinstance(system, System):
        text = f"jobs.of takes a system, as otpy.run gives it, or self.system in an actor, and not {safe_repr(system)}"
        raise TypeError(text)
    return Client(system, name, seconds)


def _all(tx: Transaction, ids: Iterable[int]) -> list[Job]:
    """All of them. Raises NoSuchJobError."""
    found = {one: tx.get(one) for one in ids}
    missing = [one for one, job in found.items() if job is None]
    if missing:
        raise NoSuchJobError(*missing)
    return [job for job in found.values() if job is not None]
