"""Floor 5: durable jobs; a scheduler, disposable agents and their supervisors, with all state in a store."""

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
