"""What goes over the pipe between a process child and its parent, as msgpack; bytes in, values out.

The parent may pickle what msgpack cannot carry, for its child runs the same code. What comes from a child is never
unpickled: it may carry plain data, tuples, sets, exit reasons and refs, and nothing else.
"""

from __future__ import annotations

import io
import pickle
import struct
from dataclasses import fields, is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgpack

from otpy import errors
from otpy.actors.children import ChildCounts, ChildInfo
from otpy.core import reason as reasons
from otpy.core.frames import Frame
from otpy.core.reason import Exit, Reason
from otpy.core.text import exception_line, safe_repr, type_name
from otpy.errors import OtpyError, UncarriableError
from otpy.runtime.ref import Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["MAX_FRAME", "PREFIX", "Decoder", "Encoder", "GarbageError", "error_of", "error_parts"]

HEADER = struct.Struct(">I")
"""Before each message: its length in bytes."""

HEADER_SIZE = HEADER.size

PREFIX = HEADER.pack

MAX_FRAME = 64 * 1024 * 1024
"""Bytes of one message; what is larger belongs into a file or shared memory."""

MAX_DEPTH = 64
"""Tuples, sets and reasons in each other; what is nested deeper is refused by who would send it."""

ON_STACK = 4
"""Of those, as many are decoded by the C code whose state, 40 KB each, is on the thread's stack."""

TUPLE, SET, FROZENSET, INT, REASON, REF, PICKLE = range(1, 8)
"""The codes of msgpack's extension types, for what it cannot carry by itself."""

REASONS = {name: getattr(reasons, name) for name in reasons.__all__ if is_dataclass(getattr(reasons, name))}
REASONS |= {"Frame": Frame, "ChildCounts": ChildCounts, "ChildInfo": ChildInfo}
"""Exit reasons and the values that stand in them, and what supervisors answer, by name."""


_TOO_DEEP = "it holds itself, or is nested too deep"


class GarbageError(Exception):
    """What came over the pipe is no message."""


class Encoder:
    """Values to bytes; for any thread.

    Args:
        ref: a ref as the other side knows it, or None for what is no ref.
        pickles: whether the other side may be trusted with a pickle of ours: the parent's side alone.
    """

    def __init__(self, ref: Callable[[object], object], *, pickles: bool) -> None:
        """Encode for one pipe."""
        self._ref = ref
        self._pickles = pickles

    def packer(self, depth: int = 0) -> msgpack.Packer:
        """What encodes one message after the other, for one thread at a time; or what is so deep in one."""
        if depth > MAX_DEPTH:
            raise UncarriableError(_TOO_DEEP)
        return msgpack.Packer(default=partial(self._odd, depth + 1), strict_types=True, unicode_errors="surrogatepass")

    def encode(self, value: object, depth: int = 0) -> bytes:
        """One value. Raises UncarriableError."""
        try:
            data: bytes = self.packer(depth).pack(value)
        except BaseException as error:
            self.refuse(error)
            raise
        self.check(len(data))
        return data

    def refuse(self, error: BaseException) -> None:
        """Raise UncarriableError in the place of an error of a packer, if it says that."""
        if isinstance(error, RecursionError):
            raise UncarriableError(_TOO_DEEP) from None
        if isinstance(error, TypeError | ValueError | OverflowError) and not isinstance(error, UncarriableError):
            raise UncarriableError(exception_line(error)) from None

    def check(self, size: int) -> None:
        """Raise UncarriableError when it is too much for one message."""
        if size > MAX_FRAME:
            raise UncarriableError(f"it has {size} bytes, more than {MAX_FRAME}")

    def _odd(self, depth: int, value: object) -> msgpack.ExtType:
        kind = type(value)
        if kind is tuple:
            return self._ext(TUPLE, list(value), depth)  # type: ignore[call-overload]  # its class says it can be iterated
        if kind is set or kind is frozenset:
            return self._ext(SET if kind is set else FROZENSET, list(value), depth)  # type: ignore[call-overload]  # as above
        if kind is int:
            return msgpack.ExtType(INT, hex(value).encode())  # type: ignore[arg-type]  # its class says so
        if isinstance(value, Reason) or REASONS.get(kind.__name__) is kind:
            return self._reason(value, depth)
        known = self._ref(value)
        if known is not None:
            return self._ext(REF, known, depth)
        if not self._pickles:
            raise UncarriableError(f"{type_name(kind)} is no plain data; a process child sends and replies plain data")
        return msgpack.ExtType(PICKLE, self._pickle(value))

    def _ext(self, code: int, value: object, depth: int) -> msgpack.ExtType:
        return msgpack.ExtType(code, self.encode(value, depth))

    def _reason(
        self, value: Any, depth: int
    ) -> msgpack.ExtType:  # Any: a dataclass of the registry, or a user's reason
        kind = type(value)
        if REASONS.get(kind.__name__) is not kind:
            return self._ext(REASON, ["Exit", [safe_repr(value)]], depth)
        parts = [getattr(value, field.name) for field in fields(kind)]
        try:
            return self._ext(REASON, [kind.__name__, parts], depth)
        except UncarriableError:
            if kind in (Exit, reasons.Shutdown):
                return self._ext(REASON, [kind.__name__, [safe_repr(parts[0])]], depth)
            raise

    def _pickle(self, value: object) -> bytes:
        file = io.BytesIO()
        try:
            _Pickler(file, self).dump(value)
        except UncarriableError:
            raise
        except Exception as error:
            line = exception_line(error)
            mend = "; define it at the top level of a module" if "<locals>" in line or "<lambda>" in line else ""
            raise UncarriableError(f"{type_name(type(value))}: {line}{mend}") from None
        return file.getvalue()


class _Pickler(pickle.Pickler):
    """Carries the refs inside of pickled objects, too."""

    def __init__(self, file: io.BytesIO, encoder: Encoder) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._encoder = encoder

    def persistent_id(self, value: object) -> object:
        return self._encoder._ref(value)  # noqa: SLF001 - one class in two pieces


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, ref: Callable[[Any], object]) -> None:
        super().__init__(io.BytesIO(data))
        self._ref = ref

    def persistent_load(self, known: object) -> object:
        return self._ref(known)


class Decoder:
    """Bytes to values, for the one thread that reads the pipe.

    Args:
        ref: the ref behind what the other side's `Encoder` made of one; raises LookupError for a stranger.
        pickles: whether to load pickles: the child's side alone.
    """

    def __init__(self, ref: Callable[[Any], object], *, pickles: bool) -> None:
        """Decode one pipe."""
        self._ref = ref
        self._makers: dict[int, Callable[[Any], object]] = {
            TUPLE: tuple,
            SET: set,
            FROZENSET: frozenset,
            REASON: _reason,
            REF: ref,
        }
        self._pickles = pickles
        self._failure: Exception | None = None
        self._hooks = [partial(self._ext, depth) for depth in range(1, MAX_DEPTH + 2)]
        self._rest = bytearray()
        self._wanted = HEADER_SIZE

    @property
    def is_amid(self) -> bool:
        """Whether a part of a message is here, and the rest is not."""
        return bool(self._rest)

    def feed(self, data: bytes) -> Iterator[tuple[list[Any], Exception | None]]:
        """The messages that are complete with these bytes, each with what made a part of it unreadable.

        Raises:
            GarbageError: it is no message.
        """
        if self._rest:
            self._rest += data
            if len(self._rest) < self._wanted:
                return
            data = bytes(self._rest)
            self._rest = bytearray()
        at, size, length_at, decode = 0, len(data), HEADER.unpack_from, self._decode
        while size - at >= HEADER_SIZE:
            (length,) = length_at(data, at)
            start = at + HEADER_SIZE
            if length > MAX_FRAME:
                raise GarbageError("it sent garbage, or a message that is too large")
            if start + length > size:
                self._wanted = HEADER_SIZE + length
                break
            at = start + length
            yield decode(data[start:at])
        else:
            self._wanted = HEADER_SIZE
        if at < size:
            self._rest += data[at:]

    def only(self, data: bytes) -> list[Any] | None:
        """The message, if this is one and nothing else; for any thread, when no pickles are loaded.

        Raises:
            GarbageError, LookupError: as `feed`.
        """
        if len(data) < HEADER_SIZE or HEADER.unpack_from(data)[0] != len(data) - HEADER_SIZE:
            return None
        return self._decode(data[HEADER_SIZE:])[0]

    def _decode(self, data: bytes) -> tuple[list[Any], Exception | None]:
        self._failure = None
        try:
            frame = msgpack.unpackb(data, ext_hook=self._hooks[0], strict_map_key=False, unicode_errors="surrogatepass")
        except (msgpack.UnpackException, ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
            raise GarbageError(f"it sent garbage ({type(error).__name__})") from None
        if type(frame) is not list or not frame or type(frame[0]) is not int:
            raise GarbageError(f"it sent {safe_repr(frame, 100)}")
        return frame, self._failure

    def _ext(self, depth: int, code: int, data: bytes) -> object:
        if code == PICKLE and self._pickles:
            try:
                return _Unpickler(data, self._ref).load()
            except Exception as error:
                self._failure = error
                return None
        if code == INT:
            return int(data, 16)
        if code > PICKLE:
            return msgpack.ExtType(code, data)  # one of the user's own, which is plain data
        make = self._makers.get(code)
        if make is None:
            raise ValueError(code)
        return make(self._unpack(depth, data))

    def _unpack(self, depth: int, data: bytes) -> object:
        """What stands so deep in a message. LookupError: it is nested deeper than anybody sends it."""
        hook = self._hooks[depth]
        if depth < ON_STACK:
            return msgpack.unpackb(data, ext_hook=hook, strict_map_key=False, unicode_errors="surrogatepass")
        unpacker = msgpack.Unpacker(
            ext_hook=hook, strict_map_key=False, unicode_errors="surrogatepass", max_buffer_size=MAX_FRAME, read_size=1
        )
        unpacker.feed(data)
        value: object = unpacker.unpack()
        if unpacker.tell() != len(data):
            raise ValueError(len(data))
        return value


_FITS: dict[object, Callable[[object], bool]] = {
    "str": lambda value: type(value) is str,
    "int": lambda value: type(value) is int,
    "float": lambda value: type(value) in (int, float),
    "object": lambda _: True,
    "Ref[Any] | None": lambda value: value is None or isinstance(value, Ref),
    "Literal['running', 'restarting', 'stopped', 'failed']": lambda value: type(value) is str,
    "Literal['worker', 'supervisor']": lambda value: type(value) is str,
    "Reason": lambda value: isinstance(value, Reason),
    "Crashed | None": lambda value: value is None or type(value) is reasons.Crashed,
    "tuple[Frame, ...]": lambda value: type(value) is tuple and all(type(one) is Frame for one in value),
    "tuple[Restart, ...]": lambda value: type(value) is tuple and all(type(one) is reasons.Restart for one in value),
}
"""What may stand in a field, by its annotation: a reason is printed and compared by those who trust it."""


def _reason(value: Any) -> object:
    name, parts = value
    kind = REASONS[name]
    for field, part in zip(fields(kind), parts, strict=True):
        if not _FITS[field.type](part):
            raise ValueError(name)
    return kind(*parts)


def error_parts(error: BaseException) -> tuple[str, str, dict[str, object]]:
    """An error as data: its class, what it says, and those of its facts that can be carried."""
    facts: dict[str, object] = {
        name: value for name, value in vars(error).items() if isinstance(value, str | float | int | Reason)
    }
    return type(error).__name__, str(error), facts


def error_of(name: object, text: object, facts: object) -> OtpyError:
    """The error behind its data: one of otpy's own, or the plain one."""
    kind = getattr(errors, str(name), None) if name in errors.__all__ else None
    if not (isinstance(kind, type) and issubclass(kind, OtpyError)):
        return OtpyError(str(text))
    error = kind.__new__(kind)
    error.args = (str(text),)
    if isinstance(facts, dict):
        vars(error).update({word: fact for word, fact in facts.items() if type(word) is str})
    return error
