"""The errors of the control socket, on both of its ends.

ControlError (OtpyError)
├── DirectoryError                     the socket directory is missing or not safe to use
├── SystemNameError (ValueError)       a system's name cannot be a file's name
├── WireError (ValueError)             bytes that are no frame: too long, too deep, not msgpack
├── BadRequestError (ValueError)       a request lacks a parameter, or names a verb that does not exist
├── RightsError (PermissionError)      the server's rights do not reach this verb
├── BusyError                          the server runs as many commands as it may
├── VersionError                       client and server speak different protocols
├── RefusedError (PermissionError)     the server turned this client away
├── NoSuchSystemError (LookupError)    no program of this name runs
├── NoAnswerError (TimeoutError)       the program took the connection and says nothing
├── GoneError (ConnectionError)        the program ended, or closed the connection
└── RemoteError                        the error a verb raised in the program, as text
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "NO_VERB",
    "BadRequestError",
    "BusyError",
    "ControlError",
    "DirectoryError",
    "GoneError",
    "NoAnswerError",
    "NoSuchSystemError",
    "RefusedError",
    "RemoteError",
    "RightsError",
    "SystemNameError",
    "VersionError",
    "WireError",
]


NO_VERB = "no verb"
"""How the text of a `BadRequestError` begins that is about a verb; by the kind and this it is known from afar."""


class ControlError(OtpyError):
    """Anything that goes wrong between a program and the terminal that looks at it."""


class DirectoryError(ControlError):
    """The directory for sockets is missing, or is not safe to use."""

    def __init__(self, path: object, problem: str) -> None:
        """Name the directory and the mend."""
        super().__init__(f"the socket directory {path} {problem}")
        self.path = str(path)


class SystemNameError(ControlError, ValueError):
    """A system's name cannot be the name of its socket."""

    def __init__(self, name: str, problem: str) -> None:
        """Name the name and what is wrong with it."""
        super().__init__(f"the system name {name[:80]!r} {problem}")
        self.name = name


class WireError(ControlError, ValueError):
    """Bytes that are no frame of this protocol; the connection they came on cannot be used any further."""


class BadRequestError(ControlError, ValueError):
    """A request that cannot be understood; the connection goes on."""


class RightsError(ControlError, PermissionError):
    """The program gives less rights over its control socket than the verb needs."""

    def __init__(self, verb: str, needed: str, given: str) -> None:
        """Name the verb and both rights."""
        remedy = f"start it with --control {needed}"
        super().__init__(f"{verb} needs the right {needed!r}; this program gives {given!r}: {remedy}")
        self.needed = needed
        self.given = given


class BusyError(ControlError):
    """The program runs as many commands at once as it may."""


class VersionError(ControlError):
    """The two ends speak different protocols."""

    def __init__(self, name: str, theirs: object, their_version: object, ours: int, our_version: str) -> None:
        """Name both protocols, both versions and the mend."""
        super().__init__(
            f"{name} speaks control protocol {theirs} (otpy {their_version}), this is protocol {ours} "
            f"(otpy {our_version}): use the otpy that {name} runs with"
        )


class RefusedError(ControlError, PermissionError):
    """The server turned this client away."""


class NoSuchSystemError(ControlError, LookupError):
    """No program of this name runs."""

    def __init__(self, message: str, running: Iterable[str] = ()) -> None:
        """Keep the names of those that do."""
        super().__init__(message)
        self.running = tuple(running)


class NoAnswerError(ControlError, TimeoutError):
    """The program took the connection and says nothing."""

    def __init__(self, name: str, pid: int | None, seconds: float) -> None:
        """Say what it usually is, and which process to look at."""
        which = f"pid {pid}" if pid else "pid unknown"
        super().__init__(
            f"the program does not answer: it may be in a call that keeps the interpreter lock; {which} "
            f"({name}, waited {seconds:g} s)"
        )
        self.name = name
        self.pid = pid
        self.seconds = seconds


class GoneError(ControlError, ConnectionError):
    """The program ended, is in the middle of that, or closed the connection."""


class RemoteError(ControlError):
    """An error that a verb raised in the program."""

    def __init__(self, kind: str, text: str) -> None:
        """Keep the class name of the original and its text, which is the whole message."""
        super().__init__(text or kind)
        self.kind = kind
        self.text = text

    @property
    def is_of_unknown_verb(self) -> bool:
        """Whether the program has no such verb: it runs an older otpy, or without the part that would answer."""
        return self.kind == "BadRequestError" and self.text.startswith(NO_VERB)
