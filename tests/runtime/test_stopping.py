"""`system.stop` ends everything, and reports only what does not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.testing import Gate, explore
from support.doer import Doer

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class Hermit(otpy.GenServer):
    def init(self) -> None:
        assert self.ref.parent is not None
        self.unlink(self.ref.parent)


class Parent(otpy.GenServer):
    def init(self) -> None:
        self.child = self.spawn_link(Hermit)

    @otpy.call
    def hermit(self) -> otpy.Ref[Hermit]:
        return self.child


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Parent).opts(id="parent", name="parent"),
            otpy.child(otpy.sleep, 1e6).opts(id="sleeper", shutdown=otpy.BRUTAL_KILL),
        ]


def test_what_has_cut_its_links_is_stopped_too(system: otpy.System) -> None:
    system.start_root(otpy.child(Tree))
    hermit = system.ref(otpy.name(Parent, "parent")).call(Parent.hermit)

    left = system.stop()

    assert (left, hermit.is_alive(), system.alive) == ([], False, 0)


def test_what_was_killed_in_its_sleep_is_not_reported_as_late() -> None:
    """Its thread needs a moment to leave; until then it is listed as a zombie."""

    def scenario(system: VirtualSystem) -> None:
        system.start_root(otpy.child(Tree))
        system.wait_idle()
        assert system.stop() == []

    explore(scenario, 50)


@pytest.mark.report("B53", "jodal/pykka#46")
def test_an_exit_signal_ends_an_actor_before_all_that_waits(system: otpy.System) -> None:
    """`ref.stop` waits behind a thousand requests; an exit signal does not, and who waits for them hears of it."""
    log: list[object] = []
    ref, gate = system.start(Doer, log), Gate()
    ref.cast(Doer.run, lambda self: gate.wait() or self.log.append("current"))
    gate.reached()
    futures = [ref.ask(number, block=False) for number in range(1_000)]
    ref.exit(otpy.Shutdown())
    gate.open()
    assert ref.monitor().wait().reason in (otpy.Shutdown(), otpy.NoProc())
    for future in futures:
        with pytest.raises(CallExitError) as caught:
            future.get(timeout=5)
        assert caught.value.reason == otpy.Shutdown()
    assert log == ["current"]
