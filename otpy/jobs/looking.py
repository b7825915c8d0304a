"""Looking at an engine's jobs, queues and crews, from any thread or task of the program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.spec import Name
from otpy.errors import CallExitError, CallTimeoutError, SpecError
from otpy.jobs.cron import look_at
from otpy.jobs.endings import Endings
from otpy.jobs.errors import BackupError, NoEngineError, NotEndedError
from otpy.jobs.labels import subsets
from otpy.jobs.model.lead import SHARED, NameLook
from otpy.jobs.model.look import Look, Readiness, limit_problem
from otpy.jobs.scheduler.scheduler import Scheduler
from otpy.jobs.staff import Staff
from otpy.jobs.store.sqlite.store import MEMORY
from otpy.jobs.store.where import shown
from otpy.jobs.writer import Writer
from otpy.runtime.caller import CALL_TIMEOUT
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.model.host import HostLook
    from otpy.jobs.model.job import Job, State
    from otpy.jobs.model.look import CrewLook, QueueLook, ScheduleLook, StoreLook, Want
    from otpy.jobs.model.server import ServerLook
    from otpy.jobs.store.protocol import Readers, Transaction
    from otpy.runtime.named import NamedRef
    from otpy.runtime.system import System

__all__ = ["Looking", "engine_at", "engine_name"]

T = TypeVar("T")

PATIENCE = 1.0
"""Seconds that a writer may take to be started again."""


class Looking:
    """The part of a `Client` that changes nothing."""

    def __init__(self, system: System, name: str, seconds: float | None = CALL_TIMEOUT) -> None:
        """Made by `of`."""
        self._system = system
        self._name = name
        self._seconds = seconds
        self._writer: NamedRef[Writer] = system.ref(Name(f"{name}/writer", Writer)).within(
            seconds, wait_for_name=PATIENCE
        )
        self._endings: NamedRef[Endings] = system.ref(Name(f"{name}/endings", Endings))
        self._scheduler: NamedRef[Scheduler] = system.ref(Name(f"{name}/scheduler", Scheduler))

    def __repr__(self) -> str:
        """The engine's name."""
        return f"<jobs.Client of {self._name}>"

    def wait(self, id: int, timeout: float | None = None) -> Job:
        """The job, when it has ended, in whichever program it was done, and whatever is started again meanwhile.

        Args:
            id: its number.
            timeout: seconds; None waits without end.

        Raises:
            NoSuchJobError: there is none, or it is forgotten.
            NotEndedError: the time is over; the job goes on.
            CallExitError: the engine ends, or has none to tell it.
        """
        over = self._over(timeout)
        self._check()
        while True:
            try:
                job: Job = self._waiting_until(over).call(Endings.wait, id)
            except CallTimeoutError:
                raise NotEndedError(id, timeout or 0.0) from None
            except CallExitError as error:
                self._raise_unless_again(error, over, NotEndedError(id, timeout or 0.0))
            else:
                return job

    async def await_end(self, id: int, timeout: float | None = None) -> Job:
        """As `wait`, on any event loop."""
        over = self._over(timeout)
        self._check()
        while True:
            try:
                job: Job = await self._waiting_until(over).acall(Endings.wait, id)
            except CallTimeoutError:
                raise NotEndedError(id, timeout or 0.0) from None
            except CallExitError as error:
                self._raise_unless_again(error, over, NotEndedError(id, timeout or 0.0))
            else:
                return job

    def get(self, id: int) -> Job | None:
        """One job, with its failed attempts; None when there is none, or it is forgotten."""
        return self._look(lambda tx: tx.get(id))

    def find(
        self,
        *,
        queue: str | None = None,
        state: State | None = None,
        kind: str | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """Jobs, the newest first, without their attempts.

        Args:
            queue: only of this one.
            state: only in this one.
            kind: only of the kind with this name.
            before: only with a lower id: the last one of a page gives the next page.
            limit: at most so many.

        Raises:
            SpecError: a state that there is not, or what is no text or no number.
        """
        look = Look(queue=queue, state=state, kind=kind, before=before, limit=limit)
        _refuse("find", look.problem())
        return self._look(lambda tx: tx.find(look))

    def queues(self) -> list[QueueLook]:
        """How each queue is, by name: jobs in each state, and since when the oldest waits."""
        return self._look(lambda tx: tx.queues())

    def wants(self, limit: int = 1_000) -> list[Want]:
        """What at most so many ready jobs want of an agent; where nobody has it they stay `ready`.

        Raises SpecError when `limit` is no number.
        """
        _refuse("wants", limit_problem(limit))
        return self._look(lambda tx: tx.wants(limit))

    def unroutable(self, limit: int = 1_000) -> list[Want]:
        """Those of `wants` that no crew of this program can take, for want of a label or of the code.

        On a server without those that need labels which another program has.
        """
        found = self._staff().strangers(self.wants(limit))
        others = self._labels_elsewhere() if any(one.needs for one in found) else []
        return [one for one in found if not (one.needs and any(one.needs in labels for labels in others))]

    def _labels_elsewhere(self) -> list[tuple[str, ...]]:
        """What may be needed of each other program, as `Want.needs` says it."""
        own = self._begun().host_id
        return [subsets(one.host.labels) for one in self.hosts() if one.is_alive and one.host.id != own]

    def crews(self) -> list[CrewLook]:
        """How many agents there are, crew by crew; on a file none while another program leads."""
        return self._staff().looks()

    def store(self) -> StoreLook:
        """How it stands with the store, as this program has found it; asks nobody, so it is told also in an outage."""
        engine = self._begun()
        found: StoreLook = engine.health.look(shown(engine.setup.path), self._system.clock.now())
        return found

    def readiness(self) -> Readiness:
        """Whether this engine takes in jobs now, and why not; for a probe.

        It asks nobody, waits for nothing and raises nothing. A program whose store is away goes on with the jobs that
        run, and is not to be killed for it: this is what an orchestrator calls readiness, not liveness.
        """
        engine = engine_at(self._system, self._name)
        if engine is None:
            return Readiness(problem=str(NoEngineError(self._name)))
        setup = engine.setup
        told = draining_of(self._system, engine.ref)
        if told is not None:
            seconds = max(0.0, self._system.clock.now() - told.since)
            return Readiness(problem=f"the program drains: {told.reason}", since=seconds)
        if self._writer.whereis() is None or not (engine.readers.is_open or setup.path == MEMORY):
            return Readiness(problem=f"the engine {self._name} is about to open its store")
        found: Readiness = engine.health.readiness(shown(setup.path), self._system.clock.now(), setup.busy_seconds)
        return found

    def server(self) -> ServerLook | None:
        """How it stands with the server that has the store: old transactions, and rows that it has not tidied up yet.

        Any user of the database may ask; of the transactions of others the age and the statement are told to those
        alone who have `pg_read_all_stats`. Asks the server, on this thread. None for a store in a file or in memory.

        Raises:
            StoreError: the server cannot be asked.
        """
        readers = self._readers()
        return None if readers is None else readers.server()

    def backup(self, file: Path | str) -> int:
        """Copy the store as it is now, while all goes on; the size of the copy in bytes.

        On this thread, for as long as it takes: it reads the whole file. The copy is one file with one moment's jobs,
        looked over, and on the disk when this returns; how to restore it, a how-to says.

        Args:
            file: where; a path that is not whole begins in the program's folder.

        Raises:
            BackupError: there is a file of that name, it cannot be written, or the store is in memory.
            StoreError: the store cannot be read.
        """
        readers = self._readers()
        if readers is None:
            raise BackupError(str(file), "there is no file to copy: the store is in memory, or about to be opened")
        return readers.back_up(Path(file).absolute())

    def whereis(self, name: str) -> NameLook | None:
        """Which program holds a name that programs share, as the store has it; None when none does.

        It may be another one a moment later: who writes for the name does so under the epoch that it was given.

        OTP: global:whereis_name/1, which gives a process; here no message travels.
        """
        return next((one for one in self.names() if one.name == name and one.is_held), None)

    def names(self) -> list[NameLook]:
        """All names that programs share, with who holds them, or was the last to do so."""
        found, now = self._look(lambda tx: (tx.elected(SHARED), tx.now))
        return [NameLook.of(key, lead, now) for key, lead in found]

    def hosts(self) -> list[HostLook]:
        """The programs that work on the store, or did within `keep`, in the order in which they came; none on a file.

        Those that were dead and have come back are there once more.
        """

        def look(tx: Transaction) -> list[HostLook]:
            lead = dict(tx.elected(self._name)).get(self._name)
            owner = None if lead is None or lead.expires_at <= tx.now else lead.owner
            return [replace(one, is_leading=one.host.owner == owner) for one in tx.hosts()]

        return self._look(look)

    def active(self) -> str | None:
        """The version whose programs lead, and begin the jobs that belong to none; None while those of any do."""
        return self._look(lambda tx: tx.active())

    def schedules(self) -> list[ScheduleLook]:
        """All that are in the store, whichever program has declared them."""
        kept, now = self._look(lambda tx: (tx.schedules(), tx.now))
        return [look_at(one, now) for one in kept]

    def _look(self, step: Callable[[Transaction], T]) -> T:
        """What changes nothing, beside who writes: on this thread, and as long as it takes."""
        readers = self._readers()
        if readers is None:
            return self._run(step)
        with readers.look() as tx:
            return step(tx)

    def _over(self, timeout: float | None) -> float | None:
        """When it is."""
        return None if timeout is None else self._system.clock.now() + timeout

    def _left(self, over: float | None) -> float | None:
        """Seconds until then."""
        return None if over is None else max(0.0, over - self._system.clock.now())

    def _waiting_until(self, over: float | None) -> NamedRef[Endings]:
        """Who tells of ends, for as long as is left; one that is just started again is waited for."""
        left = self._left(over)
        return self._endings.within(left, wait_for_name=PATIENCE if left is None else min(PATIENCE, left))

    def _raise_unless_again(self, error: CallExitError, over: float | None, late: NotEndedError) -> None:
        """Who tells of ends goes with the writer, and is back with it: while the engine is there, ask the next one.

        However long that takes: it is started when the duties have stopped, and an agent has its time for that.
        """
        if engine_name(self._name) not in self._system.names:
            raise error
        if self._left(over) == 0.0:
            raise late from None

    def _readers(self) -> Readers | None:
        """None for a store in memory, and for one that is about to be opened."""
        self._check()
        engine = engine_at(self._system, self._name)
        return engine.readers if engine is not None and engine.readers.is_open else None

    def _run(self, step: Callable[[Transaction], T]) -> T:
        self._check_store()
        found: T = self._writer.call(Writer.run, step)
        return found

    def _check(self) -> None:
        if engine_name(self._name) not in self._system.names:
            raise NoEngineError(self._name)

    def _check_store(self) -> None:
        """That somebody will answer soon: whoever waits for a server that hangs would be told nothing of it."""
        self._check()
        engine = engine_at(self._system, self._name)
        problem = None if engine is None else engine.health.hangs(self._system.clock.now())
        if problem is not None:
            raise problem

    def _begun(self) -> Any:  # Any: as `engine_at`
        engine = engine_at(self._system, self._name)
        if engine is None:
            raise NoEngineError(self._name)
        return engine

    def _staff(self) -> Staff:
        return Staff(self._system, self._begun().setup)


def _refuse(what: str, problem: str | None) -> None:
    if problem is not None:
        raise SpecError(what, problem)


def engine_name(name: str) -> str:
    """The name under which the engine itself is known in its system."""
    return f"{name}/engine"


def engine_at(system: System, name: str) -> Any:  # Any: an `Engine`, which knows this file
    """The engine itself; None while there is none that has begun.

    For any thread: its setup is frozen, its health and its readers are made for that.
    """
    ref = system.names.get(engine_name(name))
    engine = None if ref is None else ref.actor
    return engine if hasattr(engine, "readers") else None  # the last that its `init` sets
