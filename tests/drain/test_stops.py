"""Who did not stop in the end is named once, whoever has met it, and before it is said that all is over."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Any

import otpy
from otpy.drain import coordinator, course
from otpy.drain.begin import begin
from otpy.drain.course import Course
from otpy.drain.plan import Phase
from otpy.runtime import death
from otpy.runtime.draining import Draining
from otpy.runtime.nap import sleep
from otpy.runtime.stopping import Unstopped, kill_all
from otpy.testing import Gate
from support.threads import Told

if TYPE_CHECKING:
    import pytest

    from otpy.testing import VirtualClock

BUDGET = 10.0


class Stays(otpy.GenServer):
    """Takes for its end as long as nobody kills it, and then as long as it takes to pass a gate."""

    trap_exit = True

    def init(self, gate: Gate) -> None:
        self.gate = gate
        self.ends = threading.Event()

    def terminate(self, _: object) -> None:
        self.ends.set()
        try:
            otpy.sleep(math.inf)
        finally:
            self.gate.wait()


def tree(gate: Gate) -> otpy.ChildSpec:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Stays, gate).opts(id="stays", shutdown=3_600.0)]

    return otpy.child(Tree)


def test_a_part_is_not_over_before_it_is_noted_who_was_killed_for_that(
    shop: otpy.System, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kill lets the stop come to its end, on another thread than the one that has killed."""
    came = threading.Event()

    def slow(system: Any, top: Any) -> list[Unstopped]:
        killed = kill_all(system, top)
        assert came.wait(10.0)  # who stops it is about to say that it is over
        return killed

    monkeypatch.setattr(course, "kill_all", slow)
    with Gate() as gate:
        gate.open()
        shop.start_root(tree(gate))
        drain = begin(shop, "by hand", BUDGET, path="shop/stays")
        monkeypatch.setattr(drain, "_noting", Told(drain._noting, threading.get_ident(), came))
        clock.advance(BUDGET)

    assert drain.over.wait(10.0)
    assert [line.partition(":")[0] for line in drain.undone] == ["shop/stays did not stop"]


def test_who_is_met_twice_is_named_once(shop: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """By who has killed it, and still in its code by who stops the rest."""
    met = [Unstopped("shop/a", "otpy-1", "shop.py:7 in terminate")]
    monkeypatch.setattr(course, "kill_all", lambda *_: met)
    drain = Course(shop, None, Draining("SIGTERM", 0.0, BUDGET))
    drain.phase = Phase.RELEASE
    drain.end_stop()

    drain.end([Unstopped("shop/a", "otpy-1", "shop.py:9 in terminate"), Unstopped("shop/b", None, None)])

    assert [line.partition(":")[0] for line in drain.undone] == ["shop/a did not stop", "shop/b did not stop"]
    drain.end_stop()
    assert len(drain.undone) == 2


def test_who_was_only_just_thrown_out_of_its_code_is_given_a_breath(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody has killed it while it took its time, and it is about to leave."""
    looks: list[float] = []
    for module in (coordinator, death):
        monkeypatch.setattr(module, "LAST_BREATH", 60.0)  # it does leave
    with Gate() as gate:

        def look_again(seconds: float) -> None:
            looks.append(seconds)
            gate.open()
            sleep(seconds)

        monkeypatch.setattr(coordinator, "sleep", look_again)
        system.start_root(tree(gate))
        stays = system.find("t/stays")
        assert stays is not None
        drain = begin(system, "by hand", 3_600.0, path=stays.path)
        assert stays.actor.ends.wait(10.0)
        system.wait_idle()  # it sleeps by now
        stays.kill()
        assert drain.over.wait(10.0)

    assert looks
    assert drain.undone == []
