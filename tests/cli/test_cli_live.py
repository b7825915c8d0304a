"""The command beside a real program that is busy, changes, or does not do what it is told."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy.cli.reach import Reach
from otpy.cli.tree import Watched, watch
from otpy.control.client import connect_to
from otpy.errors import OtpyError
from otpy.testing import Gate
from support.doer import Doer
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result

__all__ = ["quiet"]

DYN = library.DynamicSupervisor


def shop(gate: Gate) -> type[library.Supervisor]:
    """A tree of two supervisors; one has a child that ends when the gate opens."""

    class Slow(library.GenServer):
        trap_exit = True

        def terminate(self, reason: library.Reason) -> None:
            gate.wait()

    class Shelf(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [library.child(Doer).opts(id="a", name="a")]

    class Cellar(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [library.child(Slow).opts(id="b", shutdown=30.0)]

    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [library.child(Shelf).opts(id="shelf"), library.child(Cellar).opts(id="cellar")]

    return Shop


@pytest.mark.report(
    "D113", "circus-tent/circus#847", "circus-tent/circus#831", "circus-tent/circus#1154", "circus-tent/circus#1179"
)
def test_commands_are_served_during_a_long_stop(directory: Path, otpy: Callable[..., Result]) -> None:
    """Of everybody but the supervisor that waits for its child's end; and that one can be looked at."""
    replies: list[object] = []

    def stop_the_slow_one() -> None:
        with connect_to("shop", directory) as client:
            replies.append(client.ask("stop", path="shop/cellar/b"))

    with Gate() as gate, library.run(shop(gate), control_directory=directory) as system:
        first = system.whereis("a")
        stopping = threading.Thread(target=stop_the_slow_one)
        stopping.start()
        gate.reached()
        restarted = otpy("restart", "shop/shelf/a")
        seen = otpy("tree", "shop/cellar").output
        assert replies == []
        gate.open()
        stopping.join()
        second = system.whereis("a")
    assert (restarted.exit_code, restarted.exception) == (0, None)
    assert first is not second
    assert "b   Slow" in seen
    assert replies == [None]


class Churn:
    """Starts, kills, stops and watches children of a dynamic supervisor, which gives up now and then."""

    def __init__(self, system: library.System, seed: int) -> None:
        self.system = system
        self.random = random.Random(seed)
        self.done = threading.Event()
        self.steps = 0

    def run(self) -> None:
        """Go on until told."""
        while not self.done.is_set():
            try:
                self.step()
            except OtpyError:
                self.steps += 1  # it was gone, or the name was taken: that is the point

    def step(self) -> None:
        """Do one of those."""
        pool = self.system.ref("pool")
        spec = library.child(Doer).opts(restart=self.random.choice(["permanent", "temporary"]), name="known")
        spec = self.random.choice([spec, spec.opts(name=None)])
        match self.random.randrange(5):
            case 0 | 1:
                pool.call(DYN.start_child, spec)
            case 2:
                for info in pool.call(DYN.which_children)[:3]:
                    info.ref.kill()
            case 3:
                self.system.ref("known").monitor()
            case _:
                for info in pool.call(DYN.which_children)[:1]:
                    pool.call(DYN.terminate_child, info.ref)
        self.steps += 1


class Lively(library.Supervisor):
    max_restarts = 1_000_000

    def children(self) -> list[library.ChildSpec]:
        return [library.dynamic(max_restarts=20, max_children=40).opts(id="pool", name="pool")]


@pytest.mark.report(
    "F154",
    "zhongwencool/observer_cli#62",
    "zhongwencool/observer_cli#86",
    "zhongwencool/observer_cli#38",
    "zhongwencool/observer_cli#71",
    "zhongwencool/observer_cli#96",
)
@pytest.mark.parametrize("looks", [100, pytest.param(2_000, id="long", marks=pytest.mark.stress)])
def test_watching_a_tree_that_changes_all_the_time(
    directory: Path, capsys: pytest.CaptureFixture[str], looks: int
) -> None:
    """Actors that die while they are looked at, and monitors by name; each look shows the tree."""

    def moments(churn: Churn) -> Iterator[None]:
        for _ in range(looks):
            yield
        assert churn.steps > 0

    with library.run(Lively, name="shop", control_directory=directory) as system:
        churn = Churn(system, seed=1)
        churning = threading.Thread(target=churn.run)
        churning.start()
        try:
            with Watched(Reach(directory), "shop", 50) as watched:
                watch(watched, Console(width=100, markup=False, emoji=False, highlight=False), moments(churn))
        finally:
            churn.done.set()
            churning.join()
    output: Any = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("shop ") for line in output) == looks
