"""What an exit signal does to whom. The marks name the cases of OTP."""

from __future__ import annotations

import threading

import pytest

import otpy
from otpy.testing import Gate, Probe
from support.doer import BOOM, Doer, flush


@pytest.mark.otp_case(4)
def test_kill_ends_an_actor_that_traps_exits(system: otpy.System) -> None:
    """No terminate either."""
    log: list[object] = []
    ref = system.start(Doer, log, traps=True)
    monitor = ref.monitor()
    ref.exit(otpy.Kill())
    assert monitor.wait().reason == otpy.Killed()
    assert log == []


@pytest.mark.otp_case(5, 61)
def test_an_exit_signal_is_a_message_to_who_traps(system: otpy.System) -> None:
    """From a stranger; the actor lives."""
    other, ref = system.start(Doer), system.start(Doer, traps=True)
    for reason in (BOOM, otpy.Shutdown()):
        other.call(Doer.do, lambda _, reason=reason: ref.exit(reason))
    assert [(signal.sender, signal.reason) for signal in flush(ref)] == [(other, BOOM), (other, otpy.Shutdown())]
    assert ref.is_alive()


@pytest.mark.otp_case(6, 60)
@pytest.mark.parametrize("reason", [BOOM, otpy.Shutdown(), otpy.Killed(), otpy.NoProc()])
def test_an_exit_signal_ends_who_does_not_trap_without_terminate(system: otpy.System, reason: otpy.Reason) -> None:
    log: list[object] = []
    ref = system.start(Doer, log)
    flush(ref)
    monitor = ref.monitor()
    ref.exit(reason)
    assert monitor.wait().reason == reason
    assert log == []


def test_normal_from_another_is_ignored_by_who_does_not_trap(system: otpy.System) -> None:
    other, ref = system.start(Doer), system.start(Doer)
    other.call(Doer.do, lambda _: ref.exit(otpy.Normal()))
    assert flush(ref) == []


def test_normal_from_another_is_a_message_to_who_traps(system: otpy.System) -> None:
    other, ref = system.start(Doer), system.start(Doer, traps=True)
    other.call(Doer.do, lambda _: ref.exit(otpy.Normal()))
    [signal] = flush(ref)
    assert (signal.sender, signal.reason) == (other, otpy.Normal())


def test_normal_from_outside_of_all_actors_is_as_from_another(system: otpy.System) -> None:
    ref, trapping = system.start(Doer), system.start(Doer, traps=True)
    ref.exit(otpy.Normal())
    trapping.exit(otpy.Normal())
    assert flush(ref) == []
    assert [signal.reason for signal in flush(trapping)] == [otpy.Normal()]


@pytest.mark.otp_case(8)
def test_normal_to_oneself_ends_who_does_not_trap(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, lambda self: self.ref.exit(otpy.Normal()))
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.otp_case(8)
def test_normal_to_oneself_is_a_message_to_who_traps(system: otpy.System) -> None:
    ref = system.start(Doer, traps=True)
    ref.call(Doer.do, lambda self: self.ref.exit(otpy.Normal()))
    [signal] = flush(ref)
    assert (signal.sender, signal.reason) == (ref, otpy.Normal())


@pytest.mark.otp_case(9)
def test_a_reason_kill_of_ones_own_reaches_linked_actors_as_kill(system: otpy.System) -> None:
    victim, trapper, plain = system.start(Doer), Probe(system, trap_exit=True), system.start(Doer)
    trapper.link(victim)
    plain.call(Doer.do, lambda self: self.link(victim))
    monitor = plain.monitor()
    victim.cast(Doer.run, lambda _: otpy.exit(otpy.Kill()))
    [signal] = trapper.expect(1)
    assert signal.reason == otpy.Kill()  # type: ignore[attr-defined]  # an ExitSignal
    assert monitor.wait().reason == otpy.Kill()


@pytest.mark.otp_case(10)
def test_killed_passes_on_over_links_and_can_be_trapped(system: otpy.System) -> None:
    victim, trapper, plain, beyond = (
        system.start(Doer),
        Probe(system, trap_exit=True),
        system.start(Doer),
        Probe(system, trap_exit=True, id="beyond"),
    )
    trapper.link(victim)
    plain.call(Doer.do, lambda self: self.link(victim))
    beyond.link(plain)
    victim.kill()
    assert [message.reason for message in trapper.expect(1)] == [otpy.Killed()]  # type: ignore[attr-defined]
    [signal] = beyond.expect(1)
    assert (signal.sender, signal.reason, plain.reason) == (plain, otpy.Killed(), otpy.Killed())  # type: ignore[attr-defined]


@pytest.mark.otp_case(12)
def test_a_linked_actor_that_shuts_down_takes_who_does_not_trap_along(system: otpy.System) -> None:
    one, other = system.start(Doer), system.start(Doer)
    other.call(Doer.do, lambda self: self.link(one))
    monitor = other.monitor()
    one.exit(otpy.Shutdown())
    assert monitor.wait().reason == otpy.Shutdown()


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


@pytest.mark.otp_case(25)
def test_what_was_sent_before_the_end_is_seen_before_it(system: otpy.System) -> None:
    parent = Probe(system, trap_exit=True)
    child = system.start(Doer)
    parent.link(child)

    def last_words(_: Doer) -> None:
        parent.ref.tell("m1")
        parent.ref.tell("m2")
        otpy.exit(BOOM)

    child.cast(Doer.run, last_words)
    assert [getattr(message, "reason", message) for message in parent.expect(3)] == ["m1", "m2", BOOM]


@pytest.mark.otp_case(30)
def test_messages_before_the_exit_signal_are_handled_by_who_traps_and_none_after(system: otpy.System) -> None:
    """Jobs 1 to 3 are done, then the parent's shutdown, never job 4."""
    log: list[object] = []
    gate = Gate()
    parent = system.start(Doer)
    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer, log, traps=True))
    child.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    for job in (1, 2, 3):
        child.tell(job)
    monitor = child.monitor()
    parent.call(Doer.do, lambda _: child.exit(otpy.Shutdown()))
    child.tell(4)
    gate.open()
    assert monitor.wait().reason == otpy.Shutdown()
    assert log == [1, 2, 3, ("terminate", otpy.Shutdown())]


def test_messages_before_the_exit_signal_are_dropped_by_who_does_not_trap(system: otpy.System) -> None:
    """Semantics 1.6: exit signals overtake messages."""
    log: list[object] = []
    gate = Gate()
    ref = system.start(Doer, log)
    ref.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    ref.tell("never seen")
    monitor = ref.monitor()
    ref.exit(BOOM)
    gate.open()
    assert monitor.wait().reason == BOOM
    assert log == []


@pytest.mark.otp_case(60, 62)
@pytest.mark.parametrize("reason", [otpy.Shutdown(), otpy.Normal(), BOOM], ids=str)
def test_an_exit_signal_of_the_parent_ends_who_traps_by_way_of_terminate(
    system: otpy.System, reason: otpy.Reason
) -> None:
    log: list[object] = []
    parent = system.start(Doer)
    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer, log, traps=True))
    monitor = child.monitor()
    parent.call(Doer.do, lambda self: (self.unlink(child), child.exit(reason)) and None)
    assert monitor.wait().reason == reason
    assert log == [("terminate", reason)]


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
