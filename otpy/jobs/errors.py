"""What goes wrong with jobs.

OtpyError
└── JobsError
    ├── ArgumentsError (TypeError)  what a job is given, or returns, cannot be kept
    ├── BackupError             no copy of the store was made
    ├── JobCancelledError       the job that runs was cancelled
    ├── NotEndedError (TimeoutError)  a job has not ended in time
    ├── KeyTakenError           a key was used for another job
    ├── LostJobError            the attempt that runs is over
    ├── NoEngineError (LookupError)  no engine of that name runs
    ├── NoJobError              no job runs here
    ├── NoSuchCrewError (LookupError)  the engine has no crew of that name
    ├── NoSuchJobError (LookupError)  the store has no job of that number
    ├── NoSuchScheduleError (LookupError)  the store has no schedule of that name
    ├── NoSuchVersionError (LookupError)  no program that works on the store has that version
    ├── NotLeadingError         the agents are in another program
    ├── OnceBusyError           the same attempt is at it already
    ├── StaleEpochError         the epoch of a name is over, under which something was to be written
    ├── StoreError              the store failed; nothing of it is kept
    │   ├── StoreBusyError      another program has held it for too long
    │   │   ├── StoreLockedError    another program's transaction has what is wanted
    │   │   └── StoreConflictError  another program was in the way, and the same again does it
    │   ├── StoreFullError      the disk is full
    │   └── StoreBrokenError    the file is damaged, or is no store of otpy's
    ├── StoreVersionError       a newer otpy has written it
    └── TransactionError        a job's own transaction cannot be had, or is over
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.seconds import in_seconds
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ArgumentsError",
    "BackupError",
    "JobCancelledError",
    "JobsError",
    "KeyTakenError",
    "LostJobError",
    "NoEngineError",
    "NoJobError",
    "NoSuchCrewError",
    "NoSuchJobError",
    "NoSuchScheduleError",
    "NoSuchVersionError",
    "NotEndedError",
    "NotLeadingError",
    "OnceBusyError",
    "StaleEpochError",
    "StoreBrokenError",
    "StoreBusyError",
    "StoreConflictError",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreVersionError",
    "TransactionError",
]


class JobsError(OtpyError):
    """Anything that goes wrong with jobs."""


class ArgumentsError(JobsError, TypeError):
    """What a job is given, or returns, cannot be kept; nothing was enqueued.

    Attributes:
        problem: what stands in the way.
        kind: the job's.
    """

    def __init__(self, problem: str, kind: str = "a job") -> None:
        """Keep both."""
        self.problem, self.kind = problem, kind
        super().__init__(f"{kind}: its arguments cannot be kept: {problem}")


class BackupError(JobsError):
    """No copy of the store was made, and nothing is left of one; the store is well.

    Attributes:
        path: the file that it was to be.
        problem: what stands in the way.
    """

    def __init__(self, path: str, problem: str) -> None:
        """Keep both."""
        self.path, self.problem = path, problem
        super().__init__(f"{path}: no backup: {problem}")


class KeyTakenError(JobsError):
    """A key was used for another job, or a job with it is in the way; nothing of it was enqueued.

    Attributes:
        kind: the job's.
        key: the one that is taken.
        id: the job that has it.
    """

    def __init__(self, kind: str, key: str, id: int, *, is_unique: bool = False) -> None:
        """Keep them; `is_unique`: it is that of `unique`, of which `on_conflict="raise"` allows one."""
        self.kind, self.key, self.id = kind, key, id
        unique = f"job {id} has the unique key {key!r}, and on_conflict='raise' refuses a second one"
        other = f"the key {key!r} belongs to job {id}, which has another kind or other arguments"
        super().__init__(f"{kind}: {unique if is_unique else other}")


class NoEngineError(JobsError, LookupError):
    """No engine of that name runs in this system; nothing was done.

    Attributes:
        name: the one that was asked for.
    """

    def __init__(self, name: str) -> None:
        """Keep it."""
        self.name = name
        super().__init__(f"no engine {name!r} runs here: put jobs.engine(…) into the tree, and use its name")


class NoSuchJobError(JobsError, LookupError):
    """The store has no job of that number, or has forgotten it; nothing was done.

    Attributes:
        ids: the numbers.
    """

    def __init__(self, *ids: int) -> None:
        """Keep them."""
        self.ids = ids
        which = f"job {ids[0]}" if len(ids) == 1 else f"jobs {', '.join(map(str, ids))}"
        super().__init__(f"there is no {which}, or it is forgotten")


class NoSuchCrewError(JobsError, LookupError):
    """The engine has no crew of that name; nothing was done.

    Attributes:
        name: the one that was asked for.
    """

    def __init__(self, name: str, known: Sequence[str]) -> None:
        """Keep it, and name those that there are."""
        self.name = name
        super().__init__(f"no crew {safe_repr(name)}: {did_you_mean(str(name)[:80], known)}")


class NotLeadingError(JobsError):
    """There are no agents in this program: on a file another one leads, or nobody yet. Nothing was done.

    Attributes:
        name: the engine's.
    """

    def __init__(self, name: str) -> None:
        """Keep it."""
        self.name = name
        super().__init__(f"{name} does not lead in this program, which so has no agents")


class NoSuchScheduleError(JobsError, LookupError):
    """The store has no schedule of that name; nothing was done.

    Attributes:
        ids: the names.
    """

    def __init__(self, *ids: str) -> None:
        """Keep them."""
        self.ids = ids
        super().__init__(f"there is no schedule {', '.join(map(safe_repr, ids))}")


class JobCancelledError(JobsError):
    """The job that runs was cancelled; let it pass, and the attempt ends.

    Attributes:
        id: the job's.
    """

    def __init__(self, id: int) -> None:
        """Keep it."""
        self.id = id
        super().__init__(f"job {id} was cancelled")


class LostJobError(JobsError):
    """The attempt that runs is over, whatever it does: its job was taken back, and another one does it.

    Attributes:
        id: the job's.
    """

    def __init__(self, id: int) -> None:
        """Keep it."""
        self.id = id
        super().__init__(f"this attempt of job {id} is over; what it does now is not kept")


class OnceBusyError(JobsError):
    """The same attempt is at it already: `once` was called again, from within or beside it.

    Attributes:
        id: the job's.
        key: what is done once.
    """

    def __init__(self, id: int, key: str) -> None:
        """Keep both."""
        self.id, self.key = id, key
        super().__init__(f"job {id} is at {key!r} already; wait for that, or use another key")


class NoJobError(JobsError):
    """No job runs here: the function was simply called."""

    def __init__(self) -> None:
        """Say what to do."""
        super().__init__("no job runs here; jobs.current() is for functions that an agent calls")


class NoSuchVersionError(JobsError, LookupError):
    """No program that works on the store has this version; nothing was switched.

    Attributes:
        version: the one that was meant.
        known: those that programs have.
    """

    def __init__(self, version: str, known: Sequence[str]) -> None:
        """Keep both."""
        self.version, self.known = version, tuple(known)
        hint = did_you_mean(version[:80], self.known) if known else "none has any, as far as is known here"
        what = f"no program that works here has the version {safe_repr(version[:80])}: {hint}"
        super().__init__(f"{what}; force (--force) switches nevertheless")


class NotEndedError(JobsError, TimeoutError):
    """A job has not ended in time; it goes on.

    Attributes:
        id: the job.
        seconds: how long one has waited.
    """

    def __init__(self, id: int, seconds: float) -> None:
        """Keep both."""
        self.id, self.seconds = id, seconds
        super().__init__(f"job {id} has not ended within {seconds:g} s; it goes on")


class StaleEpochError(JobsError):
    """The epoch of a name is over, under which something was to be written; nothing of it is kept.

    Attributes:
        name: the name's.
        epoch: the one that is over; another program may hold the name under a later one.
    """

    def __init__(self, name: str, epoch: int) -> None:
        """Keep both."""
        self.name, self.epoch = name, epoch
        super().__init__(f"{safe_repr(name)}: epoch {epoch} is over, and another program may hold it: nothing is kept")


class StoreError(JobsError):
    """The store failed: what was asked of it has not happened, as a whole.

    Attributes:
        path: the file, or the address of the server without its password.
        problem: what it says.
        seconds: for how long nothing has been kept now; 0.0 when this is the first failure, or nobody counts.
        tries: how often that was tried.
    """

    def __init__(self, path: str, problem: str, *, seconds: float = 0.0, tries: int = 1) -> None:
        """Keep them."""
        self.path, self.problem = path, problem
        self.seconds, self.tries = seconds, tries
        lasting = f"; nothing has been kept for {in_seconds(seconds)}, in {tries} tries" if tries > 1 else ""
        super().__init__(f"{path}: {problem}{lasting}")


class StoreBusyError(StoreError):
    """Another program has held the store for longer than the time one waits."""


class StoreLockedError(StoreBusyError):
    """Another program's transaction has a row that is wanted, and went on for too long: other rows can be had."""


class StoreConflictError(StoreBusyError):
    """Another program was in the way, which the same again mends: the writer tries it a few times before it says so."""


class StoreFullError(StoreError):
    """The disk is full."""


class StoreBrokenError(StoreError):
    """The file is damaged, or is something else."""


class StoreVersionError(JobsError):
    """The file was written by a newer version of otpy, and would be spoilt by this one.

    Attributes:
        path: the file.
        found: its version.
        known: the newest one that is known here.
    """

    def __init__(self, path: str, found: int, known: int) -> None:
        """Keep them."""
        self.path, self.found, self.known = path, found, known
        super().__init__(f"{path} has version {found} of the schema, and this otpy knows {known}: run a newer one")


class TransactionError(JobsError):
    """A transaction of a job's own cannot be had here, was open for too long, or is asked for what is not its own.

    Attributes:
        what: the job, or its statement.
        problem: what stands in the way.
    """

    def __init__(self, what: str, problem: str) -> None:
        """Keep both."""
        self.what, self.problem = what, problem
        super().__init__(f"{what}: current().tx(): {problem}")
