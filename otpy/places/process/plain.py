"""Records as lists for the pipe, and back: what a process sends is checked field by field, for it may be anything."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from otpy.core.record import ActorRecord, DrainRecord, LateRecord, MailboxRecord, ProcessRecord, StateRecord

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["read", "to_list"]

T = TypeVar("T")


def to_list(record: object) -> object:
    """A record of `otpy.core.record` as a list of its fields; anything else as it is."""
    names = _NAMES.get(type(record))
    if names is not None:
        return [to_list(getattr(record, name)) for name in names]
    return [to_list(one) for one in record] if isinstance(record, tuple) else record


def read(kind: type[T], plain: object) -> T:
    """The record that `to_list` wrote.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(plain, list):
        raise ValueError(kind.__name__)  # noqa: TRY004 - one error for all that is not as it should be
    readers = _READERS[kind]
    return kind(**{name: reader(value) for (name, reader), value in zip(readers, plain, strict=True)})


def _exactly(*kinds: type) -> Callable[[object], object]:
    def reader(value: object) -> object:
        if type(value) not in kinds:
            raise ValueError(type(value).__name__)
        return value

    return reader


def _optional(reader: Callable[[object], object]) -> Callable[[object], object]:
    return lambda value: None if value is None else reader(value)


def _items(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("items")  # noqa: TRY004 - as above
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(type(one) is str for one in value):
        raise ValueError("texts")
    return tuple(value)


_BY_ANNOTATION: dict[object, Callable[[object], object]] = {
    "str": _exactly(str),
    "str | None": _optional(_exactly(str)),
    "int": _exactly(int),
    "float": _exactly(float, int),
    "float | None": _optional(_exactly(float, int)),
    "bool": _exactly(bool),
    "tuple[str, ...]": _texts,
    "tuple[LateRecord, ...]": lambda value: tuple(read(LateRecord, one) for one in _items(value)),
    "ProcessRecord | None": _optional(lambda value: read(ProcessRecord, value)),
}
_KINDS: tuple[type[Any], ...] = (ActorRecord, DrainRecord, LateRecord, MailboxRecord, ProcessRecord, StateRecord)
_NAMES = {kind: tuple(field.name for field in fields(kind)) for kind in _KINDS}
# A field of a new type fails here, at import, until it gets its reader.
_READERS = {kind: [(field.name, _BY_ANNOTATION[field.type]) for field in fields(kind)] for kind in _KINDS}
