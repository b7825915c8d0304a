"""How actors end by themselves, and what others see of it. The marks name the cases of OTP."""

from __future__ import annotations

from itertools import pairwise

import pytest

import otpy
from otpy.errors import CallExitError, NoProcError
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush


@pytest.mark.otp_case(1)
def test_an_actor_that_stops_is_seen_to_end_normal(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, lambda _: otpy.Stop())
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.otp_case(1)
def test_a_function_that_returns_is_seen_to_end_normal(system: otpy.System) -> None:
    with Gate() as gate:
        ref = system.start(gate.wait)
        gate.reached()
        monitor = ref.monitor()
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.otp_case(2)
def test_an_error_is_the_exit_reason_with_its_traceback(system: otpy.System) -> None:
    def fail(_: Doer) -> None:
        raise ValueError("bad")

    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, fail)
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.Crashed)
    assert (reason.type, reason.text) == ("ValueError", "bad")
    assert "in fail" in reason.traceback


@pytest.mark.otp_case(234)
def test_the_same_holds_for_the_exit_signal_of_a_link(system: otpy.System) -> None:
    log: list[object] = []
    ref = system.start(otpy.child(Doer, log).opts(name="it"))
    seen: list[object] = []
    watcher = system.start(Doer, traps=True)

    def look(self: Doer) -> None:
        self.link(ref)
        self.handle_info = lambda signal: seen.append(  # type: ignore[method-assign]
            (signal.sender, signal.reason, log[:], system.whereis("it"), ref.is_alive())
        )

    watcher.call(Doer.do, look)
    ref.stop(BOOM)
    flush(watcher)
    assert seen == [(ref, BOOM, [("terminate", BOOM)], None, False)]


@pytest.mark.otp_case(24, 234)
def test_the_name_is_free_and_terminate_is_done_when_an_end_is_seen(system: otpy.System) -> None:
    """In the order of dying, the news comes last."""
    log: list[object] = []
    ref = system.start(otpy.child(Doer, log).opts(name="it"))
    seen: list[object] = []
    watcher = system.start(Doer)

    def look(self: Doer) -> None:
        self.monitor("it")
        self.handle_info = lambda down: seen.append(  # type: ignore[method-assign]
            (down.target, down.reason, log[:], system.whereis("it"), ref.is_alive())
        )

    watcher.call(Doer.do, look)
    ref.stop(BOOM)
    flush(watcher)
    assert seen == [("it", BOOM, [("terminate", BOOM)], None, False)]


def test_an_actor_that_kills_itself_leaves_its_code_at_once(system: otpy.System) -> None:
    after: list[object] = []
    ref = system.start(Doer, after)

    def suicide(self: Doer) -> None:
        self.ref.kill()
        after.append("still here")

    monitor = ref.monitor()
    ref.cast(Doer.run, suicide)
    assert monitor.wait().reason == otpy.Killed()
    system.wait_idle()
    assert after == []
    assert system.zombies() == []


def test_a_dead_actor_cannot_be_killed_or_stopped_again(system: otpy.System) -> None:
    ref = system.start(Doer)
    assert ref.kill()
    assert not ref.kill()
    assert ref.stop() is False
    ref.exit(BOOM)
    assert ref.reason == otpy.Killed()
    with pytest.raises(NoProcError):
        ref.call(Doer.read)


def test_a_thousand_linked_actors_fall_like_dominoes(system: otpy.System) -> None:
    """Links pass an exit on without recursion, however long the chain."""
    refs = [system.start(Doer) for _ in range(1_000)]
    for one, other in pairwise(refs):
        one.call(Doer.do, lambda self, peer: self.link(peer), other)
    monitor = refs[-1].monitor()
    refs[0].exit(BOOM)
    assert monitor.wait(60.0).reason == BOOM
    system.wait_idle()
    assert {ref.reason for ref in refs} == {BOOM}


def test_a_clique_of_linked_actors_ends_whole(system: otpy.System) -> None:
    refs = [system.start(Doer) for _ in range(30)]
    for one in refs:
        one.call(Doer.do, lambda self: [self.link(other) for other in refs] and None)
    refs[7].exit(BOOM)
    system.wait_idle()
    assert {ref.reason for ref in refs} == {BOOM}


@pytest.mark.otp_case(52, 232)
@pytest.mark.report("D125", "ray-project/ray#11990")
def test_calls_that_wait_in_a_dying_actor_get_its_reason(system: otpy.System) -> None:
    """Two calls behind a cast that crashes."""
    ref = system.start(Doer)
    gate = Gate()
    ref.cast(Doer.run, lambda _: gate.wait())
    ref.cast(Doer.run, lambda _: otpy.exit(BOOM))
    futures = [ref.ask("x", block=False) for _ in range(2)]
    gate.open()
    for future in futures:
        with pytest.raises(CallExitError) as caught:
            future.get(timeout=5)
        assert caught.value.reason == BOOM


class Odd:
    """A term as arrays are: two of them cannot be compared."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")


def test_an_end_is_told_also_when_its_reason_cannot_be_compared(system: otpy.System) -> None:
    """Whoever remembers it must not keep it from those who watch."""

    class Odder(Doer):
        def handle_info(self, message: object) -> object:
            return otpy.Stop(otpy.Exit(Odd()))

    ref = system.start(Odder, traps=True)
    monitor = ref.monitor()
    ref.exit(otpy.Exit(Odd()))
    assert isinstance(monitor.wait(10.0).reason, otpy.Exit)
