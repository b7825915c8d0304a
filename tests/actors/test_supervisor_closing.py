"""Supervisor: what a killed child had open is closed before the next one opens it again."""

from __future__ import annotations

import socket
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.stopping import CLOSE_TIME, _wind_up_all
from support.lab import tree
from support.leaving import Leaving
from support.ports import own_port

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.testing import Gate
    from support.lab import Lab


@contextmanager
def held(log: list[str], gate: Gate | None = None) -> Iterator[None]:
    log.append("opened")
    yield
    if gate is not None:
        gate.wait()
    log.append("closed")


class Holder(otpy.GenServer):
    def init(self, log: list[str], gate: Gate | None = None) -> None:
        self.use(held(log, gate))


class Listener(otpy.GenServer):
    def init(self, port: int) -> None:
        self.socket = self.use(socket.create_server(("127.0.0.1", port)))


@pytest.mark.parametrize("place", ["pool", "thread", "loop"])
@pytest.mark.parametrize("strategy", ["one_for_one", "one_for_all", "rest_for_one"])
def test_what_a_killed_child_held_is_closed_before_it_is_held_again(lab: Lab, place: str, strategy: str) -> None:
    log: list[str] = []
    root = lab.system.start(tree(otpy.child(Holder, log).opts(id="a", place=place), strategy=strategy))
    lab.settle()
    lab.system.kill(f"{root.path}/a")
    lab.settle()
    assert log == ["opened", "closed", "opened"]


def test_the_same_below_a_dynamic_supervisor(lab: Lab) -> None:
    log: list[str] = []
    agents = lab.system.start(otpy.dynamic())
    ref = agents.call(otpy.DynamicSupervisor.start_child, otpy.child(Holder, log))
    assert ref is not None
    lab.system.kill(ref.path)
    lab.settle()
    assert log == ["opened", "closed", "opened"]


def test_a_killed_listener_finds_its_port_free_again(lab: Lab) -> None:
    """Where it did not, it spent its supervisor's limit within milliseconds."""
    with own_port() as port:
        root = lab.system.start(tree(otpy.child(Listener, port).opts(id="a")))
        lab.system.kill(f"{root.path}/a")
        lab.settle()
        (child,) = root.call(otpy.Supervisor.which_children)
        assert child.state == "running"


def test_closing_that_hangs_is_waited_for_half_a_second_and_no_longer(lab: Lab) -> None:
    log: list[str] = []
    gate = lab.gate()
    root = lab.system.start(tree(otpy.child(Holder, log, gate).opts(id="a")))
    lab.system.kill(f"{root.path}/a")
    gate.reached()
    lab.clock.advance(CLOSE_TIME / 2)
    assert log == ["opened"]
    lab.clock.advance(CLOSE_TIME / 2)
    assert log == ["opened", "opened"]
    gate.open()
    lab.settle()
    assert log == ["opened", "opened", "closed"]


def test_one_that_ends_as_it_is_told_to_wind_up_keeps_no_other_from_hearing_it() -> None:
    told: list[str] = []
    refs: Any = [Leaving(SimpleNamespace(otpy_wind_up=lambda name=name: told.append(name))) for name in ("a", "b")]

    _wind_up_all(refs)

    assert told == ["a", "b"]
