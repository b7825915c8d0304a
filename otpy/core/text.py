"""Text that is safe to show: bounded, free of escape sequences, and made without running foreign code.

A `__repr__` may raise, recurse or take ten seconds, and Python has no way to interrupt it. So reports describe values
from the outside: what Python itself builds (numbers, text, containers, dataclasses, enums) is written out, anything
else is named by its class, and what is named like a secret is hidden (`otpy.core.masking`). Who wants an object's own
words passes a `box`, a function that runs them where they harm nobody, as `otpy.runtime.timebox.TimeBox` does on a
throw-away thread.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import datetime as dt
import enum
import reprlib
import sys
import types
from itertools import islice, zip_longest
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from otpy.core.masking import Verbatim, hide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.core.masking import Show

    Box = Callable[[Callable[[], str]], str]

__all__ = [
    "aloud",
    "exception_line",
    "place_line",
    "safe_repr",
    "safe_str",
    "shorten",
    "type_name",
    "visible",
    "visible_lines",
]

TEXT_LIMIT = 200
"""Characters of one value in a report, unless the caller says otherwise."""
MAX_ITEMS = 8
"""Items shown of one container."""
MAX_DEPTH = 4
"""Containers shown within each other."""
MAX_INT_BITS = 512
"""A longer int is named by its size: its digits cost quadratic time, and Python refuses more than 4 300 of them."""

LEAVES = frozenset(
    (
        *(Verbatim, type(None), bool, float, complex, range, types.EllipsisType, types.NotImplementedType),
        *(dt.date, dt.timedelta, dt.timezone),
    )
)
"""Exactly these types say themselves what they are: quickly, and without asking anything foreign."""

ALSO_LEAVES = {
    "Decimal": "decimal",
    "UUID": "uuid",
    "ZoneInfo": "zoneinfo",
    **dict.fromkeys(("PosixPath", "PurePosixPath", "WindowsPath", "PureWindowsPath"), "pathlib"),
}
"""So do these, by the module they are in: who has a value of such a type has imported it, otpy need not."""

BYTES = (bytes, bytearray)
SEQUENCES = (list, tuple)
CONTAINERS = frozenset((list, tuple, set, frozenset))
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType)

PYTHONS_OWN = frozenset(e for e in vars(builtins).values() if isinstance(e, type) and issubclass(e, BaseException))
"""The exceptions that most crashes are of."""

TRUSTED = sys.stdlib_module_names | {"otpy"}
"""Packages whose exceptions may write their own text, as long as they were given plain arguments."""

_CLASS_NAME = type.__dict__["__name__"].__get__
_CLASS_MODULE = type.__dict__["__module__"].__get__
_CLASS_MRO = type.__dict__["__mro__"].__get__
_CLASS_DICT = type.__dict__["__dict__"].__get__
_FILENAME = OSError.__dict__["filename"].__get__
_ARGUMENTS = BaseException.__dict__["args"].__get__
_KIND_OF = attrgetter("_field_type")
_FIELD = vars(dataclasses)["_FIELD"]
_GENERATED = (dataclasses.__file__, reprlib.__file__)
_NAMED = collections.__file__


def shorten(text: str, limit: int = TEXT_LIMIT) -> str:
    """At most `limit` characters; what is missing is marked by an ellipsis."""
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def visible(text: str, limit: int = TEXT_LIMIT) -> str:
    """One line of at most `limit` characters in which nothing acts on a terminal.

    Control characters, escape sequences, direction marks, invisible characters and lone surrogates are written as
    Python escapes; markup is left as it is, for it is text unless somebody parses it.
    """
    head = str.__str__(text)[: limit + 1]
    return shorten(head if head.isprintable() else "".join(map(_escaped, head)), limit)


def visible_lines(text: str, limit: int = 8_000, max_lines: int = 100) -> str:
    """As `visible`, keeping line breaks: the last `max_lines` lines, for a traceback ends with its cause."""
    lines = str.__str__(text)[-limit:].expandtabs(4).split("\n")
    missing = len(lines) - max_lines
    kept = [f"… {missing} lines left out", *lines[missing:]] if missing > 0 else lines
    return "\n".join(visible(line, limit) for line in kept)


def safe_str(value: object, limit: int = TEXT_LIMIT, *, box: Box | None = None) -> str:
    """What a value says, on one line: text as it is, an exception's message, anything else as `safe_repr`.

    Runs nothing foreign unless `box` is given: an exception with a `__str__` of its own is then asked inside it.
    """
    try:
        return visible(_spoken(value, limit, box), limit)
    except Exception:  # noqa: BLE001 - a report never fails for what it reports on
        return f"<{type_name(type(value))} that cannot be described>"


def safe_repr(
    value: object, limit: int = TEXT_LIMIT, *, box: Box | None = None, name: str = "", show: Show = hide
) -> str:
    """A value as Python would write it, on one line of at most `limit` characters.

    Runs nothing foreign unless `box` is given: `repr(value)` is then made inside it. Else `show(name, value)` says what
    is shown of the value, and of each one inside of it: by its key or field; an item has the name of its container.
    """
    try:
        return visible(box(lambda: repr(value)) if box else _Description(limit, show).of(value, 0, name), limit)
    except Exception:  # noqa: BLE001 - a report never fails for what it reports on
        return f"<{type_name(type(value))} that cannot be described>"


def exception_line(error: BaseException, limit: int = TEXT_LIMIT, *, box: Box | None = None) -> str:
    """An exception as the last line of a traceback: its class and its message."""
    text = safe_str(error, limit, box=box)
    return shorten(f"{type_name(type(error))}: {text}" if text else type_name(type(error)), limit)


def place_line(thread: str | None, frame: str | None) -> str:
    """Where somebody's code is, in words that follow "it is": `on otpy-2 at shop.py:5 in work`, or `at rest`."""
    on = f"on {thread} " if thread else ""
    return f"{on}at {frame or 'rest'}"


def aloud(words: Callable[[], str]) -> str:
    """The `box` of a thread in which an error was just raised: it may run what that error says of itself."""
    return words()


def type_name(cls: type) -> str:
    """A class's name, with its module unless it is a builtin; a metaclass has no say in it."""
    name, module = _CLASS_NAME(cls), _CLASS_MODULE(cls)
    plain = name if type(module) is not str or module in {"builtins", "__main__"} else f"{module}.{name}"
    return visible(plain)


def _escaped(character: str) -> str:
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")


def _spoken(value: object, limit: int, box: Box | None) -> str:
    kind = type(value)
    if issubclass(kind, str):
        return cast("str", value)
    if not issubclass(kind, BaseException):
        return _Description(limit).of(value)
    error = cast("BaseException", value)
    if _speaks_safely(error):
        return str(error)
    if box is not None:
        return box(lambda: str(error))
    return ", ".join(_argument(argument, limit) for argument in _ARGUMENTS(error)[:MAX_ITEMS])


def _argument(value: object, limit: int) -> str:
    """What an error was made with: of another error what that says, as a `URLError` has the `OSError` behind it."""
    if issubclass(type(value), BaseException) and _speaks_safely(cast("BaseException", value)):
        return str(value)
    return _Description(limit).of(value)


def _speaks_safely(error: BaseException) -> bool:
    """Whether `str(error)` runs only Python's own code: it was written by Python and has plain arguments."""
    known = type(error) in PYTHONS_OWN or _is_written_by_python(type(error))
    named = _FILENAME(error) if isinstance(error, OSError) else None
    arguments = _ARGUMENTS(error)
    if isinstance(error, BaseExceptionGroup):  # counts its exceptions, asks none
        arguments = arguments[:1]
    return known and _is_plain(named) and _is_plain(arguments)


def _is_written_by_python(kind: type) -> bool:
    writer = next(cls for cls in _CLASS_MRO(kind) if "__str__" in _CLASS_DICT(cls))
    module = _CLASS_MODULE(writer)
    return isinstance(module, str) and module.partition(".")[0] in TRUSTED


def _is_plain(value: object, depth: int = 0) -> bool:
    kind = type(value)
    if kind in {list, tuple}:
        items = cast("list[object]", value)
        return depth < MAX_DEPTH and len(items) <= 10 * MAX_ITEMS and all(_is_plain(item, depth + 1) for item in items)
    if kind is int:
        return cast("int", value).bit_length() <= MAX_INT_BITS
    return kind in {str, bytes} or _is_leaf(kind)


def _is_leaf(kind: type) -> bool:
    if kind in LEAVES:
        return True
    home = sys.modules.get(ALSO_LEAVES.get(_CLASS_NAME(kind), ""))
    return home is not None and vars(home).get(_CLASS_NAME(kind)) is kind


class _Description:
    """Writes one value within a budget of characters, so that breadth and depth cannot add up."""

    def __init__(self, limit: int, show: Show = hide) -> None:
        self.left = limit
        self.show = show

    def of(self, value: object, depth: int = 0, name: str = "") -> str:
        if self.left <= 0 or depth > MAX_DEPTH:
            return "…"
        value = self.show(name, value)
        try:
            text = self._leaf(value)
            if text is None:
                return self._whole(value, depth, name)
        except (RuntimeError, AttributeError, LookupError):  # another thread changes it while it is read
            text = _opaque(value)
        self.left -= len(text)
        return text

    def _leaf(self, value: object) -> str | None:
        kind = type(value)
        if _is_leaf(kind) or (kind in {dt.datetime, dt.time} and _has_known_zone(value)):
            return repr(value)
        if issubclass(kind, enum.Enum):
            return f"{type_name(kind)}.{vars(value).get('_name_')}"
        if issubclass(kind, str):
            return _quoted(str.__str__(cast("str", value)), self.left)
        if issubclass(kind, BYTES):
            return _quoted(bytes(memoryview(cast("bytes", value))[: self.left + 1]), self.left)
        if issubclass(kind, int):
            return _integer(cast("int", value))
        return f"<class {type_name(cast('type', value))}>" if issubclass(kind, type) else None

    def _whole(self, value: object, depth: int, name: str) -> str:
        kind = type(value)
        if issubclass(kind, dict):
            pairs = list(islice(dict.items(cast("dict[object, object]", value)), MAX_ITEMS + 1))
            return self._pairs(pairs, depth)
        if kind in CONTAINERS:
            return self._items(kind, list(islice(cast("Iterable[object]", value), MAX_ITEMS + 1)), depth, [name])
        if issubclass(kind, SEQUENCES) and not _has_own_repr(
            kind
        ):  # a named tuple or the like: read by the base class's own iterator
            walk = list.__iter__ if issubclass(kind, list) else tuple.__iter__
            items = list(islice(walk(cast("Any", value)), MAX_ITEMS + 1))
            return type_name(kind) + self._items(tuple, items, depth, _fields_of(kind) or [name])
        if _looked_up(kind, "__dataclass_fields__") is not None and _has_generated_repr(kind):
            return self._fields(value, depth)
        self.left -= len(opaque := _opaque(value))
        return opaque

    def _pairs(self, pairs: list[tuple[object, object]], depth: int) -> str:
        self.left -= 2
        shown = [
            f"{self.of(key, depth + 1)}: {self.of(item, depth + 1, _as_name(key))}" for key, item in pairs[:MAX_ITEMS]
        ]
        return "{" + ", ".join(shown + ["…"] * (len(pairs) > MAX_ITEMS)) + "}"

    def _items(self, kind: type, items: list[object], depth: int, names: list[str]) -> str:
        self.left -= 2
        if kind in SEQUENCES and len(items) == 2 and len(names) == 1:  # noqa: PLR2004 - a header is such a pair
            names = [names[0], _as_name(items[0]) or names[0]]
        named = zip_longest(items[:MAX_ITEMS], names[: len(items)], fillvalue=names[-1])
        shown = [self.of(item, depth + 1, str(name)) for item, name in named] + ["…"] * (len(items) > MAX_ITEMS)
        inner = ", ".join(shown)
        if kind is tuple:
            return f"({inner},)" if len(shown) == 1 else f"({inner})"
        if kind is list:
            return f"[{inner}]"
        braced = f"{{{inner}}}" if items else ""
        return braced if items and kind is set else f"{_CLASS_NAME(kind)}({braced})"

    def _fields(self, value: object, depth: int) -> str:
        kind = type(value)
        self.left -= len(name := _CLASS_NAME(kind)) + 2
        declared = cast("dict[str, dataclasses.Field[Any]]", _looked_up(kind, "__dataclass_fields__"))
        fields = [
            field for field in declared.values() if field.repr and _KIND_OF(field) is _FIELD
        ]  # as `dataclasses.fields`
        shown = [
            f"{field.name}={self.of(_stored(value, field.name), depth + 1, field.name)}" for field in fields[:MAX_ITEMS]
        ]
        return f"{name}({', '.join(shown + ['…'] * (len(fields) > MAX_ITEMS))})"


def _as_name(key: object) -> str:
    """A key as a name: text, or bytes as in headers."""
    if issubclass(type(key), str):
        return str.__str__(cast("str", key))
    return bytes(key[:100]).decode("latin-1") if type(key) is bytes else ""


def _fields_of(kind: type) -> list[str]:
    """The names of a named tuple's items."""
    fields = _looked_up(kind, "_fields")
    return [name for name in fields if isinstance(name, str)][:MAX_ITEMS] if type(fields) is tuple else []


def _has_known_zone(value: object) -> bool:
    """Of a `datetime`, which asks its time zone while it writes itself."""
    zone = type(cast("dt.time", value).tzinfo)
    return zone in {type(None), dt.timezone} or (_CLASS_NAME(zone) == "ZoneInfo" and _is_leaf(zone))


def _quoted(text: str | bytes, limit: int) -> str:
    return repr(text) if len(text) <= limit else repr(text[:limit]) + "…"


def _integer(value: int) -> str:
    bits = int.bit_length(value)
    return int.__repr__(value) if bits <= MAX_INT_BITS else f"<int of {bits} bits>"


def _opaque(value: object) -> str:
    function = value.__func__ if type(value) is types.MethodType else value
    if type(function) in FUNCTIONS:
        return f"<function {visible(str(cast('types.FunctionType', function).__qualname__))}>"
    return f"<{type_name(type(value))}>"


def _has_generated_repr(kind: type) -> bool:
    """Whether `dataclass` wrote it; one written by hand may hide a secret, so its fields stay hidden too."""
    written = _looked_up(kind, "__repr__")
    return type(written) is types.FunctionType and written.__code__.co_filename in _GENERATED


def _has_own_repr(kind: type) -> bool:
    """Whether that of a named tuple or the like was written by hand: it may hide a secret, as above."""
    written = _looked_up(kind, "__repr__")
    return type(written) is types.FunctionType and written.__code__.co_filename != _NAMED


def _looked_up(kind: type, name: str) -> object:
    """An attribute of a class or of one it is derived from, None without; neither it nor the metaclass has a say."""
    return next((own[name] for own in map(_CLASS_DICT, _CLASS_MRO(kind)) if name in own), None)


def _stored(value: object, field: str) -> object:
    """A field as stored, in the instance's dictionary or slot; a property of that name is not run."""
    for cls in _CLASS_MRO(type(value)):
        slot = _CLASS_DICT(cls).get(field)
        if isinstance(slot, types.MemberDescriptorType):
            return slot.__get__(value)
    return vars(value)[field]
