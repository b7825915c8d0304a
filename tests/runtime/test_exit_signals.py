"""What an exit signal does to whom. The marks name the cases of OTP."""

from __future__ import annotations

import threading

import pytest

import otpy
from otpy.testing import Gate, Probe
from support.doer import BOOM, Doer, flush


@pytest.mark.otp_case(13)
def test_a_trapping_link_ends_the_chain(system: otpy.System) -> None:
    a, b, c = system.start(Doer), Probe(system, trap_exit=True), system.start(Doer)
    b.link(a)
    b.link(c)
    c.exit(BOOM)
    [signal] = b.expect(1)
    assert (signal.sender, signal.reason) == (c, BOOM)  # type: ignore[attr-defined]
    system.wait_idle()
    assert a.is_alive()
    assert len(b.messages) == 1


@pytest.mark.otp_case(60)
@pytest.mark.parametrize("reason", [otpy.Shutdown(), BOOM], ids=str)
def test_an_exit_signal_of_the_parent_ends_who_does_not_trap_without_terminate(
    system: otpy.System, reason: otpy.Reason
) -> None:
    log: list[object] = []
    parent = system.start(Doer)
    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer, log))
    monitor = child.monitor()
    parent.call(Doer.do, lambda self: (self.unlink(child), child.exit(reason)) and None)
    assert monitor.wait().reason == reason
    assert log == []


@pytest.mark.otp_case(62)
def test_a_parents_normal_exit_ends_a_child_that_traps(system: otpy.System) -> None:
    log: list[object] = []
    parent = system.start(Doer)
    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer, log, traps=True))
    monitor = child.monitor()
    parent.stop()
    assert monitor.wait().reason == otpy.Normal()
    assert log == [("terminate", otpy.Normal())]


def test_a_parents_normal_exit_leaves_a_child_that_does_not_trap_alone(system: otpy.System) -> None:
    """Semantics 6.15. The system's own stop still finds it."""
    parent = system.start(Doer)
    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer))
    parent.stop()
    assert flush(child) == []
    system.stop()
    assert child.reason == otpy.Shutdown()


@pytest.mark.otp_case(60)
def test_an_exit_signal_cuts_a_call_short_without_terminate(system: otpy.System) -> None:
    """Whatever the actor was doing, an exit signal it does not trap runs no terminate."""
    log: list[object] = []
    gate = Gate()
    server, ref = system.start(Doer), system.start(Doer, log)
    server.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    ref.cast(Doer.run, lambda _: server.within(None).call(Doer.do, lambda _: None))
    system.wait_idle()
    monitor = ref.monitor()
    ref.exit(BOOM)
    assert monitor.wait().reason == BOOM
    assert log == []
    gate.open()


def test_an_exit_signal_that_comes_before_the_call_is_seen_by_it(system: otpy.System) -> None:
    """An exit signal that arrives between two waits must not be missed by the second."""
    gate = threading.Event()
    inside = threading.Event()
    server, ref = system.start(Doer), system.start(Doer)

    def deed(_: Doer) -> None:
        inside.set()
        gate.wait()
        server.within(None).call(Doer.do, lambda _: otpy.NoReply())

    ref.cast(Doer.run, deed)
    inside.wait()
    monitor = ref.monitor()
    ref.exit(BOOM)
    gate.set()
    assert monitor.wait().reason == BOOM


def test_a_kill_frees_the_thread_of_a_caller(system: otpy.System) -> None:
    server, ref = system.start(Doer), system.start(Doer)
    ref.cast(Doer.run, lambda _: server.within(None).call(Doer.do, lambda _: otpy.NoReply()))
    system.wait_idle()
    assert ref.kill()
    system.wait_idle()
    assert system.zombies() == []
