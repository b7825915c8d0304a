"""The agents: each does one job after the other, tells the scheduler how it went, and never sees the store."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Continue
from otpy.core.late import asyncio, is_cancelled
from otpy.jobs.agents.attempt import may_begin, report_of, report_of_failure
from otpy.jobs.agents.context import CURRENT, Flag, Running
from otpy.jobs.agents.desk import Desk
from otpy.jobs.agents.ear import Ear
from otpy.jobs.agents.office import Bank, Office
from otpy.jobs.args import decode
from otpy.resilience.permit import lent
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from types import FrameType

    from otpy.jobs.agents.attempt import Report
    from otpy.jobs.agents.ledger import Ledger
    from otpy.jobs.kind import Kind
    from otpy.jobs.model.job import Job
    from otpy.resilience.permit import Permit
    from otpy.runtime.named import NamedRef
    from otpy.runtime.ref import Ref

__all__ = ["Agent", "AsyncAgent"]


class _Doing(GenServer):
    """What all of them share. They trap exits: one that is told to stop ends its job first, while there is time."""

    trap_exit = True
    otpy_is_answered_for = True

    def init(
        self, engine: str, crew: str, kinds: dict[str, Kind[..., Any]], *, is_apart: bool = False, loan: float = 1.0
    ) -> Continue:
        """Know what it can do; nothing else lives here.

        `is_apart`: it has a process of its own. `loan`: seconds for which a job may have the writer.
        """
        self.scheduler: NamedRef[Desk] = self.system.ref(f"{engine}/scheduler")
        ledger: NamedRef[Ledger] = self.system.ref(f"{engine}/ledger")
        self.office = Office(self.ref, self.scheduler, ledger, None if is_apart else Bank(self.system, engine, loan))
        self.crew, self.kinds = crew, kinds
        self.doing: tuple[Job, Flag] | None = None
        self.task: tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]] | None = None
        self.ear: Ref[Ear] | None = None
        if is_apart:
            signal.signal(signal.SIGTERM, self._heed)
            self.ear = self.spawn_link(Ear, self)
        return Continue("join")

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows what it does."""
        doing = getattr(self, "doing", None)
        return "Agent" if doing is None else "Agent at job {0.id}, {0.kind}, attempt {0.attempt}".format(*doing)

    def handle_continue(self, term: object) -> None:  # noqa: ARG002 - there is one
        """Say that it is there."""
        self.scheduler.cast(Desk.join, self.ref, self.crew, self.ear)

    def begin(self, job: Job, until: float | None, flag: Flag | None) -> Running:
        """Begin one; `flag` is set when it is cancelled, and is made here when it could not come along."""
        own = Flag() if flag is None else flag
        self.doing = job, own
        return Running(job, until, self.office, own)

    @property
    def is_leaving(self) -> bool:
        """Whether the job is to leave, and nobody has cancelled it."""
        return self.doing is not None and self.doing[1].is_leaving and not self.doing[1].is_up

    def tell(self, job: Job, report: Report) -> None:
        """Say how it went."""
        self.doing = None
        self.scheduler.cast(Desk.report, self.ref, job.id, job.token, report)

    def _heed(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002 - as signal has it
        """SIGTERM, from whomever: the job is told to leave, and goes on as long as it is let."""
        doing = self.doing
        if doing is not None:
            doing[1].is_leaving = True


class Agent(_Doing):
    """Does jobs in the turn of the message that brings them; those that are coroutines on a loop of their own."""

    @cast
    def work(self, job: Job, until: float | None, flag: Flag | None, permits: tuple[Permit, ...]) -> None:
        """Do one."""
        kind = self.kinds[job.kind]
        token = CURRENT.set(self.begin(job, until, flag))
        try:
            args, kwargs = decode(job.args)
            if kind.early_ack:
                may_begin(job, self.office.acknowledge(job))
            with lent(kind.breakers, permits):
                result = kind.function(*args, **kwargs)
                report = report_of(kind, asyncio.run(self.awaited(result)) if kind.is_async else result)
        except BaseException as error:
            if not isinstance(error, Exception) and not is_cancelled(error):
                raise  # it is not the job's: it ends the agent
            report = report_of_failure(kind, error, is_leaving=self.is_leaving)
        finally:
            CURRENT.reset(token)
        self.tell(job, report)

    async def awaited(self, coroutine: Coroutine[Any, Any, object]) -> object:
        """What it returns; meanwhile the ear knows what to cancel."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - `asyncio.run` has made one
        self.task = (asyncio.get_running_loop(), task)
        try:
            return await coroutine
        finally:
            self.task = None


class AsyncAgent(_Doing):
    """Does jobs that are coroutine functions, on the event loop."""

    @cast
    async def work(self, job: Job, until: float | None, flag: Flag | None, permits: tuple[Permit, ...]) -> None:
        """Do one. When the agent is killed its coroutine is cancelled; one that cancels itself has failed."""
        kind = self.kinds[job.kind]
        token = CURRENT.set(self.begin(job, until, flag))
        try:
            args, kwargs = decode(job.args)
            if kind.early_ack:
                may_begin(job, await self.office.aacknowledge(job))
            with lent(kind.breakers, permits):
                report = report_of(kind, await kind.function(*args, **kwargs))
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            report = report_of_failure(kind, error)
        except Exception as error:  # noqa: BLE001 - it is the job's; what is no Exception ends the agent
            report = report_of_failure(kind, error)
        finally:
            CURRENT.reset(token)
        self.tell(job, report)
