"""Readiness: started, not told to stop, no required child down, nothing that says it cannot serve."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import otpy
from otpy.health import HealthLine, readiness
from otpy.health.parts import PARTS
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    import pytest

FAILS = {"feed": False}


class Feed(otpy.GenServer):
    def init(self) -> object:
        return otpy.Stop(otpy.Exit("no route")) if FAILS["feed"] else None


def tree(*children: otpy.ChildSpec) -> VirtualSystem:
    """A program with these children."""
    FAILS["feed"] = False

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return list(children)

    system = VirtualSystem("shop")
    system.start_root(otpy.child(Shop))
    return system


def down(system: otpy.System) -> list[str]:
    """What is wrong, line by line."""
    return [str(line) for line in readiness(system).lines if line.problem is not None]


BACKOFF = otpy.Backoff(first=10.0, jitter=0.0)


def test_a_tree_that_is_up_is_ready_and_one_that_is_not_is_not() -> None:
    empty = VirtualSystem("shop")
    assert down(empty) == ["started: the tree is not up yet"]
    empty.stop()

    system = tree(otpy.child(Feed).opts(id="feed"))
    assert readiness(system).lines == tuple(HealthLine(name=name) for name in ("started", "draining", "children"))
    system.stop()
    assert down(system) == ["started: the tree has ended: shutdown", "draining: it stops"]


def test_a_required_child_that_waits_for_its_restart_makes_it_unready_until_it_is_up() -> None:
    system = tree(otpy.child(Feed).opts(id="feed", backoff=BACKOFF))
    system.kill("shop/feed")
    system.wait_idle()
    assert down(system) == ["shop/feed: it is started again in 10 s, after killed"]
    assert readiness(system, ignore=["shop/f*"]).is_well
    assert readiness(system, ignore="shop/f*").is_well
    assert not readiness(system, ignore="other/*").is_well

    system.clock.advance(10.0)
    assert down(system) == []
    system.stop()


def test_a_required_child_whose_restart_takes_long_makes_it_unready(system: otpy.System) -> None:
    starting = threading.Event()
    opened = threading.Event()

    class Slow(otpy.GenServer):
        def init(self) -> None:
            if opened.is_set():
                opened.clear()
                starting.set()
                opened.wait(20.0)

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Slow)]

    system.start_root(otpy.child(Shop))
    opened.set()
    system.kill("t/Slow")
    assert starting.wait(20.0)
    seen = down(system)
    opened.set()
    system.wait_idle()

    assert seen == ["t/Slow: it is being started again, after killed"]
    assert down(system) == []


def test_a_tree_in_whose_start_somebody_asks_is_not_up_yet() -> None:
    seen = []

    class Early(otpy.GenServer):
        def init(self) -> None:
            seen.extend(down(self.system))

    system = tree(otpy.child(Early))
    system.stop()

    assert seen == ["started: the tree is not up yet"]


def test_a_child_that_was_given_up_by_a_limit_of_its_own_makes_it_unready() -> None:
    system = tree(otpy.child(Feed).opts(id="feed", limit=otpy.Limit(0, 60.0)))
    system.kill("shop/feed")
    system.wait_idle()

    assert down(system) == ["shop/feed: it was given up, after killed"]
    system.restart_child("shop/feed")
    assert down(system) == []
    system.stop()


def test_who_is_not_permanent_or_was_stopped_by_hand_does_not_count() -> None:
    system = tree(
        otpy.child(Feed).opts(id="once", restart="transient", backoff=BACKOFF),
        otpy.child(Feed).opts(id="other"),
    )
    system.kill("shop/once")
    system.terminate_child("shop/other")
    system.wait_idle()

    assert system.record("shop/once").status == "restarting"
    assert down(system) == []
    system.stop()


def test_what_is_below_counts_but_not_below_what_comes_in_numbers() -> None:
    class Inner(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Feed).opts(id="feed", backoff=BACKOFF)]

    system = tree(otpy.child(Inner).opts(id="inner"), otpy.child(otpy.DynamicSupervisor).opts(id="many"))
    many = system.find("shop/many")
    assert many is not None
    many.call(otpy.DynamicSupervisor.start_child, otpy.child(Inner))
    system.kill("shop/many/1/feed")
    system.wait_idle()
    assert system.record("shop/many/1/feed").status == "restarting"
    assert down(system) == []

    system.kill("shop/inner/feed")
    system.wait_idle()
    assert down(system) == ["shop/inner/feed: it is started again in 10 s, after killed"]
    system.stop()


def test_many_that_are_down_are_counted() -> None:
    system = tree(*(otpy.child(Feed).opts(id=f"f{n}", backoff=BACKOFF) for n in range(25)))
    for n in range(25):
        system.kill(f"shop/f{n}")
    system.wait_idle()

    assert len(down(system)) == 21
    assert down(system)[-1] == "children: 5 more are down"
    system.stop()


def test_a_part_that_cannot_tell_is_told_and_hides_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(system: otpy.System) -> list[HealthLine]:
        raise ValueError("oops")

    monkeypatch.setattr("otpy.health.ready.PARTS", [broken, *PARTS, lambda _: [HealthLine(name="more", problem="no")]])
    system = tree()
    system.checks["database"] = lambda: broken(system)  # type: ignore[assignment,return-value]

    assert down(system) == [
        f"{__name__}: it could not tell: ValueError: oops",
        "more: no",
        "database: it could not tell: ValueError: oops",
    ]
    system.stop()


def test_a_program_that_was_told_to_stop_is_not_ready_and_says_so_while_it_stops() -> None:
    seen = []

    class Last(otpy.GenServer):
        trap_exit = True

        def terminate(self, reason: otpy.Reason) -> None:
            seen.append(down(self.system))

    with otpy.run(otpy.child(Last), control="off") as system:
        assert readiness(system).is_well
        system.request_stop()
        assert readiness(system).problem == "draining: request_stop() was called"

    assert seen == [["draining: request_stop() was called"]]
