"""The agents: each does one job after the other, tells the scheduler how it went, and never sees the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Continue
from otpy.core.text import exception_line
from otpy.jobs.agents.context import CURRENT, Running
from otpy.jobs.args import decode, pack
from otpy.jobs.decisions import Cancel, Dead, Snooze
from otpy.jobs.errors import ArgumentsError
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.jobs.kind import Kind
    from otpy.jobs.model import Job
    from otpy.jobs.setup import Crew
    from otpy.runtime.named import NamedRef

__all__ = ["Agent", "AsyncAgent", "Report"]

Report: TypeAlias = tuple[str, Any]
"""How an attempt went, as plain data: it may come out of a process."""


class _Doing(GenServer):
    """What both kinds share."""

    def init(self, scheduler: NamedRef[Any], crew: Crew, kinds: dict[str, Kind[..., Any]]) -> Continue:
        """Know what it can do; nothing else lives here."""
        self.scheduler, self.crew, self.kinds = scheduler, crew, kinds
        return Continue("join")

    def handle_continue(self, term: object) -> None:  # noqa: ARG002 - there is one
        """Say that it is there."""
        from otpy.jobs.scheduler.scheduler import Scheduler  # noqa: PLC0415 - the two know each other

        self.scheduler.cast(Scheduler.join, self.ref, self.crew)

    def tell(self, job: Job, report: Report) -> None:
        """Say how it went."""
        from otpy.jobs.scheduler.scheduler import Scheduler  # noqa: PLC0415 - as above

        self.scheduler.cast(Scheduler.report, self.ref, job.id, job.token, report)


class Agent(_Doing):
    """Does jobs that are plain functions, in the turn of the message that brings them."""

    @cast
    def work(self, job: Job) -> None:
        """Do one."""
        kind = self.kinds[job.kind]
        token = CURRENT.set(Running(job))
        try:
            args, kwargs = decode(job.args)
            report = _report(kind.function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - it is the job's; what is no Exception ends the agent
            report = _failure(kind, error)
        finally:
            CURRENT.reset(token)
        self.tell(job, report)


class AsyncAgent(_Doing):
    """Does jobs that are coroutine functions, on the event loop."""

    @cast
    async def work(self, job: Job) -> None:
        """Do one."""
        kind = self.kinds[job.kind]
        token = CURRENT.set(Running(job))
        try:
            args, kwargs = decode(job.args)
            report = _report(await kind.function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as above
            report = _failure(kind, error)
        finally:
            CURRENT.reset(token)
        self.tell(job, report)


def _report(result: object) -> Report:
    """What a handler returned."""
    match result:
        case Snooze(seconds=seconds):
            return "snoozed", float(seconds)
        case Cancel(reason=reason):
            return "cancelled", reason
        case Dead(reason=reason):
            return "dead", reason
    return "done", pack(result)


def _failure(kind: Kind[..., Any], error: Exception) -> Report:
    """What it raised; a result that cannot be kept is a failure of its own kind."""
    failure = "stale" if isinstance(error, ArgumentsError) else "error"
    facts = {"failure": failure, "text": exception_line(error), "action": kind.retry.action(error)}
    return "failed", {**facts, "retry_after": kind.retry.wish(error)}
