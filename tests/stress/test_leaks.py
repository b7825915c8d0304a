"""Long lives: nothing grows that should not."""

from __future__ import annotations

import gc
import threading

import pytest

import otpy
from otpy.testing.remains import ends_within
from support.doer import BOOM, Doer, flush


@pytest.fixture
def many(rounds: int) -> int:
    """2 000 rounds, or 60 000."""
    return 2_000 * rounds


@pytest.mark.report("B79", "akka/akka-core#17087")
def test_calls_to_a_server_that_watches_its_callers(many: int) -> None:
    system = otpy.System("stress")
    server, client = system.start(Doer), system.start(Doer)

    def serve(self: Doer) -> None:
        assert self.caller is not None
        assert self.caller.ref is not None
        monitor = self.monitor(self.caller.ref)
        self.demonitor(monitor)

    def drive(_: Doer) -> None:
        for _ in range(many):
            server.call(Doer.do, serve)

    client.within(None).call(Doer.do, drive)
    assert not client.monitors
    assert not server.extras().watches
    system.stop()


@pytest.mark.report("B80", "akkadotnet/akka.net#4026")
def test_monitors_that_fire(many: int) -> None:
    """Start, watch, stop."""
    system = otpy.System("stress")
    watcher = system.start(Doer)

    def one(self: Doer) -> None:
        child = self.spawn_link(Doer)
        self.monitor(child)
        child.stop()
        self.log.clear()

    def drive() -> None:
        for _ in range(many // 20):
            watcher.call(Doer.do, one)

    drive()
    gc.collect()
    before = len(gc.get_objects())
    drive()
    gc.collect()
    assert len(gc.get_objects()) - before < 1_000
    assert watcher.links is None
    system.stop()


def test_timeouts_and_deferred_replies(many: int) -> None:
    """Neither timers nor slots nor callers that gave up are kept."""
    system = otpy.System("stress")
    server, client = system.start(Doer), system.start(Doer)

    def drive(_: Doer) -> None:
        for _ in range(many // 10):
            with pytest.raises(otpy.errors.CallTimeoutError):
                server.within(0).call(Doer.do, lambda _: otpy.NoReply())
            server.call(Doer.do, lambda _: otpy.Reply(1, timeout=60.0))

    client.within(None).call(Doer.do, drive)
    flush(server)
    assert not server.extras().deferred
    assert len(system.timers._heap) < 200
    system.stop()


def test_links_and_exit_signals(many: int) -> None:
    system = otpy.System("stress")
    hub = system.start(Doer, traps=True)

    def one(self: Doer) -> None:
        peers = [self.spawn_link(Doer) for _ in range(10)]
        for peer in peers:
            peer.exit(BOOM)

    for _ in range(many // 100):
        hub.call(Doer.do, one)
        system.wait_idle()
        assert hub.call(Doer.do, lambda self: len(self.log)) == 10
        hub.call(Doer.do, lambda self: self.log.clear())
    assert hub.links is None
    assert not hub.extras().spawned
    assert system.alive == 1
    system.stop()


def test_systems_that_come_and_go(rounds: int) -> None:
    """No thread, no actor and no system is kept."""
    before = set(threading.enumerate())
    for _ in range(10 * rounds):
        system = otpy.System("stress")
        flush(system.start(Doer))
        flush(system.start(otpy.child(Doer).opts(place="thread")))
        system.timers.after(60.0, int)
        system.stop()
    del system
    assert all(ends_within(thread, 30) for thread in set(threading.enumerate()) - before)
    gc.collect()
    # By `type`: other tests leave things behind that do not even say their class.
    assert not any(type(thing) is otpy.System and thing.name == "stress" for thing in gc.get_objects())
