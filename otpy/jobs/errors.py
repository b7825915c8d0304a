"""What goes wrong with jobs.

OtpyError
└── JobsError
    ├── ArgumentsError (TypeError)  what a job is given, or returns, cannot be kept
    ├── StoreError              the store failed; nothing of it is kept
    │   ├── StoreBusyError      another program has held it for too long
    │   ├── StoreFullError      the disk is full
    │   └── StoreBrokenError    the file is damaged, or is no store of otpy's
    └── StoreVersionError       a newer otpy has written it
"""

from __future__ import annotations

from otpy.errors import OtpyError

__all__ = [
    "ArgumentsError",
    "JobsError",
    "StoreBrokenError",
    "StoreBusyError",
    "StoreError",
    "StoreFullError",
    "StoreVersionError",
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


class StoreError(JobsError):
    """The store failed: what was asked of it has not happened, as a whole.

    Attributes:
        path: the file.
        problem: what it says.
    """

    def __init__(self, path: str, problem: str) -> None:
        """Keep both."""
        self.path = path
        self.problem = problem
        super().__init__(f"{path}: {problem}")


class StoreBusyError(StoreError):
    """Another program has held the store for longer than the time one waits."""


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
