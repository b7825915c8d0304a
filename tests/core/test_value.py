"""A value is what `@dataclass(frozen=True, slots=True)` would have made."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from otpy.core.text import safe_repr
from otpy.core.value import value


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
    assert not hasattr(Order(1), "__dict__")


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

    assert More(1) == More(1) != Order(1)
    assert repr(More(1)).endswith("More(number=1, item=None, note='', tags=())")


def test_its_own_methods_are_kept() -> None:
    assert repr(Own(1)) == "own"
    assert Own(1) == Own(2)
    assert hash(Own(1)) == hash((1,))
