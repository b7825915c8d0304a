"""Frozen values: dataclasses that share what each would have generated, and compiled, in every program that starts."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, cast, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["value"]

C = TypeVar("C", bound=type)


@overload
def value(cls: C, /) -> C: ...
@overload
def value(*, kw_only: bool = False) -> Callable[[C], C]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: C | None = None, /, *, kw_only: bool = False) -> C | Callable[[C], C]:
    """As `@dataclass(frozen=True, slots=True)`, to checkers and to users of such a value, for two thirds of its cost.

    A dataclass writes the source of its methods and has it compiled, at each import: with the many values of otpy that
    was a third of the time. Here `__repr__`, `__eq__` and `__hash__` read the fields when they are called. For values
    that many look at and few compare: where equality has to be fast, `dataclass` is right.
    """

    def made(plain: C) -> C:
        frozen = cast("C", dataclass(frozen=True, slots=True, repr=False, eq=False, kw_only=kw_only)(plain))
        for name, method in _SHARED.items():
            if vars(frozen).get(name) is None:  # a class with an `__eq__` of its own has None for `__hash__`
                setattr(frozen, name, method)
        return frozen

    return made if cls is None else made(cls)


@recursive_repr()
def _repr(self: Any) -> str:  # Any: any value, here and below
    shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> object:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    hashed = (each for each in fields(self) if (each.compare if each.hash is None else each.hash))
    return hash(tuple(getattr(self, each.name) for each in hashed))


def _compared(one: Any) -> tuple[object, ...]:
    return tuple(getattr(one, each.name) for each in fields(one) if each.compare)


_SHARED = {"__repr__": _repr, "__eq__": _eq, "__hash__": _hash}
