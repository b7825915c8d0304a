"""What is shown of an actor's inside: its last message with arguments, and its state; bounded, and without secrets.

All that shows either goes through here, and so through the actor's `redact`, the system's, and otpy's own rule. The
object is mutable and `redact` is its user's code: only the actor's own turn may ask for its portrait.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import chain, repeat
from types import CodeType, FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from otpy.core.masking import Verbatim, veil
from otpy.core.text import safe_repr, shorten, visible
from otpy.runtime.message import describe, payload

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from otpy.core.masking import Show
    from otpy.runtime.ref import Ref

__all__ = ["name_ref", "portrait", "show_of", "told"]

MAX_ATTRIBUTES = 20
"""Attributes shown of an actor."""
ATTRIBUTE_LIMIT = 200
"""Characters of one attribute."""
PORTRAIT_LIMIT = 2_000
"""Characters of all of them."""
REFS = ("otpy.runtime.ref", "otpy.runtime.named", "otpy.places.process.refs")
"""Where the classes of refs stand; importing them here would close a circle."""
MAX_WRAPPERS = 5
"""Decorators looked through for the names of a method's parameters."""
PLUMBING = ("trap_exit", "actor_urn", "actor_inbox", "actor_ref", "actor_stopped")
"""What otpy and pykka look at in each actor: no state of its own."""


def show_of(ref: Ref[Any]) -> Show:
    """What hides secrets of this actor: otpy's own rule, its `redact`, then the system's."""
    if ref.actor is None or not ref.actor_class.otpy_redacts:
        return ref.system.show
    return veil(ref.actor.redact, ref.system.show)


def name_ref(_: str, value: object) -> object:
    """A ref as its path, which is what a reader wants to know of it."""
    return Verbatim(repr(value)) if type(value).__module__ in REFS and hasattr(value, "is_alive") else value


def portrait(ref: Ref[Any], limit: int = PORTRAIT_LIMIT) -> tuple[tuple[str, str], ...]:
    """The public attributes of an actor, as names and bounded texts; runs in its own turn.

    Names that begin with an underscore, and what otpy and pykka themselves keep there, are left out.
    """
    show = show_of(ref)
    shown: list[tuple[str, str]] = []
    attributes = _attributes(getattr(ref.actor, "adopted", ref.actor))
    for name, value in attributes[:MAX_ATTRIBUTES]:
        text = safe_repr(value, min(ATTRIBUTE_LIMIT, limit), name=name, show=show)
        limit -= len(text) + len(name)
        shown.append((visible(name, 50), text))
        if limit <= 0:
            break
    if len(shown) < len(attributes):
        shown.append(("…", f"{len(attributes) - len(shown)} more"))
    return tuple(shown)


def told(ref: Ref[Any], message: object, limit: int = ATTRIBUTE_LIMIT) -> str:
    """A message as a call of its method, `cast put('a', 1)`, or `info 'x'`; runs in the actor's own turn."""
    show = show_of(ref)
    found = payload(message)
    if found is None:
        return describe(message, show)
    function, args, kwargs = found
    if not args and not kwargs:
        return describe(message, show)
    parts: list[str] = []
    room = limit
    for name, value, is_named in _arguments(function, args, kwargs):
        if room <= 0:
            break
        text = safe_repr(value, room, name=name, show=show)
        parts.append(f"{visible(name, 50)}={text}" if is_named else text)
        room -= len(parts[-1])
    return shorten(f"{describe(message, show)}({', '.join(parts)})", limit)


def _arguments(
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],  # Any: a user's function and what it gets
) -> Iterator[tuple[str, object, bool]]:
    """Each argument with its parameter's name, and whether it was given by name."""
    for _ in range(MAX_WRAPPERS):
        function = vars(function).get("__wrapped__", function) if isinstance(function, FunctionType) else function
    code = getattr(function, "__code__", None)
    names = code.co_varnames[1 : code.co_argcount] if isinstance(code, CodeType) else ()
    for value, name in zip(args, chain(names, repeat("")), strict=False):
        yield name, value, False
    for name, value in kwargs.items():
        yield name, value, True


def _is_public(name: object) -> bool:
    return type(name) is str and name[:1] != "_"


def _read_slots(actor: object, own: Mapping[str, object], stored: dict[str, object]) -> None:
    for name, slot in own.items():
        if isinstance(slot, MemberDescriptorType):
            with suppress(AttributeError):  # not set yet
                stored[name] = slot.__get__(actor)


_DICT = object.__getattribute__
_MRO = type.__dict__["__mro__"].__get__


def _attributes(actor: object) -> list[tuple[str, object]]:
    """What the actor keeps, read without running any code of its class."""
    stored: dict[str, object] = {}
    for cls in _MRO(type(actor)):
        own = vars(cls)
        if own.get("__module__", "").startswith("otpy."):
            break
        if own.get("__slots__"):
            _read_slots(actor, own, stored)
    with suppress(AttributeError):
        stored |= _DICT(actor, "__dict__")
    return [(name, value) for name, value in stored.items() if _is_public(name) and name not in PLUMBING]
