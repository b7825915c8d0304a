"""Frozen values: dataclasses that share what each would have generated, and compiled, in every program that starts."""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

from otpy.core.absent import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["value"]

C = TypeVar("C", bound=type)
Fields = dict[str, Field[Any]]  # Any: what a field holds


@overload
def value(cls: C, /) -> C: ...
@overload
def value(*, kw_only: bool = False) -> Callable[[C], C]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: C | None = None, /, *, kw_only: bool = False) -> C | Callable[[C], C]:
    """As `@dataclass(frozen=True, slots=True)`, to checkers and to users of such a value, for a quarter of its cost.

    A dataclass writes the source of its methods and has it compiled, at each import: with the many values of otpy that
    was a third of the time. Here they read the fields when they are called, but for `__init__`, which is compiled when
    the first value is made. For values that many look at and few compare: where equality has to be fast, `dataclass`
    is right.
    """

    def made(plain: C) -> C:
        own = {each.name: each for each in _own_fields(plain, kw_only=kw_only)}
        return _with_slots(plain, own, _inherited_fields(plain) | own)

    return made if cls is None else made(cls)


def _own_fields(plain: type, *, kw_only: bool) -> tuple[Field[Any], ...]:
    """Those that the body of `plain` names, as `dataclass` reads them from a class that has nothing else."""
    types = plain.__annotations__
    if not types:
        return ()
    body: dict[str, object] = {name: default for name, default in vars(plain).items() if name in types}
    body |= {"__annotations__": types, "__module__": plain.__module__, "__doc__": plain.__name__}
    bare = type(plain.__name__, (), body)
    return fields(dataclass(init=False, repr=False, eq=False, match_args=False, kw_only=kw_only)(bare))


def _inherited_fields(plain: type) -> Fields:
    inherited: Fields = {}
    for base in reversed(plain.__mro__):
        inherited |= vars(base).get("__dataclass_fields__", {})
    return inherited


def _with_slots(plain: C, own: Fields, known: Fields) -> C:
    """`plain` made once more, as it has fields: a class is given its slots when it is made, or never."""
    there = {slot for base in plain.__mro__ for slot in vars(base).get("__slots__", ())}
    kept = {name: found for name, found in vars(plain).items() if name not in own and not _is_of_plain(name, found)}
    body = {
        **_SHARED,
        "__init__": _LateInit(),
        "__match_args__": tuple(each.name for each in known.values() if each.init and not each.kw_only),
        **kept,
        "__dataclass_fields__": known,
        "__slots__": tuple(name for name in own if name not in there),
    }
    made = type(plain)(plain.__name__, plain.__bases__, body)
    made.__qualname__ = plain.__qualname__
    return made


def _is_of_plain(name: str, found: object) -> bool:
    """Whether a class has it for want of slots, or has no hash for it has an `__eq__`."""
    return name in {"__dict__", "__weakref__"} or (name == "__hash__" and found is None)


class _LateInit:
    """Stands for the `__init__` of a value until the first is made, or somebody asks for the signature."""

    def __set_name__(self, cls: type, name: str) -> None:
        """It has been put into the class."""
        self.cls = cls

    def __get__(self, one: object, cls: type | None = None) -> object:
        """Puts the real one in its own place; of two threads that come at once each makes one, and either is right."""
        init = _compiled_init(self.cls)
        self.cls.__init__ = init  # type: ignore[misc]  # what a class is for, to mypy
        return init.__get__(one, cls)


def _compiled_init(cls: Any) -> Any:  # Any: the class of a value; a function
    """As a frozen dataclass has it: as fast, and as `inspect.signature` and `typing.get_type_hints` know it."""
    every = fields(cls)
    given = sorted((each for each in every if each.init), key=lambda each: bool(each.kw_only))
    first_named = next((at for at, each in enumerate(given) if each.kw_only), len(given))
    parameters = ["self", *map(_parameter, given)]
    parameters[first_named + 1 : first_named + 1] = ["*"] * (first_named < len(given))
    lines = [f"_object.__setattr__(self, {each.name!r}, {_stored(each)})" for each in every if _has_start(each)]
    lines += ["self.__post_init__()"] if hasattr(cls, "__post_init__") else ["pass"]
    source = f"def __init__({', '.join(parameters)}):\n  " + "\n  ".join(lines)
    known = {"_object": object, "ABSENT": ABSENT}
    known |= {f"_default_{each.name}": each.default for each in every if each.default is not MISSING}
    known |= {f"_make_{each.name}": each.default_factory for each in every if each.default_factory is not MISSING}
    made: dict[str, Any] = {}
    code = compile(f"def made({', '.join(known)}):\n {source}\n return __init__", "<string>", "exec", dont_inherit=True)
    # Not the text: CPython would take a program that Ctrl-C ends meanwhile for one that has failed.
    exec(code, vars(sys.modules[cls.__module__]), made)  # noqa: S102 - as dataclasses do
    init = made["made"](**known)
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in given} | {"return": None}
    return init


def _has_start(each: Field[Any]) -> bool:
    return each.init or each.default is not MISSING or each.default_factory is not MISSING


def _parameter(each: Field[Any]) -> str:
    if each.default is not MISSING:
        return f"{each.name}=_default_{each.name}"
    return each.name if each.default_factory is MISSING else f"{each.name}=ABSENT"


def _stored(each: Field[Any]) -> str:
    if each.default_factory is MISSING:
        return each.name if each.init else f"_default_{each.name}"
    return f"_make_{each.name}() if {each.name} is ABSENT else {each.name}" if each.init else f"_make_{each.name}()"


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


def _setattr(self: Any, name: str, new: object) -> None:
    if _is_frozen(self, name):
        msg = f"cannot assign to field {name!r}"
        raise FrozenInstanceError(msg)
    object.__setattr__(self, name, new)


def _delattr(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        msg = f"cannot delete field {name!r}"
        raise FrozenInstanceError(msg)
    object.__delattr__(self, name)


def _is_frozen(one: Any, name: str) -> bool:
    """Not what a plain class that derives from a value adds to it."""
    return "__dataclass_fields__" in vars(type(one)) or name in one.__dataclass_fields__


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class _Sample:
    """Has what all of them have alike from dataclasses."""


_ALIKE = ("__dataclass_params__", "__getstate__", "__setstate__", "__replace__")  # the last from Python 3.13 on
_SHARED = {
    **{name: vars(_Sample)[name] for name in _ALIKE if name in vars(_Sample)},
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
