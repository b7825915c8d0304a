"""Killed actors whose code still runs: dead to all others, listed, and fenced off."""

from __future__ import annotations

import gc
import threading
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import ActorExit, CallExitError
from otpy.events import DeadLetter, ZombieEnded, ZombieLimitReached, ZombieMade
from otpy.testing import Gate, Probe, Recorder
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable


class Undead:
    """An actor that is killed in the middle of a message, and does something afterwards."""

    def __init__(self, system: otpy.System, deed: Callable[[Doer], object], place: str = "pool") -> None:
        self.gate = Gate()
        self.outcome: list[object] = []
        spec = otpy.child(Doer).opts(id="zombie", name="zombie", place=place)  # type: ignore[typeddict-item]
        self.ref: otpy.Ref[Doer] = system.start(spec)
        self.future = self.ref.proxy().do(self._live, deed)
        self.gate.reached()
        system.wait_idle()  # it does wait there, as reports of it say
        self.ref.kill()

    def _live(self, actor: Doer, deed: Callable[[Doer], object]) -> object:
        self.gate.wait()
        try:
            self.outcome.append(deed(actor))
        except ActorExit as way_out:
            self.outcome.append(way_out.reason)
            raise
        return "a reply that nobody gets"


PEERS: list[otpy.Ref[Doer]] = []

DEEDS: dict[str, Callable[[Doer], object]] = {
    "cast": lambda _: PEERS[0].cast(Doer.run, lambda peer: peer.log.append("cast")),
    "tell": lambda _: PEERS[0].tell("tell"),
    "call": lambda _: PEERS[0].call(Doer.do, lambda peer: peer.log.append("call")),
    "ask": lambda _: PEERS[0].ask("ask"),
    "future": lambda _: PEERS[0].ask("ask", block=False),
    "proxy": lambda _: PEERS[0].proxy().log,
    "stop": lambda _: PEERS[0].stop(),
    "stop without waiting": lambda _: PEERS[0].stop(block=False),
    "exit": lambda _: PEERS[0].exit(BOOM),
    "kill": lambda _: PEERS[0].kill(),
    "monitor from outside": lambda _: PEERS[0].monitor(),
    "link": lambda self: self.link(PEERS[0]),
    "monitor": lambda self: self.monitor(PEERS[0]),
    "spawn_link": lambda self: self.spawn_link(Doer),
    "start": lambda self: self.system.start(Doer),
    "register": lambda self: self.register("stolen"),
    "send_after": lambda self: self.send_after(0.0, "x"),
    "send_interval": lambda self: self.send_interval(1.0, "x"),
    "use": lambda self: self.use(threading.Lock()),
    "sleep": lambda _: otpy.sleep(0),
    "checkpoint": lambda _: otpy.checkpoint(),
    "to oneself": lambda self: self.ref.tell("x"),
    "by name": lambda self: self.system.ref("zombie").tell("x"),
}


@pytest.mark.otp_case(231)
@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("place", ["pool", "thread"])
def test_whatever_a_zombie_asks_of_otpy_ends_it(system: otpy.System, deed: str, place: str) -> None:
    """Nothing comes of it."""
    PEERS[:] = [system.start(Doer)]
    zombie = Undead(system, DEEDS[deed], place)
    alive = system.alive
    zombie.gate.open()
    system.wait_idle()
    assert zombie.outcome == [otpy.Killed()]
    assert flush(PEERS[0]) == []
    assert (PEERS[0].links, not PEERS[0].monitors) == (None, True)
    assert system.alive == alive
    assert system.whereis("stolen") is None
    assert system.timers.next_due() is None
    assert system.zombies() == []


def test_a_zombies_reply_reaches_nobody(system: otpy.System) -> None:
    zombie = Undead(system, lambda _: "done")
    with pytest.raises(CallExitError) as caught:
        zombie.future.get(timeout=5)
    assert caught.value.reason == otpy.Killed()
    zombie.gate.open()
    system.wait_idle()
    assert zombie.outcome == ["done"]


def test_a_zombies_explicit_reply_is_fenced(system: otpy.System) -> None:
    kept: list[otpy.Caller] = []
    server = system.start(Doer)
    future = server.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
    flush(server)
    zombie = Undead(system, lambda _: kept[0].reply("forged"))
    zombie.gate.open()
    system.wait_idle()
    assert zombie.outcome == [otpy.Killed()]
    assert kept[0].reply("right")
    assert future.get(timeout=5) == "right"


@pytest.mark.otp_case(231)
def test_a_kill_is_seen_at_once_though_the_code_runs(system: otpy.System, events: Recorder) -> None:
    """Name free, monitors told, callers told, listed; then gone from the list."""
    probe = Probe(system)
    zombie = Undead(system, lambda _: None)
    probe.monitor(zombie.ref)
    assert [down.reason for down in probe.expect(1)] == [otpy.NoProc()]  # type: ignore[attr-defined]
    assert not zombie.ref.is_alive()
    assert system.whereis("zombie") is None
    [record] = system.zombies()
    assert (record.path, record.status) == ("t/zombie", "zombie")
    assert record.thread is not None
    [made] = events.of(ZombieMade)
    assert (made.path, made.thread) == ("t/zombie", record.thread)
    assert "gate.py" in str(made)
    zombie.gate.open()
    events.expect(2)
    assert [event.path for event in events.of(ZombieEnded)] == ["t/zombie"]
    assert system.zombies() == []


@pytest.mark.otp_case(231)
def test_the_replacement_of_a_zombie_gets_its_name_at_once(system: otpy.System) -> None:
    """With a supervisor: shutdown time over, child killed, the replacement runs beside the zombie."""
    gate = Gate()

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer).opts(id="a", name="a", shutdown=0)]

    root = system.start(Tree)
    old = system.whereis("a")
    assert old is not None
    old.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    root.call(otpy.Supervisor.terminate_child, "a")
    new = root.call(otpy.Supervisor.restart_child, "a")
    assert old.reason == otpy.Killed()
    assert system.whereis("a") is new
    assert len(system.zombies()) == 1
    gate.open()
    system.wait_idle()
    assert system.zombies() == []
    assert system.whereis("a") is new


@pytest.mark.report("B67", "tqwewe/kameo#362", "tqwewe/kameo#363", "tqwewe/kameo#364")
def test_messages_waiting_for_a_killed_actor_are_dead_letters_at_once(system: otpy.System) -> None:
    with Recorder(system, DeadLetter) as letters, Gate() as gate:
        ref = system.start(Doer)
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        ref.tell("queued")
        ref.kill()
        assert [letter.message for letter in letters.of(DeadLetter)] == ["info 'queued'"]


def test_an_idle_actor_that_is_killed_is_no_zombie(system: otpy.System, events: Recorder) -> None:
    system.start(Doer).kill()
    ref = system.start(otpy.child(Doer).opts(place="thread"))
    ref.kill()
    system.wait_idle()
    assert events.of(ZombieMade) == []
    assert system.zombies() == []


def test_an_actor_that_waits_for_a_turn_when_it_is_killed_is_no_zombie(system: otpy.System, events: Recorder) -> None:
    with Gate() as gate:
        first, ref = system.start(Doer), system.start(Doer)
        blocker = threading.Event()
        first.cast(Doer.run, lambda _: gate.reached and blocker.wait() and None)
        ref.tell("queued")
        ref.kill()
        blocker.set()
    system.wait_idle()
    assert events.of(ZombieEnded) == events.of(ZombieMade) or len(events.of(ZombieEnded)) == len(events.of(ZombieMade))
    assert system.zombies() == []


def test_a_zombie_that_is_killed_again_is_listed_once(system: otpy.System, events: Recorder) -> None:
    zombie = Undead(system, lambda _: None)
    assert not zombie.ref.kill()
    assert len(system.zombies()) == 1
    zombie.gate.open()
    system.wait_idle()
    assert system.zombies() == []
    assert len(events.of(ZombieMade)) == len(events.of(ZombieEnded)) == 1


@pytest.mark.parametrize("phase", ["init", "continue", "terminate", "close"])
def test_code_outside_of_messages_makes_a_zombie_too(  # noqa: C901 - four phases, one story
    system: otpy.System, phase: str
) -> None:
    """Whatever code of the actor runs when it is killed: it is listed, and so fenced."""
    gate, seen = Gate(), []
    peer = system.start(otpy.child(Doer).opts(id="peer"))

    def hang() -> None:
        gate.wait()
        try:
            peer.tell("from a zombie")
        except ActorExit:
            seen.append("fenced")
            raise

    class Phases(Doer):
        def init(self, **options: Any) -> Any:
            super().init(**options)
            if phase == "init":
                hang()
            return otpy.Continue(lambda _: hang()) if phase == "continue" else None

        def terminate(self, reason: otpy.Reason) -> None:
            if phase == "terminate":
                hang()

    class Resource:
        def __enter__(self) -> None:
            """Nothing to do."""

        def __exit__(self, *_: object) -> None:
            hang()

    spec = otpy.child(Phases).opts(name="it")
    starter = threading.Thread(target=lambda: _ignore_failure(lambda: system.start(spec)))
    starter.start()
    if phase != "init":
        starter.join(30)
    ref = system.ref("it").whereis()
    if phase in ("terminate", "close"):
        assert ref is not None
        if phase == "close":
            ref.call(Doer.do, lambda self: self.use(Resource()))
        ref.stop(block=False)
    gate.reached()
    ref = ref or system.ref("it").whereis()
    assert ref is not None
    ref.kill()
    assert [zombie.path for zombie in system.zombies()] == ["t/Phases"]
    gate.open()
    starter.join(30)
    system.wait_idle()
    assert seen == ["fenced"]
    assert flush(peer) == []
    assert system.zombies() == []


def _ignore_failure(deed: Callable[[], object]) -> None:
    with suppress(otpy.OtpyError):
        deed()


def test_too_many_zombies_end_the_program(system: otpy.System, events: Recorder) -> None:
    system.max_zombies = 2
    ended: list[bool] = []
    system.on_too_many_zombies = lambda: ended.append(True)
    with Gate() as gate:
        for _ in range(3):
            ref = system.start(Doer)
            ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached(3)
        for ref in list(system.tops.values()):
            assert ended == []
            ref.kill()
        assert ended == [True]
        [event] = events.of(ZombieLimitReached)
        assert event.count == 3


def test_a_zombie_that_waits_inside_otpy_is_freed_by_its_death(system: otpy.System) -> None:
    server = system.start(Doer)
    seen: list[object] = []
    for wait in (
        lambda _: server.within(None).call(Doer.do, lambda _: otpy.NoReply()),
        lambda _: otpy.sleep(1e6),
        lambda _: server.monitor().wait(None),
        lambda _: server.stop() if seen else otpy.sleep(1e6),
    ):
        ref = system.start(Doer)
        ref.cast(Doer.run, lambda self, wait=wait: seen.append(wait(self)))
        system.wait_idle()
        ref.kill()
        system.wait_idle()
        assert system.zombies() == []
    assert seen == []


def test_a_dead_actors_state_is_let_go(system: otpy.System) -> None:
    """The user's object goes with the incarnation, though refs are kept for ever."""
    ref = system.start(Doer)
    flush(ref)
    state = weakref.ref(ref.actor)
    for end in ("kill", "stop", "crash"):
        ref = system.start(Doer)
        flush(ref)
        state = weakref.ref(ref.actor)
        if end == "crash":
            ref.cast(Doer.run, lambda _: 1 // 0)
        else:
            getattr(ref, end)()
        system.wait_idle()
        gc.collect()
        assert state() is None, end
