"""Floor 5: durable jobs; a scheduler, disposable agents and their supervisors, with all state in a store.

Public is what `__all__` lists. Where what is behind it lies:

- What users declare: `kind`, `spec`, `retry`, `cron`, `decisions`, `setup`, `singleton`; `engine` looks it all over.
- What an engine is made of: `trees`. In each program `writer`, `herald` and `endings`; in those that do jobs `work`,
  with `scheduler/`, `agents/` and `lookout`; in the one that leads `duties`, with `janitor` and `timekeeper`.
- Who leads, or holds a name: `candidate`, and of it `leader` and what a `singleton` has; `steward` begins and ends what
  they are elected for. On a server `membership` says that the program is there.
- Who asks from outside of it: `client`, with `looking` and `replaying`; `inside` in a transaction of the caller's; over
  the control socket `verbs`, `host_verbs`, `doctor` and `foreseen`, for the engine that is the `addressee`.
- What is kept, and by what rules: `model/` are values, `verdict` and `store/picking` decide, `store/protocol` is what
  `store/sql/` does for all databases, each of which has a folder beside it for its own way.
"""

from __future__ import annotations

from otpy.jobs.agents.context import Running, current
from otpy.jobs.client import Client, of
from otpy.jobs.cron import Cron, cron
from otpy.jobs.decisions import Cancel, Dead, Snooze
from otpy.jobs.engine import engine
from otpy.jobs.errors import (
    ArgumentsError,
    BackupError,
    JobCancelledError,
    JobsError,
    KeyTakenError,
    LostJobError,
    NoEngineError,
    NoJobError,
    NoSuchCrewError,
    NoSuchJobError,
    NoSuchScheduleError,
    NoSuchVersionError,
    NotEndedError,
    NotLeadingError,
    OnceBusyError,
    StaleEpochError,
    StoreBrokenError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreVersionError,
    TransactionError,
)
from otpy.jobs.insertion import Enqueued
from otpy.jobs.inside import enqueue_in
from otpy.jobs.kind import Kind, job
from otpy.jobs.loan import Tx
from otpy.jobs.model.claim import Rate
from otpy.jobs.model.host import Host, HostLook
from otpy.jobs.model.job import Attempt, Earlier, Job
from otpy.jobs.model.lead import Fence, NameLook
from otpy.jobs.model.look import CrewLook, QueueLook, Readiness, ScheduleLook, StoreLook, Want
from otpy.jobs.model.new import Replayed
from otpy.jobs.model.server import Hindrance, ServerLook, TableLook
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew, Queue
from otpy.jobs.singleton import singleton
from otpy.jobs.spec import JobSpec

__all__ = [
    "ArgumentsError",
    "Attempt",
    "BackupError",
    "Cancel",
    "Client",
    "Crew",
    "CrewLook",
    "Cron",
    "Dead",
    "Earlier",
    "Enqueued",
    "Fence",
    "Hindrance",
    "Host",
    "HostLook",
    "Job",
    "JobCancelledError",
    "JobSpec",
    "JobsError",
    "KeyTakenError",
    "Kind",
    "LostJobError",
    "NameLook",
    "NoEngineError",
    "NoJobError",
    "NoSuchCrewError",
    "NoSuchJobError",
    "NoSuchScheduleError",
    "NoSuchVersionError",
    "NotEndedError",
    "NotLeadingError",
    "OnceBusyError",
    "Queue",
    "QueueLook",
    "Rate",
    "Readiness",
    "Replayed",
    "Retry",
    "Running",
    "ScheduleLook",
    "ServerLook",
    "Snooze",
    "StaleEpochError",
    "StoreBrokenError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreLook",
    "StoreVersionError",
    "TableLook",
    "TransactionError",
    "Tx",
    "Want",
    "cron",
    "current",
    "engine",
    "enqueue_in",
    "job",
    "of",
    "singleton",
]
