"""Reports describe anything: what raises, recurses, takes ten seconds, or would act on a terminal."""

from __future__ import annotations

import collections
import datetime as dt
import enum
import subprocess
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any
from urllib.error import URLError
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otpy.core.text import exception_line, safe_repr, safe_str, shorten, type_name, visible, visible_lines


class Foreign:
    """Every way into its code fails the test that takes it."""

    def __repr__(self) -> str:
        pytest.fail("foreign code was run")

    __str__ = __hash__ = __eq__ = __len__ = __iter__ = __format__ = __bool__ = __repr__  # type: ignore[assignment]

    def __getattr__(self, name: str) -> object:
        pytest.fail(f"foreign code was run for {name}")


class LoudError(Exception):
    def __str__(self) -> str:  # noqa: PLE0307 - it never returns
        pytest.fail("foreign code was run")


class LoudString(str):
    __slots__ = ()

    def __repr__(self) -> str:
        pytest.fail("foreign code was run")

    __str__ = __repr__

    def __getitem__(self, key: object) -> str:
        pytest.fail("foreign code was run")


class LoudZone(dt.tzinfo):
    def __repr__(self) -> str:
        pytest.fail("foreign code was run")


class Colour(enum.Enum):
    RED = 1


Point = collections.namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is what users also send


@dataclass(frozen=True, slots=True)
class Order:
    number: int
    item: object = None
    password: str = field(default="secret", repr=False)


@dataclass
class Hidden:
    password: str

    def __repr__(self) -> str:
        return "Hidden(***)"


RING: list[object] = []
RING.append(RING)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "None"),
        (True, "True"),
        (-3, "-3"),
        (2.5, "2.5"),
        ("text", "'text'"),
        (b"\x00x", r"b'\x00x'"),
        (bytearray(b"x"), "b'x'"),
        ([1, [2], (3,), ()], "[1, [2], (3,), ()]"),
        ({"a": {1}}, "{'a': {1}}"),
        (set(), "set()"),
        (frozenset({1}), "frozenset({1})"),
        (frozenset(), "frozenset()"),
        (Colour.RED, f"{__name__}.Colour.RED"),
        (PurePosixPath("/etc"), "PurePosixPath('/etc')"),
        (Decimal("1.50"), "Decimal('1.50')"),
        (UUID(int=7), "UUID('00000000-0000-0000-0000-000000000007')"),
        (ZoneInfo("UTC"), "zoneinfo.ZoneInfo(key='UTC')"),
        (dt.time(1, tzinfo=ZoneInfo("UTC")), "datetime.time(1, 0, tzinfo=zoneinfo.ZoneInfo(key='UTC'))"),
        (dt.timedelta(1), "datetime.timedelta(days=1)"),
        (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "datetime.datetime(2026, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"),
        (int, "<class int>"),
        (len, "<function len>"),
        (Order(7), "Order(number=7, item=None)"),
    ],
)
def test_what_python_builds_is_written_out(value: object, expected: str) -> None:
    assert safe_repr(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Foreign(), f"<{__name__}.Foreign>"),
        ([Foreign()], f"[<{__name__}.Foreign>]"),
        ({"key": Foreign()}, f"{{'key': <{__name__}.Foreign>}}"),
        (Order(1, Foreign()), f"Order(number=1, item=<{__name__}.Foreign>)"),
        (Point(1, Foreign()), f"{__name__}.Point(1, <{__name__}.Foreign>)"),
        (LoudString("a"), "'a'"),
        (dt.time(1, tzinfo=LoudZone()), "<datetime.time>"),
        (LoudError("x"), f"<{__name__}.LoudError>"),
    ],
    ids=["alone", "in a list", "in a dict", "in a dataclass", "in a named tuple", "text", "time", "exception"],
)
def test_foreign_code_is_never_run(value: object, expected: str) -> None:
    assert safe_repr(value) == expected


def test_a_class_with_the_name_of_a_trusted_one_is_not_trusted() -> None:
    loud = type("Decimal", (Foreign,), {"__module__": "decimal"})

    assert safe_repr(loud()) == "<decimal.Decimal>"


def test_a_repr_written_by_hand_keeps_its_fields_hidden() -> None:
    assert safe_repr(Hidden("secret")) == f"<{__name__}.Hidden>"


@pytest.mark.parametrize(
    "value",
    ["x" * 1_000_000, b"x" * 1_000_000, list(range(100_000)), [[[[[0] * 9] * 9] * 9] * 9] * 9, RING, 10**100_000],
    ids=["text", "bytes", "list", "nested", "ring", "integer"],
)
def test_the_size_of_a_value_does_not_show_in_its_text(value: object) -> None:
    assert len(safe_repr(value, 100)) <= 100


def test_a_container_that_changes_meanwhile_is_named_by_its_class() -> None:
    class Changing(dict[int, int]):
        def __len__(self) -> int:
            raise RuntimeError

    assert safe_repr(Changing({1: 2})) == "{1: 2}"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no such key"), "ValueError: no such key"),
        (ValueError(), "ValueError"),
        (KeyError("k"), "KeyError: 'k'"),
        (OSError(2, "not there", "file"), "FileNotFoundError: [Errno 2] not there: 'file'"),
        (ExceptionGroup("two", [ValueError(), KeyError()]), "ExceptionGroup: two (2 sub-exceptions)"),
        (ValueError(Foreign()), f"ValueError: <{__name__}.Foreign>"),
        (URLError(OSError(111, "refused")), "urllib.error.URLError: [Errno 111] refused"),
        (OSError(2, "not there", Foreign()), "FileNotFoundError: 2, 'not there'"),
        (LoudError("left", 3), f"{__name__}.LoudError: 'left', 3"),
        (ValueError("\x1b[31m[red]\n"), r"ValueError: \x1b[31m[red]\n"),
        (subprocess.CalledProcessError(1, "ls"), "subprocess.CalledProcessError: Command 'ls' returned non-zero"),
    ],
    ids=[
        "value",
        "empty",
        "key",
        "os",
        "group",
        "foreign argument",
        "error in error",
        "foreign file",
        "foreign",
        "escapes",
        "stdlib",
    ],
)
def test_an_exception_says_its_message_without_running_foreign_code(error: BaseException, expected: str) -> None:
    assert exception_line(error).startswith(expected)


def test_a_box_is_asked_for_the_words_of_a_foreign_exception() -> None:
    assert safe_str(LoudError(), box=lambda _render: "from the box") == "from the box"


def test_a_box_is_asked_for_the_repr_of_a_value() -> None:
    assert safe_repr(3, box=lambda render: f"[{render()}]") == "[3]"


def test_a_box_that_fails_leaves_a_placeholder() -> None:
    def broken(_render: object) -> str:
        raise ValueError

    assert safe_repr(3, box=broken) == "<int that cannot be described>"
    assert safe_str(LoudError(), box=broken) == f"<{__name__}.LoudError that cannot be described>"


def test_text_says_itself() -> None:
    assert safe_str("plain") == "plain"
    assert safe_str(LoudString("loud")) == "loud"
    assert safe_str(Order(1)) == "Order(number=1, item=None)"


def test_a_metaclass_has_no_say_in_a_class_name() -> None:
    class Meta(type):
        @property
        def __name__(cls) -> str:
            pytest.fail("foreign code was run")

    assert type_name(Meta("Made", (), {"__module__": "made"})) == "made.Made"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("héllo wörld 漢字 😀", "héllo wörld 漢字 😀"),
        ("\x1b[31mred\x07", r"\x1b[31mred\x07"),
        ("\x9b31m", r"\x9b31m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202eevil\u2066\u200b", r"\u202eevil\u2066\u200b"),
        ("\udc80\x00\x7f\xa0", r"\udc80\x00\x7f\xa0"),
        ("[bold]x[/bold] :smile:", "[bold]x[/bold] :smile:"),
    ],
)
def test_what_acts_on_a_terminal_is_shown_as_text(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_long_text_ends_in_an_ellipsis() -> None:
    assert visible("x" * 300) == "x" * 199 + "…"
    assert shorten("abc", 3) == "abc"
    assert shorten("abcd", 3) == "ab…"


def test_lines_are_kept_and_the_last_ones_win() -> None:
    assert visible_lines("a\tb\n\x1bc") == "a   b\n\\x1bc"
    assert visible_lines("1\n2\n3\n4", max_lines=2) == "… 2 lines left out\n3\n4"


@settings(max_examples=50)
@given(st.text(), st.integers(1, 50))
def test_any_text_becomes_printable_and_short(text: str, limit: int) -> None:
    shown = visible(text, limit)

    assert shown.isprintable()
    assert len(shown) <= limit


@settings(max_examples=50)
@given(st.recursive(st.none() | st.integers() | st.text() | st.binary(), lambda item: st.lists(item) | st.tuples(item)))
def test_any_small_value_reads_as_python_writes_it(value: object) -> None:
    shown = safe_repr(value, 10_000)

    assert shown.isprintable()
    assert "…" in shown or shown == visible(repr(value), 10_000)


class Lazy:
    """As the proxies of werkzeug and Django: asked for its class, it makes what it stands for."""

    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise SystemExit("run")


class Curious(type):
    """Its classes are asked for nothing."""

    def __getattribute__(cls, name: str) -> Any:
        raise AssertionError(f"asked for {name}")


class Odd(metaclass=Curious):
    pass


def test_neither_a_class_in_disguise_nor_a_metaclass_is_asked() -> None:
    """A dead letter is described in the thread of its sender, who would get what a proxy raises."""
    assert safe_repr([Lazy(), Odd()]) == f"[<{__name__}.Lazy>, <{__name__}.Odd>]"
    assert safe_repr({Lazy(): 1}) == f"{{<{__name__}.Lazy>: 1}}"


def test_an_errors_own_filename_is_not_run() -> None:
    class Remote(OSError):
        @property
        def filename(self) -> str:  # type: ignore[override]
            raise SystemExit("run")

    assert safe_str(Remote("gone")) == "gone"


Credentials = collections.namedtuple("Credentials", "user password")  # noqa: PYI024 - as in older code


class Login(Credentials):
    """The usual way to give a named tuple methods."""


class Sealed(Credentials):
    """One that says itself what may be seen of it."""

    def __repr__(self) -> str:
        raise SystemExit("run")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Sealed("ann", "hunter2"), f"<{__name__}.Sealed>"),
        (Login("ann", "s3cret"), f"{__name__}.Login('ann', <hidden>)"),
        (["Authorization", "s3cret"], "['Authorization', <hidden>]"),
        (b"redis://:s3cret@h/0", "b'redis://:<hidden>@h/0'"),
        (bytearray(b"pg://ann:s3cret@h"), "b'pg://ann:<hidden>@h'"),
        ("pg://ann:p@s3cret@h/db", "'pg://ann:<hidden>@h/db'"),
        ("pg://ann:s3cret" + 3_000 * "x" + "@h", "'pg://ann:<hidden>'"),
        ("pg://a:s3cret@h,pg://b:s3cret@i", "'pg://a:<hidden>@h,pg://b:<hidden>@i'"),
        ("http://h:80/path?mail=a@b", "'http://h:80/path?mail=a@b'"),
    ],
)
def test_secrets_are_hidden_where_they_were_not_looked_for(value: object, shown: str) -> None:
    assert safe_repr(value) == shown
