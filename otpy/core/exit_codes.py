"""How an otpy program or command ends, told to the shell; the table of `docs/reference/exit-codes.md`."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["ExitCode"]


class ExitCode(IntEnum):
    """The exit status of `otpy` and of every program it runs."""

    CLEAN = 0
    """The tree ended as it was told to, or the command did what was asked."""
    USAGE = 2
    """The command line cannot be used: an unknown option, a module that is not there, a program that does not run."""
    FAILED = 70
    """The tree gave up or did not start, `otpy health` found it not so, or the command could not be carried out.

    sysexits: EX_SOFTWARE.
    """
    LEFT_OVER = 75
    """The tree was stopped, and something outlived the deadline or was left undone by its drain; it was reported.

    Of a rehearsal: something would be late; of a roll: it was stopped before its end. sysexits: EX_TEMPFAIL.
    """
    KILLED = 137
    """The program was asked a third time to end, and ended without another word; what a shell shows for SIGKILL."""
    UNREAD = 141
    """Nobody read the command's output to its end, as in `otpy tree | head`; what a shell shows for SIGPIPE."""
