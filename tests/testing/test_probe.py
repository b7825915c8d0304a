"""Probes record what reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.testing import Probe

if TYPE_CHECKING:
    from collections.abc import Iterator


class Server(otpy.GenServer):
    def init(self, owner: otpy.Ref[object] | None = None) -> None:
        self.owner = owner

    @otpy.cast
    def crash(self) -> None:
        raise ValueError("boom")

    @otpy.cast
    def greet(self, other: otpy.Ref[object]) -> None:
        other.tell("hello")


@pytest.fixture
def system() -> Iterator[otpy.System]:
    system = otpy.System("p")
    yield system
    assert system.stop(timeout=30.0) == []


def test_it_records_messages_in_order(system: otpy.System) -> None:
    probe = Probe(system)

    for number in range(5):
        probe.ref.tell(number)

    assert probe.expect(5) == [0, 1, 2, 3, 4]
    assert probe.messages == [0, 1, 2, 3, 4]


def test_it_records_requests_and_answers_them(system: otpy.System) -> None:
    probe = Probe(system, reply="yes")

    reply = probe.ref.ask("really?")

    assert (reply, probe.messages) == ("yes", ["really?"])


def test_it_takes_the_place_of_another_actor(system: otpy.System) -> None:
    probe = Probe(system)

    system.start(Server).cast(Server.greet, probe.ref)

    assert probe.expect(1) == ["hello"]


def test_what_was_sent_before_a_death_comes_before_its_down(system: otpy.System) -> None:
    probe, server = Probe(system), system.start(Server)
    monitor = probe.monitor(server)
    server.cast(Server.greet, probe.ref)
    server.cast(Server.crash)

    hello, down = probe.expect(2)

    assert hello == "hello"
    assert isinstance(down, otpy.Down)
    assert (down.monitor, down.target) == (monitor, server)
    assert str(down.reason) == "ValueError: boom"


def test_it_watches_names(system: otpy.System) -> None:
    probe = Probe(system)
    probe.monitor("nobody")

    (down,) = probe.expect(1)

    assert isinstance(down, otpy.Down)
    assert (down.target, down.reason) == ("nobody", otpy.NoProc())


def test_with_trap_exit_it_records_the_exits_of_its_links(system: otpy.System) -> None:
    probe, server = Probe(system, trap_exit=True), system.start(Server)
    probe.link(server)
    server.kill()

    (signal,) = probe.expect(1)

    assert signal == otpy.ExitSignal(server, otpy.Killed())


def test_without_it_ends_with_its_links(system: otpy.System) -> None:
    probe, server = Probe(system), system.start(Server)
    probe.link(server)
    server.kill()
    system.wait_idle()

    assert probe.ref.reason == otpy.Killed()
    assert probe.messages == []


def test_absence_is_seen_at_rest(system: otpy.System) -> None:
    probe = Probe(system)
    system.start(Server)

    system.wait_idle()

    assert probe.messages == []


def test_what_does_not_come_is_missed_and_what_came_is_shown(system: otpy.System) -> None:
    probe = Probe(system)
    probe.ref.tell("one")
    system.wait_idle()

    with pytest.raises(TimeoutError, match=r"1 of 2 came within 0\.001 s:\n  'one'"):
        probe.expect(2, timeout=0.001)


def test_several_probes_have_paths_of_their_own(system: otpy.System) -> None:
    paths = [Probe(system).ref.path, Probe(system).ref.path, Probe(system, id="ear").ref.path]

    assert paths == ["p/probe", "p/probe-2", "p/ear"]
