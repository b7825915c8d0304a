"""States as bytes, with a version; what cannot be kept is named by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.plain import NotPlainError, pack_plain, unpack_plain
from otpy.core.text import safe_repr, type_name
from otpy.errors import StateError, StateFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["pack_state", "unpack_state"]

VERSION = 1
"""The first item of each; a later otpy may write them otherwise, and will still read these."""

DEEPEST = 20
"""Levels in which the part is looked for that is no plain data."""


def pack_state(path: str, data: object, max_bytes: int) -> bytes:
    """What `persist` of the actor at `path` has returned. Raises StateError, which names the key."""
    if type(data) is not dict:
        raise StateError(f"{path}: persist returned {type_name(type(data))}, not a dict of plain data")
    for key in data:
        if type(key) is not str:
            raise StateError(f"{path}: persist returned a dict with the key {safe_repr(key)}: keys are texts")
    try:
        packed = pack_plain([VERSION, data])
    except NotPlainError as error:
        where, why = next(_faults(data, ""), ("", error))
        raise StateError(f"{path}: persist(){where}: {why}") from None
    if len(packed) > max_bytes:
        raise StateError(f"{path}: persist() has {len(packed)} bytes, more than {max_bytes}: {_largest(data)}")
    return packed


def unpack_state(file: str, path: str, data: bytes | None) -> dict[str, Any]:
    """The state that was packed. Raises StateFileError."""
    try:
        version, state = unpack_plain(data or b"")
    except (NotPlainError, TypeError, ValueError) as error:
        raise StateFileError(file, f"the state of {path} cannot be read ({error})", "broken") from None
    if version != VERSION:
        raise StateFileError(file, f"the state of {path} was written by a newer otpy (version {version})")
    found: dict[str, Any] = state
    return found


def _faults(data: object, where: str, depth: int = 0) -> Iterator[tuple[str, NotPlainError]]:
    """The parts that cannot be packed, each with where it is, the innermost first."""
    try:
        pack_plain(data)
    except NotPlainError as error:
        if depth < DEEPEST:
            for key, each in _parts(data):
                yield from _faults(each, f"{where}[{safe_repr(key)}]", depth + 1)
        yield where, error


def _parts(data: object) -> Iterator[tuple[object, object]]:
    if isinstance(data, dict):
        yield from list(data.items())
    elif isinstance(data, list | tuple):
        yield from enumerate(data)


def _largest(data: dict[str, Any]) -> str:
    size, key = max((len(pack_plain(each)), key) for key, each in data.items())
    return f"{safe_repr(key)} alone has {size}"
