"""The place `process`: circles of calls that lead through processes are found, and nothing else is taken for one."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from support.ring import Link


def near(farm: otpy.System, ident: str) -> otpy.Ref[Link]:
    return farm.start(otpy.child(Link).opts(id=ident))


def far(farm: otpy.System, ident: str) -> otpy.Ref[Link]:
    return farm.start(otpy.child(Link).opts(id=ident, place="process"))


@pytest.fixture(scope="module", autouse=True)
def threads(warm_system: otpy.System) -> None:
    """As many as calls through three actors take: they stay."""
    refs = [warm_system.start(otpy.child(Link).opts(id=str(number))) for number in range(4)]
    assert refs[0].call(Link.pass_on, refs[1:]) == "through"
    for ref in refs:
        ref.stop()


@pytest.fixture
def inner(farm: otpy.System) -> list[Any]:
    """Two in one process."""
    many = farm.start(otpy.dynamic(Link).opts(id="many", place="process"))
    return [many.call(otpy.DynamicSupervisor.start_with) for _ in range(2)]


def test_the_call_that_closes_a_circle_is_refused_and_names_it(farm: otpy.System) -> None:
    one, two = near(farm, "one"), far(farm, "two")
    what, who, text = one.within(20.0).call(Link.pass_on, [two, one])
    assert (what, who) == ("deadlock", "t/two")
    assert "t/two → t/one → t/two" in text
    assert one.call(Link.count) == 1, "what was refused is not handled"


def test_it_is_found_whoever_closes_it(farm: otpy.System) -> None:
    one, two = near(farm, "one"), far(farm, "two")
    what, who, _ = two.within(20.0).call(Link.pass_on, [one, two])
    assert (what, who) == ("deadlock", "t/one")
    assert two.call(Link.count) == 1


def test_it_is_found_through_several_processes(farm: otpy.System) -> None:
    one, two, three = far(farm, "one"), near(farm, "two"), far(farm, "three")
    what, who, _ = one.within(20.0).call(Link.pass_on, [two, three, one])
    assert (what, who) == ("deadlock", "t/three")
    assert [ref.call(Link.count) for ref in (one, two, three)] == [1, 1, 1]


def test_it_is_found_through_actors_inside_of_a_process(farm: otpy.System, inner: list[Any]) -> None:
    outer, (one, two) = near(farm, "outer"), inner
    what, who, text = outer.within(20.0).call(Link.pass_on, [one, two, outer])
    assert (what, who) == ("deadlock", "t/many/2")
    assert all(path in text for path in ("t/outer", "t/many/1", "t/many/2"))


def test_one_that_is_closed_inside_of_a_process_ends_a_call_out_of_it(farm: otpy.System, inner: list[Any]) -> None:
    outer, (one, two) = near(farm, "outer"), inner
    assert one.within(20.0).call(Link.pass_on, [outer, two, one])[0] == "deadlock"


def test_a_chain_is_no_circle(farm: otpy.System, inner: list[Any]) -> None:
    one, two, (three, four) = near(farm, "one"), far(farm, "two"), inner
    assert one.within(20.0).call(Link.pass_on, [two, three, four]) == "through"


def test_who_may_be_answered_by_anybody_is_in_no_circle(farm: otpy.System) -> None:
    one, two = near(farm, "one"), far(farm, "two")
    two.cast(Link.ask_late, one)
    one.call(Link.has_deferred)
    assert one.within(20.0).call(Link.pass_on, [two], 0.3) == ["timeout", "t/one"]
    one.cast(Link.answer)
    assert two.call(Link.count) == 1


def test_who_may_be_answered_by_anybody_inside_is_in_no_circle(farm: otpy.System) -> None:
    one, two = near(farm, "one"), far(farm, "two")
    one.cast(Link.ask_late, two)
    two.call(Link.has_deferred)
    assert two.within(20.0).call(Link.pass_on, [one], 0.3) == ["timeout", "t/two"]
    two.cast(Link.answer)
    assert one.call(Link.count) == 1
