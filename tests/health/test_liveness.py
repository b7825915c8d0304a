"""Liveness: false when only a new process can help, and true again when that was wrong."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING, Self

import pytest

import otpy
from otpy.core.standstill import Standstill
from otpy.health import STALLED_AFTER, HealthLine, liveness
from otpy.health.alive import verdict
from otpy.health.look import looked
from otpy.runtime import pulse as pulses
from otpy.runtime.pulse import Pulse
from otpy.runtime.watchdog import Watchdog
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    from collections.abc import Iterator

STEP = 30.0
"""Seconds that pass between two looks here."""


class Doer(otpy.GenServer):
    @otpy.cast
    def do(self, deed: object) -> None:
        deed()  # type: ignore[operator]

    @otpy.call
    def ping(self) -> str:
        return "pong"


class AsyncDoer(otpy.GenServer):
    @otpy.cast
    async def do(self, deed: object) -> None:
        deed()  # type: ignore[operator]


class Block:
    """A wait outside of otpy, which so keeps the thread that runs into it."""

    def __init__(self) -> None:
        self._entered = threading.Semaphore(0)
        self._opened = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open()

    def __call__(self) -> None:
        self._entered.release()
        self._opened.wait(30.0)

    def reached(self) -> None:
        """Wait until one more thread waits here."""
        assert self._entered.acquire(timeout=20.0)

    def open(self) -> None:
        """Let all go on."""
        self._opened.set()


class Looks:
    """Looks at a system `STEP` seconds apart, beside the watchdog's own."""

    def __init__(self, system: otpy.System) -> None:
        self.now = 0.0
        self.pulse = Pulse(system, now=lambda: self.now)

    def look(self, seconds: float = STEP) -> str | None:
        """Let time pass, look, and tell what is wrong."""
        self.now += seconds
        self.pulse.take()
        return looked(verdict(self.pulse.found, self.pulse.silence(), STALLED_AFTER)).problem

    def several(self, times: int) -> list[str | None]:
        """The same, again and again."""
        return [self.look() for _ in range(times)]


@pytest.fixture(autouse=True)
def each_look_counts_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulses, "LONGEST", STEP)


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> Iterator[otpy.System]:
    """A system whose pool has two threads at most, and whose watchdog notes no messages in the middle of a look."""
    monkeypatch.setattr(Watchdog, "note_messages", lambda self: None)
    system = otpy.System("t", max_threads=2)
    yield system
    system.wait_idle()
    assert system.stop(timeout=30.0) == []


def fill(system: otpy.System, block: Block) -> list[otpy.Ref[Doer]]:
    """Have all threads of a narrow system wait outside of otpy, and one actor more wait for a turn."""
    doers = [system.start(Doer) for _ in range(3)]
    for doer in doers[:2]:
        doer.cast(Doer.do, block)
        block.reached()
    doers[2].cast(Doer.do, lambda: None)
    return doers


def test_a_pool_whose_threads_are_all_blocked_is_dead_after_the_limit_and_lives_again(narrow: otpy.System) -> None:
    looks = Looks(narrow)
    with Block() as block:
        doers = fill(narrow, block)
        seen = looks.several(6)
        block.open()
    doers[2].call(Doer.ping)

    assert seen[:4] == [None] * 4
    assert seen[4] == "turns: 1 wait for a turn, and none has begun for 120 s: otpy doctor shows what has the threads"
    assert looks.look() is None


def test_a_turn_between_two_looks_is_progress_although_others_still_wait(narrow: otpy.System) -> None:
    """Overloaded, and moving: that must never be taken for dead."""
    looks = Looks(narrow)
    with Block() as block:
        fill(narrow, block)
        looks.several(4)
        narrow.pool.workers[0].turns += 1
        seen = looks.several(4)
        block.open()

    assert seen == [None] * 4


def test_a_message_that_begins_in_the_middle_of_a_turn_is_progress(narrow: otpy.System) -> None:
    looks = Looks(narrow)
    with Block() as block:
        fill(narrow, block)
        looks.several(4)
        narrow.pool.workers[0].since += 1.0
        seen = looks.several(4)
        block.open()

    assert seen == [None] * 4


@pytest.mark.parametrize("share", [1.0, 0.12, 0.06])
def test_code_that_computes_is_at_work_however_long_and_however_little_it_gets(
    narrow: otpy.System, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    """Eight threads that compute get an eighth of a core each; a container may have a tenth of one for all."""
    used = [0.0]
    monkeypatch.setattr(narrow.pool, "cpu_seconds", lambda worker: used[0] / len(narrow.pool.workers))
    looks = Looks(narrow)
    with Block() as block:
        fill(narrow, block)
        seen = []
        for _ in range(8):
            used[0] += STEP * share
            seen.append(looks.look())
        block.open()

    assert seen == [None] * 8


def test_an_actor_that_is_stuck_alone_is_its_supervisors_business(system: otpy.System) -> None:
    stuck, other, looks = system.start(Doer), system.start(Doer), Looks(system)
    with Block() as block:
        stuck.cast(Doer.do, block)
        block.reached()
        stuck.cast(Doer.do, lambda: None)
        assert other.call(Doer.ping) == "pong"
        seen = looks.several(6)
        block.open()

    assert seen == [None] * 6


def test_a_timer_that_hangs_is_told_when_others_are_due(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulses, "LATE", -1e9)
    looks = Looks(system)
    with Block() as block:
        system.timers.after(0.0, block)
        block.reached()
        system.timers.after(0.0, lambda: None)
        seen = looks.several(5)
        block.open()

    assert seen[3:] == [
        None,
        "timers: none has fired for 120 s, and one is due: otpy's thread for them hangs in what one does",
    ]


def test_a_loop_that_is_blocked_while_somebody_waits_is_told(system: otpy.System) -> None:
    blocker, other, looks = system.start(AsyncDoer), system.start(AsyncDoer), Looks(system)
    with Block() as block:
        blocker.cast(AsyncDoer.do, block)
        block.reached()
        alone = looks.several(6)
        other.cast(AsyncDoer.do, lambda: None)
        seen = looks.several(5)
        block.open()
    system.wait_idle()

    assert alone == [None] * 6
    assert seen[3] is None
    assert seen[4] == "loop: 1 wait for their turn, and this event loop has not gone on for 120 s: something blocks it"
    assert looks.look() is None


def test_a_pause_of_the_whole_process_is_not_counted(narrow: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """As by SIGSTOP: a probe that comes first afterwards must not have the program killed."""
    monkeypatch.setattr(pulses, "LONGEST", 2.0)
    looks = Looks(narrow)
    with Block() as block:
        fill(narrow, block)
        looks.look()
        seen = looks.look(86_400.0)
        block.open()

    assert seen is None


def test_the_watchdog_looks_by_itself(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = threading.Event()
    monkeypatch.setattr(Pulse, "take", lambda self: seen.set())
    system.start(Doer).call(Doer.ping)

    assert seen.wait(20.0)


def test_a_watchdog_that_has_died_is_told_at_once() -> None:
    lines = list(verdict({}, math.inf, 120.0))

    assert lines[0] == HealthLine(name="watchdog", problem="the thread that watches over the pool has died")


def test_a_watchdog_that_hangs_is_told_after_the_limit_and_not_by_the_first_look_after_a_pause(
    system: otpy.System,
) -> None:
    """A user's handler of events may be called in its thread, and hang."""
    looks = Looks(system)
    looks.look()
    seen = []
    for _ in range(5):
        looks.now += 40.0
        seen.append(next(verdict({}, looks.pulse.silence(), 120.0)).problem)
    looks.pulse.take()

    assert seen[:3] == [None] * 3
    assert seen[3] == "the thread that watches over the pool has hung for 120 s, as in what is called with an event"
    assert looks.pulse.silence() == 0.0


def test_nothing_is_known_before_anything_has_run_and_of_seeded_runs_nothing_at_all() -> None:
    system = VirtualSystem("t")

    assert liveness(system).is_well
    system.stop()
    assert liveness(system).is_well


def test_who_asks_may_have_a_limit_of_its_own() -> None:
    found = {"loop:io": Standstill(4, 2, 31.0)}

    assert [line.problem for line in verdict(found, 0.0, 30.0)][:3] == [None] * 3
    assert "loop:io: 2 wait for their turn" in str(list(verdict(found, 0.0, 30.0))[3])
    assert all(line.problem is None for line in verdict(found, 0.0, 32.0))


def test_a_watchdog_knows_that_its_thread_has_ended(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    watchdog = system.watchdog
    assert watchdog is not None
    assert not watchdog.has_died
    monkeypatch.setattr(watchdog, "_run", lambda: None)
    system.start(Doer).call(Doer.ping)
    assert watchdog._thread is not None
    watchdog._thread.join()

    assert watchdog.has_died
    watchdog.close()
    assert not watchdog.has_died
