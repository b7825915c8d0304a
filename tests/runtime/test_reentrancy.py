"""Code that runs in the middle of other code: `__del__`, called by the collector, and signal handlers."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.runtime.pool import Pool
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.doer import Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

requires_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals are handled in the main thread"
)


class Farewell:
    """Sends when it is collected; a cycle, so that only the collector ends it."""

    def __init__(self, send: Callable[[], object]) -> None:
        self.send = send
        self.me = self

    def __del__(self) -> None:
        self.send()


@pytest.fixture
def eager_gc() -> Iterator[None]:
    """The collector runs as often as it can, so also in the middle of otpy's own sections."""
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 100)  # what falls in the middle of a section is young
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("eager_gc")
def test_a_finaliser_may_send_wherever_it_runs(system: otpy.System) -> None:
    """The prototype's system lock was no RLock, and such a `__del__` waited for itself."""
    target = system.start(Doer)
    count = 0

    def verbs() -> list[Callable[[], object]]:
        dead = system.start(Doer)
        return [
            lambda: target.tell("x"),
            lambda: target.cast(Doer.run, lambda self: self.log.append("x")),
            lambda: (system.timers.after(60.0, int).cancel(), target.tell("x")),
            lambda: (dead.kill(), target.tell("x")),
            lambda: (target.monitor().cancel(), target.tell("x")),
            lambda: (system.events.attach(print)(), target.tell("x")),
        ]

    for _ in range(15):
        for send in verbs():
            Farewell(send)
            count += 1
            ref = system.start(otpy.child(Doer).opts(name="it"))
            ref.call(Doer.do, lambda self: self.send_after(60.0, "never") and None)
            ref.kill()
    gc.collect()
    system.wait_idle()
    assert len(flush(target)) == count


@pytest.mark.usefixtures("eager_gc")
def test_a_finaliser_may_run_on_a_worker(system: otpy.System) -> None:
    target, ref = system.start(Doer), system.start(Doer)

    def litter(_: Doer) -> None:
        for _ in range(50):
            Farewell(lambda: target.tell("x"))

    for _ in range(10):
        ref.call(Doer.do, litter)
    gc.collect()
    system.wait_idle()
    assert len(flush(target)) == 500


class Bell:
    """What a signal does in the main thread, once each time it is set."""

    def __init__(self) -> None:
        self.deed: Callable[[], object] | None = None

    def handle(self, *_: object) -> None:
        deed, self.deed = self.deed, None
        if deed is not None:
            deed()

    def ring(self) -> None:
        """Send signals until one was handled: CPython overlooks one that comes as the main thread falls asleep."""
        while self.deed is not None:
            os.kill(os.getpid(), signal.SIGUSR1)
            threading.Event().wait(0.0005)


@pytest.fixture
def bell() -> Iterator[Bell]:
    """A bell on SIGUSR1."""
    bell = Bell()
    before = signal.signal(signal.SIGUSR1, bell.handle)
    yield bell
    signal.signal(signal.SIGUSR1, before)


@requires_main_thread
def test_a_signal_handler_may_call_while_the_main_thread_waits_in_a_call(system: otpy.System, bell: Bell) -> None:
    """Both calls get their own answer."""
    one, other = system.start(Doer), system.start(Doer)
    inner: list[object] = []

    def slow(_: Doer) -> str:
        bell.ring()
        while not inner:
            otpy.sleep(0.0)
        return "outer"

    for _ in range(20):
        inner.clear()
        bell.deed = lambda: inner.append(other.call(Doer.do, lambda _: "inner"))
        assert one.call(Doer.do, slow) == "outer"
        assert inner == ["inner"]
    assert one.call(Doer.do, lambda _: "after") == "after"


@requires_main_thread
def test_a_signal_handler_may_wait_longer_than_the_call_it_interrupts(system: otpy.System, bell: Bell) -> None:
    """The outer answer is there first, and is found when the handler is done."""
    one, other = system.start(Doer), system.start(Doer)
    inside, answered = threading.Event(), threading.Event()
    bell.deed = lambda: other.call(Doer.do, lambda _: inside.set() or (answered.wait() and None))

    def quick(self: Doer) -> str:
        self.ref.cast(Doer.run, lambda _: answered.set())  # handled when this one has been answered
        bell.ring()
        inside.wait()
        return "outer"

    assert one.call(Doer.do, quick) == "outer"
    assert one.call(Doer.do, lambda _: "after") == "after"


class Interrupted(Exception):
    pass


@requires_main_thread
@pytest.mark.parametrize("wait", ["call", "monitor", "start"])
def test_a_wait_that_is_interrupted_leaves_the_thread_fit_for_the_next(
    system: otpy.System, bell: Bell, wait: str
) -> None:
    """The handler raises, as Ctrl-C does; late answers to the old wait end no later one."""

    def fail() -> None:
        raise Interrupted

    server = system.start(Doer)
    for _ in range(20):
        gate, bell.deed = Gate(), fail
        with pytest.raises(Interrupted):
            if wait == "call":
                server.within(None).call(Doer.do, lambda _, gate=gate: bell.ring() or gate.wait())
            elif wait == "start":
                system.start(Doer, deed=lambda _, gate=gate: bell.ring() or gate.wait())
            else:
                server.cast(Doer.run, lambda _, gate=gate: bell.ring() or gate.wait())
                server.monitor().wait(None)
        gate.open()
        assert server.call(Doer.do, lambda _: "next") == "next"
    system.wait_idle()
    assert system.alive == 1


@requires_main_thread
def test_an_interrupt_just_after_the_answer_does_not_hang(system: otpy.System) -> None:
    """The wake-up is consumed, then the handler raises: whoever waited for a second wake-up would wait for ever."""
    server = system.start(Doer)
    seat = here()

    class Lock:
        """A lock during whose acquisition the answer comes, and then a Ctrl-C."""

        def __init__(self, lock: Any) -> None:
            self.lock = lock

        def acquire(self, *args: Any, **kwargs: Any) -> bool:
            self.lock.acquire(*args, **kwargs)
            raise KeyboardInterrupt

        def release(self) -> None:
            self.lock.release()

    for wait in (lambda: server.call(Doer.do, lambda _: "answer"), lambda: system.start(Doer)):
        seat.lock = Lock(threading.Lock())  # type: ignore[assignment]
        seat.lock.lock.acquire()  # type: ignore[union-attr]
        with pytest.raises(KeyboardInterrupt):
            wait()
        assert not isinstance(seat.lock, Lock)
        assert server.call(Doer.do, lambda _: "next") == "next"


@requires_main_thread
def test_many_interrupts_at_random_moments(system: otpy.System, bell: Bell, rounds: int = 300) -> None:
    """Signals without exceptions may come at any moment of a call."""
    server, other = system.start(Doer), system.start(Doer)
    calls = 0

    def handler() -> None:
        nonlocal calls
        calls += 1
        other.cast(Doer.run, lambda self: self.log.append(1))
        assert other.call(Doer.do, lambda _: 2) == 2
        bell.deed = handler

    bell.deed = handler
    shooter = threading.Thread(target=bell.ring)
    shooter.start()
    for number in range(rounds):
        assert server.call(Doer.do, lambda _, n=number: n) == number
        server.cast(Doer.run, lambda _: None)
    bell.deed = None
    while shooter.is_alive():
        bell.deed = None  # a handler may just have set it again
        shooter.join(0.01)
    assert len(flush(other)) == calls


def at_line(number: int, deed: Callable[[], object]) -> Callable[..., Any]:
    """A trace function that does this before so many lines of the pool have run."""
    left = number

    def trace(frame: Any, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != sys.modules[Pool.__module__].__file__:
            return None
        left -= event == "line"
        if left == 0 and event == "line":
            deed()
        return trace

    return trace


@pytest.mark.parametrize("workers", ["at rest", "without a token"])
def test_a_call_amid_the_waking_of_a_worker_is_answered(workers: str) -> None:
    """As the handler of a signal makes it. The worker was taken, and would be woken when that has its answer."""
    calls = 0

    def ask() -> None:
        nonlocal calls
        calls += 1
        assert other.within(30.0).call(Doer.do, lambda _: 1) == 1

    before, step = sys.gettrace(), 0
    while calls == step:
        step += 1
        system = otpy.System("t")
        server, other = system.start(otpy.child(Doer).opts(id="a")), system.start(otpy.child(Doer).opts(id="b"))
        system.wait_idle()
        if workers == "without a token":
            assert system.pool.take_back()
            system.pool.free.append(None)
        sys.settrace(at_line(step, ask))
        try:
            assert server.call(Doer.do, lambda _: 2) == 2
        finally:
            sys.settrace(before)
        assert system.stop(timeout=30.0) == []
    assert step > 5  # lines of `engage`, and of `hand_out`


@requires_main_thread
@pytest.mark.parametrize(
    ("how", "timeout"), [("start", None), ("call", None), ("call", 60.0), ("monitor", None), ("monitor", 60.0)]
)
def test_a_signal_that_was_overlooked_while_the_main_thread_fell_asleep_is_handled(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, how: str, timeout: float | None
) -> None:
    """Here the system gives it to another thread, so that nothing wakes the main one, as in that moment."""
    for module in ("seat", "caller"):
        monkeypatch.setattr(f"otpy.runtime.{module}.SIGNAL_GRAIN", 0.01)
    gate, main = Gate(), here()
    before = signal.signal(signal.SIGUSR1, lambda *_: gate.open())

    def send() -> None:
        gate.reached()
        while not main.waiting:
            pass  # it is about to sleep
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        if how == "start":
            system.start(Doer, deed=lambda _: gate.wait())
        elif how == "call":
            assert system.start(Doer).within(timeout).call(Doer.do, lambda _: gate.wait() or 1) == 1
        else:
            ref = system.start(Doer)
            ref.cast(Doer.run, lambda _: gate.wait())
            ref.stop(block=False)
            assert ref.monitor().wait(timeout) is not None
    finally:
        sender.join()
        signal.signal(signal.SIGUSR1, before)
