"""A value is what `@dataclass(frozen=True, slots=True)` would have made."""

from __future__ import annotations

import builtins
import copy
import inspect
import pickle
import signal
import sys
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, get_type_hints

import pytest

from otpy.core.text import safe_repr
from otpy.core.value import value
from support.forked import run

if TYPE_CHECKING:
    from collections.abc import Callable


@value
class Order:
    """One."""

    number: int
    item: object = None
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)
    tags: tuple[str, ...] = field(default=(), hash=False)


@dataclass(frozen=True, slots=True)
class Plain:
    """The same by the book."""

    number: int
    item: object = None
    note: str = field(default="", compare=False)
    secret: str = field(default="", repr=False)
    tags: tuple[str, ...] = field(default=(), hash=False)


@value(kw_only=True)
class Named:
    """Its subclasses may have what has no default after what has one."""

    path: str = ""


@value(kw_only=True)
class Late(Named):
    """Such a one."""

    seconds: float


@value
class Own:  # noqa: PLW1641 - a frozen dataclass gets one
    """Says itself how it is shown and compared."""

    number: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return True


@value
class Basket:
    """Starts with more than what it is given."""

    owner: str
    eggs: list[int] = field(default_factory=list)
    weight: float = field(default=0.0, kw_only=True)
    colour: str = field(kw_only=True)
    count: int = field(default=0, init=False)
    marks: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.eggs))


@dataclass(frozen=True, slots=True)
class PlainBasket:
    """The same by the book."""

    owner: str
    eggs: list[int] = field(default_factory=list)
    weight: float = field(default=0.0, kw_only=True)
    colour: str = field(kw_only=True)
    count: int = field(default=0, init=False)
    marks: list[str] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.eggs))


CASES = [(1,), (1, "a"), (2, "a", "note"), (1, "a", "", "secret"), (1, "a", "", "", ("x",))]


@pytest.mark.parametrize("arguments", CASES)
def test_it_is_shown_and_hashed_as_by_the_book(arguments: tuple[int, str]) -> None:
    assert repr(Order(*arguments)) == repr(Plain(*arguments)).replace("Plain", "Order")
    assert hash(Order(*arguments)) == hash(Plain(*arguments))
    assert safe_repr(Order(*arguments)) == safe_repr(Plain(*arguments)).replace("Plain", "Order")


@pytest.mark.parametrize("one", CASES)
@pytest.mark.parametrize("other", CASES)
def test_it_is_compared_as_by_the_book(one: tuple[int, str], other: tuple[int, str]) -> None:
    assert (Order(*one) == Order(*other)) == (Plain(*one) == Plain(*other))


def test_no_value_of_another_class_is_equal() -> None:
    assert Order(1) != Plain(1)
    assert Late(path="a", seconds=1.0) != Named(path="a")


def test_it_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Order(1).number = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'size'"):
        Order(1).size = 2  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'number'"):
        del Order(1).number
    assert not hasattr(Order(1), "__dict__")


BASKETS: list[Callable[[Any], Any]] = [
    lambda kind: kind("ann", colour="red"),
    lambda kind: kind("ann", [1, 2], colour="red", weight=1.5),
    lambda kind: replace(kind("ann", [1, 2], colour="red"), owner="bob"),
]
WRONG: list[Callable[[Any], Any]] = [
    lambda kind: kind("ann"),
    lambda kind: kind(colour="red"),
    lambda kind: kind("ann", [], 1.5, colour="red"),
    lambda kind: kind("ann", colour="red", count=1),
]


@pytest.mark.parametrize("made", BASKETS)
def test_it_starts_as_by_the_book(made: Callable[[Any], Any]) -> None:
    assert asdict(made(Basket)) == asdict(made(PlainBasket))
    assert made(Basket).eggs is not made(Basket).eggs


@pytest.mark.parametrize("made", WRONG)
def test_it_is_refused_as_by_the_book(made: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError) as plain:
        made(PlainBasket)
    with pytest.raises(TypeError) as told:
        made(Basket)

    assert str(told.value) == str(plain.value).replace("PlainBasket", "Basket")


@pytest.mark.parametrize(("kind", "plain"), [(Order, Plain), (Basket, PlainBasket)])
def test_it_has_the_face_of_one_by_the_book(kind: type, plain: Any) -> None:
    said, wanted = inspect.signature(kind), inspect.signature(plain)

    assert str(said).replace("<not given>", "<factory>") == str(wanted)
    assert get_type_hints(kind.__init__) == get_type_hints(plain.__init__)
    assert kind.__match_args__ == plain.__match_args__  # type: ignore[attr-defined]
    assert kind.__slots__ == plain.__slots__  # type: ignore[attr-defined]
    assert kind.__init__.__qualname__ == f"{kind.__name__}.__init__"
    assert is_dataclass(kind)


def test_no_method_is_compiled_before_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program defines a hundred and makes a few."""
    methods = 0

    def counted(compiles: Callable[..., Any]) -> Callable[..., Any]:
        def count(source: Any, *more: Any, **named: Any) -> Any:
            nonlocal methods
            if isinstance(source, str):
                methods += source.count("def __") - source.count("def __create_fn__")
            return compiles(source, *more, **named)

        return count

    for name in ("compile", "exec"):
        monkeypatch.setattr(builtins, name, counted(getattr(builtins, name)))

    @value
    class Fresh(Order):
        size: int = 0

    defined = methods
    Fresh(1)
    Fresh(2)

    assert (defined, methods) == (0, 1)


def test_what_works_with_dataclasses_works_with_it() -> None:
    order = Order(1, item="a")

    match order:
        case Order(number, item):
            assert (number, item) == (1, "a")
    assert pickle.loads(pickle.dumps(order)) == copy.deepcopy(order) == replace(order, item="a") == order  # noqa: S301
    assert [each.name for each in fields(Order)] == [each.name for each in fields(Plain)] == [*asdict(order)]


def test_one_that_holds_itself_is_shown() -> None:
    ring: list[object] = []
    order = Order(1, item=ring)
    ring.append(order)

    assert repr(order) == "Order(number=1, item=[...], note='', tags=())"


def test_a_dataclass_may_derive_from_it() -> None:
    @dataclass(frozen=True, slots=True)
    class More(Order):
        size: int = 0

    assert More(1, size=2) == More(1, size=2) != More(1, size=3)
    assert repr(More(1)).endswith("More(number=1, item=None, note='', tags=(), size=0)")


def test_a_plain_class_may_derive_from_it() -> None:
    class More(Order):
        pass

    one = More(1)
    one.seen = True  # type: ignore[attr-defined]
    del one.seen  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        one.number = 2  # type: ignore[misc]

    assert More(1) == More(1) != Order(1)
    assert repr(More(1)).endswith("More(number=1, item=None, note='', tags=())")


def test_its_own_methods_are_kept() -> None:
    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == hash((1,))


def test_one_that_is_made_first_as_ctrl_c_ends_a_program_takes_no_exit_code_from_it() -> None:
    """By a thread that goes on, in the moment before the process ends itself by SIGINT."""
    source = """
import atexit
from otpy.core.value import value
@value
class Last:
    number: int
atexit.register(lambda: print(Last(1)))
raise KeyboardInterrupt
"""
    ended = run([sys.executable, "-c", source], text=True)

    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "Last(number=1)\n")
