"""What people call this program where there are several: by its machine, and its process there."""

from __future__ import annotations

import os
import socket

__all__ = ["program", "signed", "unsigned"]


def program() -> str:
    """`machine:pid`; in a forked child that of the child."""
    return f"{socket.gethostname()}:{os.getpid()}"


def signed(path: str) -> str:
    """An agent as all programs see it, for its path may be the same on each machine."""
    return f"{path}@{program()}"


def unsigned(owner: str) -> str:
    """The path of an agent of this program; one of another stays as it is."""
    return owner.removesuffix(f"@{program()}")
