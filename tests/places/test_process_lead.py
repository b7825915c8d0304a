"""The place `process`: a caller that reads its own answer, whatever comes in between."""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.places.process import lead as leads
from otpy.places.process import listener, ports
from support.far import Far, Near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from otpy.places.process.child import Child

LONG = 5_000
"""Milliseconds a thread reads in these tests, unless something comes."""


@pytest.fixture
def far(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> otpy.Ref[Far]:
    """A child whose callers read for themselves, always and for long."""
    monkeypatch.setattr(leads, "CLOSE", 1e9)
    monkeypatch.setattr(leads, "PAUSE", 0)
    monkeypatch.setattr(leads, "WAIT", LONG)
    return farm.start(otpy.child(Far).opts(place="process"))


def child_of(ref: otpy.Ref[Far]) -> Child:
    return next(child for child in ports.ports_of(ref.system)._children.values() if child.ref is ref)


class Interrupted(Exception):
    """Raised by a signal handler."""


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Sets what SIGUSR1 does."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda what: signal.signal(signal.SIGUSR1, lambda *_: what()) and None
    signal.signal(signal.SIGUSR1, before)


def interrupt() -> None:
    raise Interrupted


@pytest.fixture
def led(far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch) -> otpy.Ref[Far]:
    """The same, and `Ports` does not listen any more."""
    monkeypatch.setattr(listener.Listener, "_look_after_when_due", lambda _: None)
    child = child_of(far)
    child.ports.listener.hold_off(child.lead)
    return far


def test_the_thread_that_calls_reads_its_answer(led: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch) -> None:
    child = child_of(led)
    feed = Mock(wraps=child.decoder.feed)
    monkeypatch.setattr(child.decoder, "feed", feed)
    assert [led.call(Far.echo, number) for number in range(50)] == list(range(50))
    assert (child.lead.count, feed.call_count) == (50, 0)


def test_an_actor_of_the_pool_reads_its_answers_too(
    farm: otpy.System, led: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Asker(otpy.GenServer):
        @otpy.call
        def ask_often(self) -> list[int]:
            return [led.call(Far.echo, number) for number in range(50)]

    child = child_of(led)
    feed = Mock(wraps=child.decoder.feed)
    monkeypatch.setattr(child.decoder, "feed", feed)
    assert farm.start(Asker).call(Asker.ask_often) == list(range(50))
    assert (child.lead.count, feed.call_count) == (50, 0)


def test_what_comes_before_the_answer_is_there_before_it(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leads, "WAIT", 1)
    near = farm.start(Near)
    far.call(Far.meet, near)
    for number in range(20):
        far.call(Far.tell_near, number)
        assert near.call(Near.read)[-2:] == [number, ("told", number)]


def test_a_child_that_calls_back_in_the_middle_of_a_call_is_heard(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leads, "WAIT", 1)
    far.call(Far.meet, farm.start(Near))
    assert [far.call(Far.ask_near, 1, number) for number in range(20)] == [number + 1 for number in range(20)]


class Bell(otpy.GenServer):
    def init(self, rung: threading.Event) -> None:
        self.rung = rung

    def handle_info(self, message: Any) -> None:
        self.rung.set()


def test_what_a_child_says_of_its_own_accord_is_heard_after_calls(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    rung = threading.Event()
    far.call(Far.meet, farm.start(Bell, rung))
    far.call(Far.tell_near_later, "ring")
    for number in range(20):
        far.call(Far.echo, number)
    assert rung.wait(30.0)


def test_a_kill_ends_a_call_whose_thread_reads(far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leads, "WAIT", 1)
    far.call(Far.echo, 1)
    killer = threading.Thread(target=far.kill)
    look = leads.Lead._peek

    def have_it_killed(lead: leads.Lead) -> object:
        if killer.ident is None:
            killer.start()
        return look(lead)

    monkeypatch.setattr(leads.Lead, "_peek", have_it_killed)
    with pytest.raises(CallExitError, match="killed"):
        far.call(Far.nobody)
    killer.join()


def test_a_caller_that_reads_hears_of_a_death_after_all_others(
    far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    bury, pid = Mock(), far.call(Far.where)[0]
    monkeypatch.setattr("otpy.runtime.caller.bury", bury)  # what a caller does for itself, at once
    look = leads.Lead._peek
    monkeypatch.setattr(
        leads.Lead, "_peek", lambda lead: os.kill(pid, signal.SIGKILL) or (far.monitor().wait(30.0) and look(lead))
    )
    with pytest.raises(CallExitError, match="SIGKILL"):
        far.call(Far.nobody)
    assert bury.call_count == 0


def test_the_end_of_the_process_ends_a_call_whose_thread_reads(far: otpy.Ref[Far]) -> None:
    far.call(Far.echo, 1)
    with pytest.raises(CallExitError, match="3"):
        far.call(Far.end, "os_exit", 3)


def test_a_handler_of_a_signal_that_raises_leaves_the_child_heard(
    far: otpy.Ref[Far], on_signal: Callable[[Callable[[], Any]], None]
) -> None:
    on_signal(interrupt)
    far.call(Far.echo, 1)
    for _ in range(10):
        with pytest.raises(Interrupted):
            far.call(Far.signal_parent, os.getpid(), forever=True)
        assert far.call(Far.echo, 2) == 2


def test_a_handler_of_a_signal_may_call_the_same_child(
    far: otpy.Ref[Far], on_signal: Callable[[Callable[[], Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leads, "WAIT", 1)
    answers: list[Any] = []
    on_signal(lambda: answers.append(far.call(Far.echo, len(answers))))
    far.call(Far.echo, 1)
    for number in range(10):
        assert far.call(Far.signal_parent, os.getpid()) is None
        assert answers == list(range(number + 1))


def test_an_interrupt_at_any_line_loses_no_message_and_no_child(
    far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leads, "WAIT", 100)
    places: set[tuple[str, int]] = set()
    wanted = {"follow", "_is_close", "_peek", "hold_off", "_take", "_give"}
    for _ in range(20):  # on a busy machine a call may have no reason to read, and goes by other lines
        for number in range(1, 56):
            with monkeypatch.context() as alone:  # not longer: it looks after what an interrupt has left undone
                alone.setattr(listener.Listener, "_look_after_when_due", lambda _: None)
                interrupt_line(number, far, places)
            assert [far.call(Far.echo, value) for value in range(3)] == [0, 1, 2]
            assert far.ask(number, block=False).get(timeout=5) == ("asked", number)  # which `Ports` reads
        if wanted <= {name for name, _ in places}:
            break
    assert wanted <= {name for name, _ in places}
    assert not child_of(far).reading.locked()


def interrupt_line(number: int, far: otpy.Ref[Far], places: set[tuple[str, int]]) -> None:
    """Call, and raise before this line of what reads an answer; note where it was.

    Not where a `with` ends: its lock is released in one step with the line, and no handler can come in between. Nor
    where one leaves an `except`: CPython would believe ever after that this thread handles what was caught there.
    """
    count = 0
    entered: set[tuple[FrameType, int]] = set()

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        name = frame.f_code.co_filename
        if event == "call":
            return trace if "/otpy/" in name else None
        if event == "line" and name.endswith(("lead.py", "listener.py")):
            here = (frame, frame.f_lineno)
            is_new = here not in entered and sys.exception() is None
            entered.add(here)
            count += is_new
            if is_new and count == number:
                places.add((frame.f_code.co_name, frame.f_lineno))
                raise Interrupted
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert far.call(Far.echo, number) == number
    except Interrupted:
        return
    finally:
        sys.settrace(before)


def test_an_interrupt_in_the_middle_of_a_cast_sends_nothing_twice(
    farm: otpy.System, on_signal: Callable[[Callable[[], Any]], None]
) -> None:
    far = farm.start(otpy.child(Far).opts(place="process"))
    on_signal(interrupt)
    main = threading.main_thread().ident
    assert main is not None
    interrupts = 0
    for number in range(300):
        killer = threading.Thread(target=signal.pthread_kill, args=(main, signal.SIGUSR1))
        try:
            killer.start()
            far.cast(Far.note, b"x" * 2_000 + str(number).encode())
            killer.join()
        except Interrupted:
            interrupts += 1
            killer.join()
    heard = [int(data[2_000:]) for data in far.call(Far.read)]
    assert heard == sorted(set(heard))
    assert interrupts == 300


def test_many_threads_that_call_one_child_get_each_its_own_answers(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leads, "WAIT", 1)
    other = farm.start(otpy.child(Far).opts(place="process"))
    wrong: list[Any] = []

    def ask(ref: otpy.Ref[Far], first: int) -> None:
        wrong.extend(number for number in range(first, first + 100) if ref.call(Far.echo, number) != number)

    threads = [threading.Thread(target=ask, args=(ref, n * 100)) for n in range(4) for ref in (far, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_system_is_idle_when_who_read_its_answer_has_gone_on(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    far.call(Far.echo, 1)
    farm.wait_idle()
    caller = threading.Thread(target=lambda: [far.call(Far.echo, n) for n in range(100)])
    caller.start()
    farm.wait_idle()
    caller.join()
    farm.wait_idle()
    assert far.call(Far.echo, 2) == 2
