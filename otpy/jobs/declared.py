"""What an engine is given, looked over before anything is made of it: mistakes are told where they were written."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.decisions import MOST_SECONDS
from otpy.jobs.store.where import is_server, shown

if TYPE_CHECKING:
    from typing import TypeGuard

__all__ = ["is_seconds", "is_text", "whole_path"]

ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/|(?:\w+=\S*\s+)*(?:host|dbname|service)=")
"""How others write one: with another word before it, as for a library between, or by libpq's names. Each program would
have jobs of its own in a file of that name, and nobody would be told."""


def whole_path(engine: str, path: object) -> str:
    """The store's file as it is found also when the program's folder is another one, or its server's address.

    Raises:
        SpecError: it is neither, or an address that would be taken for a file.
    """
    if not isinstance(path, str | os.PathLike) or not is_text(os.fspath(path)):
        raise SpecError(engine, f"path={safe_repr(path)}: a file, or postgresql://…")
    found: str = os.fspath(path)
    if ADDRESS.match(found) and not is_server(found):
        raise SpecError(engine, f"path={safe_repr(shown(found))}: the address of a server begins with postgresql://")
    return found if found == ":memory:" or is_server(found) else str(Path(found).absolute())


def is_text(value: object) -> TypeGuard[str]:
    """Whether it is a text that can be written down, and says something."""
    try:
        return isinstance(value, str) and value.encode() != b"" and "\0" not in value
    except UnicodeEncodeError:
        return False


def is_seconds(value: object) -> TypeGuard[float]:
    """Whether it is a time above 0; of more than some thirty years nobody means all."""
    return is_number(value) and 0 < value < MOST_SECONDS
