"""What the inspector tells of actors: the runtime's own records; nothing of an actor's own is run or copied for it."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import pytest

import otpy
from otpy.runtime.records import kept_by
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush
from support.leaving import Leaving


class Says:
    is_supervisor = True


@pytest.mark.report("F148", "phoenixframework/phoenix_live_dashboard#156")
@pytest.mark.parametrize("word", ["is_supervisor", "names_children", "otpy_children"])
def test_a_class_cannot_say_that_it_is_a_supervisor(word: str) -> None:
    """Neither by an attribute, nor by a property that means something else, nor through a class beside it."""
    with pytest.raises(TypeError, match=rf"Employee\.{word}: otpy needs this name itself"):
        type("Employee", (otpy.GenServer,), {word: True})
    with pytest.raises(TypeError, match="Employee"):
        type("Employee", (otpy.GenServer,), {word: property(lambda self: True)})
    with pytest.raises(TypeError, match=r"Says\.is_supervisor"):
        type("Employee", (Says, otpy.GenServer), {})


@pytest.mark.report("F148", "phoenixframework/phoenix_live_dashboard#156")
def test_looking_at_a_tree_sends_nothing_and_runs_nothing_of_its_actors(system: otpy.System) -> None:
    """Whatever its actors call themselves: what a supervisor's own property says is left out."""
    asked: list[str] = []

    class Claims(Doer):
        def __init__(self) -> None:
            self.is_supervisor = True  # an object may call itself what it likes

        def children(self) -> object:
            asked.append("children")
            raise SystemExit

        def which_children(self) -> object:
            asked.append("which_children")
            raise SystemExit

    class Tree(otpy.Supervisor):
        @property
        def strategy(self) -> str:  # type: ignore[override]
            asked.append("strategy")
            return "one_for_one"

        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Claims).opts(id="a")]

    system.start_root(otpy.child(Tree))
    asked.clear()
    tree, claims = system.records()
    assert (tree.type, tree.strategy, tree.children) == ("supervisor", None, 1)
    assert (claims.type, claims.children, claims.queue) == ("worker", 0, 0)
    assert asked == []
    assert flush(system.find("t/a")) == []  # type: ignore[arg-type]  # it is there


@pytest.mark.report("F151", "mazenharake/entop#13", "erlang/otp#1745")
@pytest.mark.parametrize(
    "length", [pytest.param(10_000, id="10^4"), pytest.param(1_000_000, id="10^6", marks=pytest.mark.stress)]
)
def test_looking_at_an_actor_with_many_messages_copies_none_of_them(system: otpy.System, length: int) -> None:
    ref = system.start(Doer)
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait() or otpy.exit(BOOM))
        gate.reached()
        for number in range(length):
            ref.tell(number)
        tracemalloc.start()
        [record] = system.records()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert record.queue == length
        assert peak < 100_000
    ref.monitor().wait()


def test_a_child_that_is_stopped_while_somebody_looks_for_it_is_seen_or_not() -> None:
    """A drain that looks who has work met nobody where it had seen somebody, and failed."""
    table = {"a": Leaving("a"), "b": Leaving(None)}
    above: Any = Leaving(SimpleNamespace(otpy_children=lambda: table))
    above.actor_class, above.more = otpy.Supervisor, None

    assert kept_by(above) == ["a"]
