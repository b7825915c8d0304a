"""Supervision under many orders of turns: whatever happens to a tree, it comes back whole, and ends whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Exit, Normal, Reason, Shutdown
from otpy.errors import StartError
from otpy.testing import explore
from support.lab import tree

if TYPE_CHECKING:
    from otpy.testing.run import Scenario

SUP, DYN = otpy.Supervisor, otpy.DynamicSupervisor

STEPS = 12
WAYS: list[Reason] = [Normal(), Shutdown(), Exit("boom")]


class Child(otpy.GenServer):
    """Starts and ends in several ways, as chance would have it."""

    def init(self, *, traps: bool, failures: int = 0) -> object:
        self.trap_exit = traps
        if self.system.random.random() * 10 < failures:
            return otpy.Stop(Exit("no start"))
        return otpy.Continue() if self.system.random.random() < 0.3 else None

    def handle_continue(self, term: object) -> None:
        """Take a turn of its own after the start."""

    @otpy.cast
    def end(self, reason: Reason) -> object:
        return otpy.Stop(reason)

    @otpy.cast
    def crash(self) -> None:
        raise ValueError("boom")


def specs(names: str, strategy: str) -> list[otpy.ChildSpec]:
    """One worker for each letter, of all kinds, with names that a too early restart would find taken."""
    return [
        otpy.child(Child, traps=index % 2 == 0, failures=index % 3).opts(
            id=name, name=f"{strategy}-{name}", restart="transient" if index == 1 else "permanent"
        )
        for index, name in enumerate(names)
    ]


def grow(strategy: str) -> otpy.ChildSpec:
    inner = tree(*specs("xyz", f"inner-{strategy}"), id="inner", strategy=strategy, max_restarts=1_000)
    crowd = otpy.dynamic(max_restarts=1_000).opts(id="crowd")
    return tree(*specs("abc", strategy), inner, crowd, id="top", strategy=strategy, max_restarts=1_000)


def alive_once(system: Any) -> bool:
    """An invariant: every name is held by the one who can be found at its path, or who is just starting or ending."""
    return all(ref.reason is None for ref in system.names.values())


def shake(system: Any, step: int) -> None:
    """Do something to somebody."""
    chance = system.random
    paths = [record.path for record in system.records() if record.path.count("/") > 1 and record.number]
    path = chance.choice(paths)
    ref = system.find(path)
    match chance.randrange(6):
        case 0:
            system.kill(path)
        case 1 if not ref.actor_class.is_supervisor:
            ref.cast(Child.end, chance.choice(WAYS))
        case 2 if not ref.actor_class.is_supervisor:
            ref.cast(Child.crash)
        case 3:
            ask(system, restart, system, path)
        case 4:
            crowd = system.find(f"{system.name}/top/crowd")
            if crowd is not None:
                ask(system, crowd.call, DYN.start_child, specs("d", f"d{step}")[0])
        case _:
            ref.exit(Exit("from outside"))


def restart(system: Any, path: str) -> None:
    """By hand, until it starts: nobody else tries again what was stopped by hand."""
    while True:
        try:
            system.restart_child(path)
        except StartError:
            continue
        return


def ask(system: Any, request: Any, *args: Any) -> None:
    """Some requests come too late, or find what fails; that is no matter here."""
    try:
        request(*args)
    except otpy.OtpyError:
        assert system.alive


def scenario(strategy: str) -> Scenario:
    def run(system: Any) -> None:
        top = start(system, strategy)
        for step in range(STEPS):
            shake(system, step)
            if system.random.random() < 0.4:
                system.wait_idle()
        system.clock.advance(60.0)
        if strategy != "one_for_one":
            # As in OTP: who stops the failing child of a group by hand ends the attempts to bring back the others, too.
            system.kill(f"{system.name}/top/a")
            system.clock.advance(60.0)
        assert top.is_alive()
        for record in system.records():
            assert record.status == "idle" or record.id in "by", record
            assert system.find(record.path) is not None or record.status == "stopped"

    return run


def start(system: Any, strategy: str) -> otpy.Ref[Any]:
    """Children that may fail to start: try until they do."""
    while True:
        try:
            return system.start(grow(strategy))  # type: ignore[no-any-return]
        except otpy.OtpyError:
            assert system.alive == 0
            assert system.names == {}


@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
@pytest.mark.parametrize("seeds", [pytest.param(20, id="20"), pytest.param(400, id="400", marks=pytest.mark.stress)])
def test_tree_comes_back_whole_whatever_happens_to_it(strategy: str, seeds: int) -> None:
    explore(scenario(strategy), seeds, invariants=[alive_once])
