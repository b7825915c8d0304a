"""Workers and the watchdog: who blocks costs a thread, and there is a limit to that."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import otpy
from otpy.errors import StartError, ThreadLimitError
from otpy.events import ThreadLimitNear
from otpy.runtime.pool import SPARE_WORKERS, Pool, Worker
from otpy.runtime.seat import Slot
from otpy.runtime.watchdog import Watchdog
from otpy.testing import Gate, Recorder
from support.doer import Doer, flush
from support.threads import refuse_threads
from support.tokens import tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


@pytest.fixture
def small() -> Iterator[otpy.System]:
    """A system with few threads."""
    system = otpy.System("small", max_threads=8)
    yield system
    system.wait_idle()
    assert tokens(system) == system.pool.limit
    assert system.stop(timeout=30.0) == []


def block(system: otpy.System, count: int, gate: threading.Event) -> threading.Barrier:
    """Let so many pool actors block outside of otpy; the barrier falls when all of them do."""
    barrier = threading.Barrier(count + 1)

    def deed(_: Doer) -> None:
        barrier.wait()
        gate.wait()

    for _ in range(count):
        system.start(Doer).cast(Doer.run, deed)
    return barrier


def flush_watchdog(system: otpy.System, looks: int = 20) -> None:
    """Wait until the watchdog has looked so many times."""
    watchdog, seen = system.watchdog, threading.Semaphore(0)
    assert watchdog is not None
    look = watchdog._look
    watchdog._look = lambda busy: (seen.release(), look(busy))[1]  # type: ignore[method-assign]
    for _ in range(looks):
        assert seen.acquire(timeout=5)
    watchdog._look = look  # type: ignore[method-assign]


def test_blocked_actors_get_threads_of_their_own(system: otpy.System) -> None:
    gate = threading.Event()
    block(system, 50, gate).wait(10)
    gate.set()
    system.wait_idle()
    assert tokens(system) == system.pool.limit


def test_a_call_beside_a_blocked_actor_is_answered(system: otpy.System) -> None:
    gate = threading.Event()
    block(system, 1, gate).wait(30)
    assert flush(system.start(Doer)) == []
    gate.set()


def test_a_call_beside_a_computing_actor_is_answered(system: otpy.System) -> None:
    done = threading.Event()

    def compute(_: Doer) -> None:
        while not done.is_set():
            pass

    system.start(Doer).cast(Doer.run, compute)
    assert flush(system.start(Doer)) == []
    done.set()


def test_the_limit_is_reached_again_and_again(small: otpy.System) -> None:
    """Threads that rest do not count: a second wave of blocked actors gets as many as the first."""
    for _ in range(3):
        gate = threading.Event()
        block(small, 6, gate).wait(10)
        gate.set()
        small.wait_idle()
    assert len(small.pool.workers) <= 9


def test_the_limit_is_reported_near_and_at_it(small: otpy.System) -> None:
    """At 80 %, and when further actors have to wait for a thread."""
    gate = threading.Event()
    more = [small.start(Doer) for _ in range(6)]
    with Recorder(small, ThreadLimitNear) as near:
        block(small, 7, gate).wait(10)
        near.expect(1)
        for ref in more:
            ref.cast(Doer.run, lambda _: gate.wait() and None)
        near.expect(2)
        told = near.of(ThreadLimitNear)
        assert [(event.path, event.limit) for event in told] == [("small", 8)] * 2
        assert (told[0].count, told[1].count in (8, 9)) == (7, True), "the limit is of extra threads, beside the first"
        gate.set()
        small.wait_idle()


def test_actors_beyond_the_limit_wait_and_are_served(small: otpy.System) -> None:
    gate, begun = threading.Event(), threading.Semaphore(0)
    log: list[int] = []
    refs = [small.start(Doer) for _ in range(20)]
    for number, ref in enumerate(refs):
        ref.cast(Doer.run, lambda _, n=number: (begun.release(), gate.wait(), log.append(n)) and None)
    for _ in range(8):
        assert begun.acquire(timeout=5)
    flush_watchdog(small)
    assert len(small.pool.workers) == 8
    gate.set()
    small.wait_idle()
    assert sorted(log) == list(range(20))


def test_threads_that_have_not_come_to_their_turn_yet_count_for_the_limit(
    small: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With each look of the watchdog before they came to it there were more: 21 of 8 on a busy machine."""
    gate, late, run = threading.Event(), threading.Event(), Pool.run

    def run_late(pool: Pool, worker: Worker) -> None:
        if len(pool.workers) > 6:
            late.wait(10)
        run(pool, worker)

    monkeypatch.setattr(Pool, "run", run_late)
    small.pool.limit += 3
    for _ in range(3):
        small.pool.put_back()
    refs = [small.start(Doer) for _ in range(20)]
    for ref in refs:
        ref.cast(Doer.run, lambda _: gate.wait() and None)
    flush_watchdog(small)
    assert len(small.pool.workers) <= 8
    late.set()
    gate.set()


def test_waiting_inside_otpy_needs_no_extra_of_the_limit(small: otpy.System) -> None:
    """A chain of 40 callers on a limit of 8: hand-offs are never refused."""
    refs = [small.start(Doer) for _ in range(40)]

    def go(_: Doer, rest: list[otpy.Ref[Doer]]) -> int:
        return 1 + rest[0].call(Doer.do, go, rest[1:]) if rest else 1

    assert refs[0].call(Doer.do, go, refs[1:]) == 40


@pytest.mark.parametrize("extra", [0, 7])
def test_many_blocked_callers_of_one_server_are_all_answered(system: otpy.System, extra: int) -> None:
    """Beside the spare threads there is one for each token, of which a busy machine gets some more."""
    gate = Gate()
    given = [1 + extra]
    pool, watchdog = system.pool, system.watchdog
    assert watchdog is not None
    add = watchdog._add_tokens
    watchdog._add_tokens = lambda wanted: (add(wanted), given.append(pool.limit))[0]  # type: ignore[method-assign]
    pool.limit += extra
    for _ in range(extra):
        pool.put_back()
    server = system.start(Doer)
    server.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    callers = [system.start(Doer) for _ in range(300)]
    for caller in callers:
        caller.cast(Doer.run, lambda self: self.log.append(server.within(None).call(Doer.do, lambda _: "answer")))
    system.wait_idle()
    gate.open()
    system.wait_idle()
    assert all(caller.actor.log == ["answer"] for caller in callers)
    assert len(pool.workers) <= SPARE_WORKERS + 2 * max(given)  # the others have ended


def test_tokens_are_given_back_when_nobody_blocks_any_more(system: otpy.System) -> None:
    """Doubled while actors block, halved when it is calm again; an idle system may keep some, which harms nobody."""
    gate = threading.Event()
    block(system, 20, gate).wait(10)
    gate.set()
    ping = system.start(Doer)
    while system.pool.limit > 1:
        flush(ping)
    system.wait_idle()
    assert tokens(system) == 1


def test_the_watchdog_sleeps_when_nothing_runs(system: otpy.System) -> None:
    """An idle system takes no processor time."""
    looks: list[int] = []
    watchdog = system.watchdog
    assert watchdog is not None
    look = watchdog._look
    watchdog._look = lambda busy: (looks.append(1), look(busy))[1]  # type: ignore[method-assign]
    flush(system.start(Doer))
    system.wait_idle()
    tokens(system)  # it may have slept before the last turn, too: by now it does again
    before = len(looks)
    threading.Event().wait(0.1)
    assert len(looks) == before
    assert system.pool.on_busy is not None


def test_a_turn_that_begins_as_the_watchdog_falls_asleep_is_watched(system: otpy.System) -> None:
    """A token handed out between its last look and its sleep: it must look once more, or nobody ever detaches it."""
    watchdog = system.watchdog
    assert watchdog is not None
    gate, blocked = threading.Event(), threading.Event()
    victim, other = system.start(Doer), system.start(Doer)
    sleep, once = watchdog._sleep, [True]

    def sleep_late() -> None:
        if once and once.pop():
            victim.cast(Doer.run, lambda _: (blocked.set(), gate.wait()) and None)
            blocked.wait(30)  # the worker has taken it from the queue, so the queue is empty
        sleep()

    watchdog._sleep = sleep_late  # type: ignore[method-assign]
    assert blocked.wait(30)
    assert other.within(5).call(Doer.do, lambda _: "served") == "served"
    gate.set()


@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.report("B58", "jodal/pykka#59")
def test_a_start_without_a_thread_fails_and_leaves_nothing(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """An actor of pykka stays registered as alive."""
    refused = refuse_threads(monkeypatch, "otpy")
    with pytest.raises(StartError, match="no thread"):
        system.start(otpy.child(Doer).opts(name="it", place=place))  # type: ignore[typeddict-item]
    assert system.whereis("it") is None
    assert system.alive == 0
    assert system.zombies() == []
    refused.clear()
    ref = system.start(otpy.child(Doer).opts(name="it", place=place))  # type: ignore[typeddict-item]
    assert flush(ref) == []


def test_work_that_finds_no_thread_waits_for_one(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a crash in the sender; the watchdog tries again, and says so."""
    ref, gate = system.start(Doer), threading.Event()
    block(system, 1, gate).wait(30)
    while system.pool.parked:  # on a busy machine there may be more than one thread already
        block(system, 1, gate).wait(30)
    with Recorder(system, ThreadLimitNear) as near:
        refused = refuse_threads(monkeypatch, "otpy")
        came = threading.Event()
        ref.cast(Doer.run, lambda _: came.set())
        near.expect(1)
        assert not came.is_set()
        refused.clear()
        assert came.wait(30)
    gate.set()


def taken_from(resting: list[T]) -> list[T]:
    """All that rest there, one by one, for others may take some meanwhile."""
    taken: list[T] = []
    with suppress(IndexError):
        while True:
            taken.append(resting.pop())
    return taken


def test_a_wait_that_finds_no_thread_is_an_error_and_no_standstill(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no thread to run the server, the caller would wait for ever with the only token."""
    a, b = system.start(Doer), system.start(Doer)
    system.wait_idle()

    def call(_: Doer) -> str:
        refused = refuse_threads(monkeypatch, "otpy")
        # On a busy machine there may be a second thread already, with a token or without; it is to end with the system.
        free, parked = taken_from(system.pool.free), taken_from(system.pool.parked)
        try:
            b.call(Doer.read)
        except ThreadLimitError:
            return "refused"
        finally:
            refused.clear()
            system.pool.free.extend(free)
            system.pool.parked.extend(parked)
        return "answered"

    assert a.call(Doer.do, call) == "refused"
    assert a.call(Doer.do, lambda _: b.call(Doer.read)) == []


def test_a_watchdog_that_cannot_start_is_started_later(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refuse_threads(monkeypatch, "otpy-watchdog")
    ref = system.start(Doer)
    refused.clear()
    flush(ref)
    gate = threading.Event()
    block(system, 1, gate).wait(30)
    assert flush(ref) == []
    gate.set()


def test_the_cpu_clock_of_a_thread_that_has_ended_is_not_asked_for(system: otpy.System) -> None:
    """That may crash the process."""
    flush(system.start(Doer))
    worker = system.pool.workers[0]  # and of a busy machine some more
    thread = next(thread for thread in threading.enumerate() if thread.ident == worker.ident)
    assert system.pool.cpu_seconds(worker) is not None
    system.stop()
    thread.join(30)
    assert system.pool.cpu_seconds(worker) is None


def test_a_worker_survives_a_mistake_of_otpys_own(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that ended would take its token with it, and the system would stand still."""
    ref, other = system.start(Doer), system.start(Doer)
    monitor = ref.monitor()

    def broken(self: otpy.Ref[Doer]) -> Context:
        if self is ref:
            raise MemoryError
        self.context = Context()
        return self.context

    monkeypatch.setattr(otpy.Ref, "new_context", broken)
    ref.context = None
    ref.tell("x")
    assert "MemoryError" in str(monitor.wait().reason)
    assert flush(other) == []


def test_a_token_is_taken_back_only_where_there_is_one() -> None:
    """A worker may rest among the free ones without its token: the watchdog detached it at the last moment."""
    pool = Pool()
    held, detached = Worker(pool, "held"), Worker(pool, "detached")
    held.tok.append(True)
    pool.free[:] = [None, held, detached]

    assert [pool.take_back(), pool.take_back(), pool.take_back()] == [True, True, False]

    assert pool.parked == [detached, held]
    assert (held.tok, pool.free) == ([], [])


def test_a_closed_pool_lets_waiting_threads_go(system: otpy.System) -> None:
    """A reply that comes after the end wakes its caller without a token."""
    pool = Pool()
    pool.close()
    worker = Worker(pool, "test")
    slot = Slot(worker)
    slot.resolve("answer")
    assert slot.lock.acquire(timeout=1)
    assert slot.value == "answer"


@pytest.mark.parametrize("step", range(1, 12))
def test_one_watchdog_is_started_by_several_who_wake_it_at_once(step: int) -> None:
    """Another one comes before one of the lines of who wakes it first: both have seen that it sleeps."""
    system = otpy.System("t")
    watchdog = Watchdog(system)
    trace_before, wake, lines = sys.gettrace(), watchdog._on_busy, 0
    others = threading.enumerate()  # among them the watchdogs of systems that last

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal lines
        if frame.f_code is not Watchdog._on_busy.__code__:
            return None
        lines += event == "line"
        if event == "line" and lines == step:
            wake()  # which is not traced: nothing is, while a trace function runs
        return trace

    sys.settrace(trace)
    try:
        wake()
    finally:
        sys.settrace(trace_before)
    begun = [thread for thread in threading.enumerate() if thread.name == "otpy-watchdog" and thread not in others]
    watchdog.close()
    for thread in begun:
        thread.join()
    assert len(begun) == 1
    system.stop()
