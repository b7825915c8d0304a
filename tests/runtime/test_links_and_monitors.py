"""Links and monitors: set up, taken down, and never left behind."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest

import otpy
from otpy.errors import DeadlockError, StartError
from otpy.events import UnknownMessage
from otpy.runtime import death
from otpy.testing import Gate, Probe, Recorder
from support.doer import BOOM, Doer, flush


@pytest.mark.otp_case(16)
def test_unlinking_leaves_an_exit_message_that_has_arrived(system: otpy.System) -> None:
    peer, ref = system.start(Doer), system.start(Doer, traps=True)
    ref.call(Doer.do, lambda self: self.link(peer))

    def outlive(self: Doer) -> int:
        peer.kill()
        self.unlink(peer)
        return len(self.log)

    assert ref.call(Doer.do, outlive) == 0
    assert [signal.sender for signal in flush(ref)] == [peer]


@pytest.mark.otp_case(18)
def test_linking_to_oneself_has_no_effect(system: otpy.System) -> None:
    ref, stranger = system.start(Doer), system.start(Doer)
    ref.call(Doer.do, lambda self: (self.link(self.ref), self.unlink(self.ref), self.unlink(stranger)) and None)
    assert ref.links is None
    assert ref.is_alive()


def test_actors_of_two_systems_cannot_be_linked(system: otpy.System) -> None:
    other = otpy.System("other")
    there, here = other.start(Doer), system.start(Doer)
    assert "two systems" in here.call(Doer.do, _error_of_linking, there)
    other.stop()


def test_a_link_by_name_is_refused_with_the_way_out(system: otpy.System) -> None:
    system.start(otpy.child(Doer).opts(name="peer"))
    ref = system.start(Doer)

    def link(self: Doer) -> None:
        with pytest.raises(TypeError, match=r"link is with one incarnation.*whereis"):
            self.link(self.system.ref("peer"))

    ref.call(Doer.do, link)


def _error_of_linking(self: Doer, there: otpy.Ref[Doer]) -> str:
    with pytest.raises(ValueError, match="two systems") as caught:
        self.link(there)
    return str(caught.value)


def test_a_spawned_child_is_linked_before_it_runs(system: otpy.System) -> None:
    """Semantics 2.2: the child dies in its first message, and its parent always hears of it."""
    parent = Probe(system, trap_exit=True)

    def in_a_child(self: Doer) -> otpy.Continue:
        return otpy.Continue(lambda _: otpy.exit(BOOM))

    children = [_spawn(parent, in_a_child) for _ in range(20)]
    signals = parent.expect(20)
    assert {signal.sender for signal in signals} == set(children)  # type: ignore[attr-defined]


def _spawn(parent: Probe, deed: object) -> otpy.Ref[Doer]:
    return parent.ref.proxy().spawn_link(Doer, deed=deed).get(timeout=5)


def test_a_spawned_child_whose_init_fails_leaves_nothing_but_the_error(system: otpy.System) -> None:
    """Semantics 5.3 as of OTP 26: no stray exit message, and the parent, which does not trap, lives."""
    parent = system.start(Doer)

    def spawn(self: Doer) -> otpy.Reason:
        with pytest.raises(StartError) as caught:
            self.spawn_link(Doer, deed=lambda _: otpy.Stop(BOOM))
        return caught.value.reason

    assert parent.call(Doer.do, spawn) == BOOM
    assert flush(parent) == []
    assert parent.links is None


def test_each_monitor_has_its_own_down(system: otpy.System) -> None:
    ref, watcher = system.start(Doer), Probe(system)
    monitors = [watcher.monitor(ref) for _ in range(3)]
    ref.exit(BOOM)
    assert [down.monitor for down in watcher.expect(3)] == monitors  # type: ignore[attr-defined]


def test_a_reference_by_name_is_watched_as_the_name_is(system: otpy.System) -> None:
    """OTP: monitor/2 of `{registered name, node}`, whose `DOWN` has the name."""
    ref, watcher = system.start(otpy.child(Doer).opts(name="peer")), Probe(system)
    watcher.monitor(system.ref("peer"))
    watcher.monitor(system.ref("nobody"))
    ref.exit(BOOM)
    downs = [(down.target, down.reason) for down in watcher.expect(2)]  # type: ignore[attr-defined]
    assert downs == [("nobody", otpy.NoProc()), ("peer", BOOM)]


@pytest.mark.otp_case(22)
def test_demonitor_says_whether_it_came_in_time(system: otpy.System) -> None:
    """Without flush the Down stays in the mailbox, with it none is seen."""
    ref, peer = system.start(Doer), system.start(Doer)

    def outlive(self: Doer) -> list[bool]:
        monitors = [self.monitor(peer) for _ in range(3)]
        in_time = self.demonitor(monitors[0])
        peer.kill()
        return [in_time, self.demonitor(monitors[1]), self.demonitor(monitors[2], flush=True)]

    assert ref.call(Doer.do, outlive) == [True, False, False]
    assert len(flush(ref)) == 1


@pytest.mark.report("B82", "kquick/Thespian#39")
def test_two_hundred_ends_are_seen_once_each(system: otpy.System) -> None:
    watcher = Probe(system)
    refs = [system.start(Doer) for _ in range(200)]
    for ref in refs:
        watcher.monitor(ref)
    for ref in refs:
        ref.cast(Doer.run, lambda _: otpy.exit(BOOM))
    downs = watcher.expect(200)
    system.wait_idle()
    assert {down.target for down in downs} == set(refs)  # type: ignore[attr-defined]
    assert len(watcher.messages) == 200


@pytest.mark.report("B70", "pathosDev/actor-ts#769")
def test_a_look_alike_of_a_down_is_user_data(system: otpy.System, events: Recorder) -> None:
    """Whatever a user sends, it is a message to handle_info and nothing else."""

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer).opts(id="a")]

    root = system.start(Tree)
    child = system.find("t/Tree/a")
    assert child is not None
    forged = [
        otpy.Down(otpy.Monitor(child, child, root), child, BOOM),
        otpy.ExitSignal(child, BOOM),
        ("EXIT", child, BOOM),
        ("DOWN", child, BOOM),
    ]
    user = system.start(Doer, traps=True)
    for message in forged:
        root.tell(message)
        user.tell(message)
    system.wait_idle()
    assert system.find("t/Tree/a") is child
    assert flush(user) == forged
    assert [event.path for event in events.of(UnknownMessage)] == ["t/Tree"] * 4
    child.kill()
    system.wait_idle()
    assert system.find("t/Tree/a") is not child
    assert [(record.id, record.restarts) for record in system.records("t/Tree")[1:]] == [("a", 1)]


def test_code_outside_of_actors_waits_for_an_end(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    with pytest.raises(TimeoutError, match="still lives after 0 s"):
        monitor.wait(0)
    ref.kill()
    assert monitor.wait().reason == otpy.Killed()
    assert monitor.wait(0).reason == otpy.Killed()


@pytest.mark.report("D130", "dask/distributed#5708")
def test_several_threads_wait_for_one_end(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    seen: list[otpy.Reason] = []
    threads = [threading.Thread(target=lambda: seen.append(monitor.wait().reason)) for _ in range(3)]
    for thread in threads:
        thread.start()
    ref.kill()
    for thread in threads:
        thread.join(30)
    assert seen == [otpy.Killed()] * 3


@pytest.mark.report("B55", "jodal/pykka#76")
def test_an_actor_cannot_wait_for_its_own_end(system: otpy.System) -> None:
    ref = system.start(Doer)

    def wait(self: Doer, verb: str) -> str:
        with pytest.raises(DeadlockError) as caught:
            self.ref.stop() if verb == "stop" else self.ref.monitor().wait()
        return str(caught.value)

    assert "t/Doer → t/Doer" in ref.call(Doer.do, wait, "stop")
    assert "t/Doer → t/Doer" in ref.call(Doer.do, wait, "monitor")
    assert ref.is_alive()


@pytest.mark.report("B55", "jodal/pykka#76")
def test_a_stop_within_init_of_oneself_is_refused(system: otpy.System) -> None:
    """An actor of pykka deadlocks here."""
    with pytest.raises(StartError) as caught:
        system.start(Doer, deed=lambda self: self.ref.stop())
    assert "DeadlockError" in str(caught.value)


def test_an_end_waited_for_by_an_actor_is_cut_short_by_its_own(system: otpy.System) -> None:
    ref, other = system.start(Doer), system.start(Doer)
    ref.cast(Doer.run, lambda _: other.monitor().wait(None) and None)
    system.wait_idle()
    down = ref.monitor()
    ref.exit(BOOM)
    assert down.wait().reason == BOOM


def test_a_stop_that_timed_out_leaves_no_monitor(system: otpy.System) -> None:
    ref = system.start(Doer)
    with Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        for _ in range(5):
            with pytest.raises(TimeoutError):
                ref.stop(timeout=0)
        assert not ref.monitors


@pytest.mark.report("B79", "akka/akka-core#17087")
def test_calls_to_a_server_that_watches_its_callers_leave_nothing(system: otpy.System, calls: int = 2_000) -> None:
    """100 000 rounds in stress/."""
    server = system.start(Doer)

    def serve(self: Doer) -> None:
        assert self.caller is not None
        assert self.caller.ref is not None
        self.demonitor(self.monitor(self.caller.ref))

    client = system.start(Doer)
    client.within(60).call(Doer.do, lambda _: [server.call(Doer.do, serve) for _ in range(calls)] and None)
    assert not client.monitors
    assert not server.extras().watches


@pytest.mark.report("B80", "akkadotnet/akka.net#4026")
def test_starting_watching_and_stopping_leaves_nothing(system: otpy.System, rounds: int = 300) -> None:
    """10 000 rounds in stress/."""
    watcher = system.start(Doer)

    def one(self: Doer) -> None:
        child = self.spawn_link(Doer)
        self.monitor(child)
        child.stop()

    for _ in range(rounds):
        watcher.call(Doer.do, one)
        watcher.call(Doer.do, lambda self: self.log.clear())
    assert not watcher.extras().watches
    assert not watcher.extras().spawned
    assert watcher.links is None
    gc.collect()
    # By `type`: other tests leave things behind that do not even say their class.
    assert sum(type(thing) is otpy.Ref and thing.system is system for thing in gc.get_objects()) < 10


def test_who_waits_outside_for_an_end_hears_of_it_when_those_linked_to_it_have(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a supervisor that is asked then answers when it has dealt with that end."""
    peer, ref = system.start(Doer, traps=True), system.start(Doer)
    peer.call(Doer.do, lambda self: self.link(ref))
    monitor, gate, tell = ref.monitor(), Gate(), death.exit_signal

    def tell_late(target: Any, *args: Any, **words: Any) -> None:
        gate.wait()
        tell(target, *args, **words)

    monkeypatch.setattr(death, "exit_signal", tell_late)
    with gate:
        killer = threading.Thread(target=ref.kill)
        killer.start()
        gate.reached()
        assert not ref.is_alive()
        assert monitor.down is None
    assert monitor.wait().reason == otpy.Killed()
    assert [signal.sender for signal in flush(peer)] == [ref]
    killer.join()
