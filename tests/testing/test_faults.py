"""Faults at named points: what fires is drawn from a seed, recorded, and missed when it does not."""

from __future__ import annotations

import asyncio
import errno
import logging
import sqlite3
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.clock import wall_clock
from otpy.core.points import watches
from otpy.testing import VirtualSystem, explore, faults
from otpy.testing.faults import FaultError, FaultNotFiredError, Script, armed

if TYPE_CHECKING:
    from collections.abc import Callable


class Oops(Exception):
    """Raised by a fault."""


class Worker(otpy.GenServer):
    def init(self) -> None:
        self.done = 0

    @otpy.call
    def work(self) -> int:
        faults.point("work")
        self.done += 1
        return self.done

    @otpy.cast
    def go_on(self) -> None:
        faults.point("work")
        self.done += 1


class AsyncWorker(otpy.GenServer):
    def init(self) -> None:
        self.ended_at = -1.0

    @otpy.cast
    async def go_on(self) -> None:
        await faults.apoint("work")
        self.ended_at = self.system.clock.now()

    @otpy.call
    async def last(self) -> float:
        return self.ended_at


@pytest.fixture
def system(virtual_system: VirtualSystem) -> VirtualSystem:
    return virtual_system


def fires(script: Script, name: str = "p", times: int = 40) -> list[int]:
    """The passes at which something is raised."""
    found = []
    with armed(script):
        for number in range(1, times + 1):
            try:
                faults.point(name)
            except Oops:
                found.append(number)
    return found


def test_a_point_does_nothing_unless_a_script_is_armed() -> None:
    script = Script().at("p", faults.raises(Oops), times=None)
    faults.point("p")
    assert fires(script, times=2) == [1, 2]
    faults.point("p")
    assert script.passed("p") == 2
    assert watches() == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1]),
        ({"after": 3}, [4]),
        ({"after": 2, "times": 3}, [3, 4, 5]),
        ({"times": None, "after": 38}, [39, 40]),
    ],
)
def test_it_fires_after_so_many_passes_and_so_often(options: dict[str, int], expected: list[int]) -> None:
    assert fires(Script().at("p", faults.raises(Oops), **options)) == expected


def test_the_same_seed_fires_at_the_same_passes_whatever_happens_at_other_points() -> None:
    def script() -> Script:
        return Script(seed=7).at("p", faults.raises(Oops), chance=0.2, times=None)

    alone = fires(script())
    one = script().at("q", faults.raises(Oops), chance=0.5, times=None)
    threads = [threading.Thread(target=fires_quietly, args=(one, "q")) for _ in range(3)]
    with armed(one):
        for thread in threads:
            thread.start()
        beside = fires_quietly(one, "p")
        for thread in threads:
            thread.join()

    assert 3 <= len(alone) <= 15
    assert beside == alone
    assert fires(Script(seed=8).at("p", faults.raises(Oops), chance=0.2, times=None)) != alone


def fires_quietly(script: Script, name: str) -> list[int]:
    assert script in watches()
    found = []
    for number in range(1, 41):
        try:
            faults.point(name)
        except Oops:
            found.append(number)
    return found


def test_one_that_is_armed_in_two_blocks_is_so_until_the_last_ends() -> None:
    script = Script().at("p", faults.raises(Oops), times=None)
    with armed(script):
        assert fires(script, times=2) == [1, 2]  # in a block of its own: each pass counts once
        with pytest.raises(Oops):
            faults.point("p")
    assert script.passed("p") == 3
    assert watches() == ()


def test_threads_that_arm_scripts_at_once_leave_each_others_alone() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def arm(_: int) -> bool:
        script = Script()
        with armed(script):
            return script in watches()

    try:
        with ThreadPoolExecutor(6) as pool:
            assert all(pool.map(arm, range(6_000)))
    finally:
        sys.setswitchinterval(interval)
    assert watches() == ()


def test_what_fired_is_recorded_and_what_did_not_is_missed(system: VirtualSystem) -> None:
    worker = system.start(Worker)
    script = Script().at("work", faults.raises(Oops), after=1).at("wrok", faults.kill())
    script.at("work", faults.hang(), after=99)
    with armed(script):
        assert worker.call(Worker.work) == 1
        with pytest.raises(otpy.errors.CallExitError):
            worker.call(Worker.work)

    assert [(one.point, one.fault, one.number, one.path) for one in script.fired] == [("work", "raise", 2, worker.path)]
    with pytest.raises(FaultNotFiredError) as caught:
        script.assert_fired()
    assert caught.value.missing == (
        "hang at 'work' (passed 2 times)",
        "kill at 'wrok' (nobody came by; did you mean 'work'?)",
    )


def test_several_at_one_point_take_turns() -> None:
    script = Script().at("p", faults.raises(Oops, "first")).at("p", faults.raises(Oops, "second"), times=2)
    said = []
    with armed(script):
        for _ in range(4):
            try:
                faults.point("p")
            except Oops as error:
                said.append(str(error))
    assert said == ["first", "second", "second"]
    script.assert_fired()


def test_an_error_names_its_point() -> None:
    with armed(Script().at("p", faults.raises(ConnectionError))), pytest.raises(ConnectionError, match="at p, the 1"):
        faults.point("p")


def test_an_actor_is_killed_in_the_middle_of_its_code(system: VirtualSystem) -> None:
    worker = system.start(Worker)
    with armed(Script().at("work", faults.kill_actor())) as script:
        with pytest.raises(otpy.errors.CallExitError):
            worker.call(Worker.work)
        assert worker.reason == otpy.Killed()
    script.assert_fired()


def test_a_program_cannot_be_taken_for_an_actor() -> None:
    script = Script().at("p", faults.kill_actor())
    with armed(script), pytest.raises(FaultError, match="no actor runs here"):
        faults.point("p")


def test_an_actor_hangs_until_it_is_released_or_told_to_stop(system: VirtualSystem) -> None:
    one, other = system.start(Worker), system.start(Worker)
    with armed(Script().at("work", faults.hang(), times=2)) as script:
        one.cast(Worker.go_on)
        other.cast(Worker.go_on)
        system.wait_idle()
        assert len(script.fired) == 2
        other.exit(otpy.Shutdown("enough"))
        system.wait_idle()
        assert other.reason == otpy.Shutdown("enough")
        script.release()
        assert one.call(Worker.work) == 2


def test_nobody_hangs_when_the_block_is_over(system: VirtualSystem) -> None:
    one, two = system.start(Worker), system.start(AsyncWorker)
    with armed(Script().at("work", faults.hang(), times=None)):
        one.cast(Worker.go_on)
        two.cast(AsyncWorker.go_on)
        system.wait_idle()
        faults.point("elsewhere")
    assert one.call(Worker.work) == 2
    assert two.call(AsyncWorker.last) == 0.0


def test_who_hangs_deaf_is_a_zombie_when_it_is_killed(system: VirtualSystem) -> None:
    one = system.start(Worker)
    with armed(Script().at("work", faults.hang(deaf=True))):
        one.cast(Worker.go_on)
        system.wait_idle()
        one.kill()
        assert [zombie.path for zombie in system.zombies()] == [one.path]
    system.wait_idle()


def test_slow_takes_time_on_the_systems_clock(system: VirtualSystem) -> None:
    one, two = system.start(Worker), system.start(AsyncWorker)
    with armed(Script().at("work", faults.slow(5.0), times=2)):
        one.cast(Worker.go_on)
        two.cast(AsyncWorker.go_on)
        system.wait_idle()
        system.clock.advance(4.9)
        system.clock.advance(0.2)
    assert one.call(Worker.work) == 2
    assert two.call(AsyncWorker.last) == 5.0


def test_real_time_is_taken_for_real() -> None:
    with armed(Script().at("p", faults.slow(0.02, real=True)).at("q", faults.slow(0.02, real=True))):
        before = time.monotonic()
        faults.point("p")
        asyncio.run(faults.apoint("q"))
        assert time.monotonic() - before >= 0.04


def test_the_time_of_day_jumps_and_is_right_again_afterwards() -> None:
    before = wall_clock()
    with armed(Script().at("p", faults.jump(-3600.0)).at("p", faults.jump(7200.0))):
        faults.point("p")
        assert before - 3_601_000 < wall_clock() < before - 3_500_000
        faults.point("p")
        assert wall_clock() >= before + 3_600_000
    assert before <= wall_clock() < before + 60_000


class Sleeper(otpy.GenServer):
    def init(self) -> None:
        self.heard: list[float] = []
        self.send_after(1.0, "due")

    def handle_info(self, message: object) -> None:
        self.heard.append(self.system.clock.now())

    @otpy.cast
    def suspend(self) -> None:
        faults.point("lid")

    @otpy.call
    def look(self) -> list[float]:
        return self.heard


def test_who_comes_to_a_jump_as_the_block_ends_changes_nothing() -> None:
    script = Script().at("p", faults.jump(3_600.0))
    with armed(script):
        due = script._due("p", "code")  # on a thread that goes on only when the block is over
    assert due is not None
    fault, met = due

    fault.act(met)

    assert abs(wall_clock() / 1_000 - time.time()) < 60


def test_a_virtual_clock_leaps_and_what_was_due_is_late(system: VirtualSystem) -> None:
    one = system.start(Sleeper)
    with armed(Script().at("lid", faults.jump(3600.0, clock="system"))):
        one.cast(Sleeper.suspend)
        system.wait_idle()
    assert (system.clock.now(), one.call(Sleeper.look)) == (3600.0, [])
    system.clock.advance(0.0)
    assert one.call(Sleeper.look) == [3600.0]


def test_a_full_disk_is_said_as_whoever_writes_there_says_it() -> None:
    script = Script().at("p", faults.disk_full()).at("p", faults.fsync_error()).at("p", faults.disk_full(sqlite=True))
    with armed(script):
        with pytest.raises(OSError, match="No space") as full:
            faults.point("p")
        with pytest.raises(OSError, match="Input/output") as broken:
            faults.point("p")
        with pytest.raises(sqlite3.OperationalError) as said:
            faults.point("p")
    assert (full.value.errno, broken.value.errno) == (errno.ENOSPC, errno.EIO)
    assert said.value.sqlite_errorname == "SQLITE_FULL"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Script().at("p", faults.kill(), chance=0.0), "0 < chance"),
        (lambda: Script().at("p", faults.kill(), after=-1), "after"),
        (lambda: Script().at("p", faults.kill(), times=0), "times"),
        (lambda: Script().at("", faults.kill()), "point"),
        (lambda: Script().at("p", faults.kill), "is no fault"),  # type: ignore[arg-type]
        (lambda: Script().at("outbox.send.before", faults.disk_full()), "nothing is written there"),
        (lambda: faults.slow(-1.0), "seconds"),
        (lambda: faults.jump(-1.0, clock="system"), "goes back"),
        (lambda: faults.raises("Oops"), "class of an error"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_armed_is_refused(make: Callable[[], object], problem: str) -> None:
    with pytest.raises(FaultError, match=problem):
        make()


def test_a_fault_of_links_is_refused_elsewhere() -> None:
    with armed(Script().at("p", faults.cut())), pytest.raises(FaultError, match="points of a Link"):
        faults.point("p")


def test_a_handler_of_the_log_may_come_by_a_point() -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            thread = threading.Thread(target=faults.point, args=("log",))
            thread.start()
            thread.join(10.0)
            met.append(not thread.is_alive())

    met: list[bool] = []
    log, handler = logging.getLogger("otpy.faults"), Handler()
    log.addHandler(handler)
    log.setLevel(logging.WARNING)
    try:
        with armed(Script().at("p", faults.slow(0.0))) as script:
            faults.point("p")
            assert (met, script.passed("log")) == ([True], 1)
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)


def test_in_an_exploration_a_seed_decides_also_who_meets_a_fault() -> None:
    def scenario(system: VirtualSystem) -> None:
        script = Script(seed=1).at("work", faults.kill_actor(), after=1).at("work", faults.slow(2.0), after=3)
        with armed(script):
            workers = [system.start(otpy.child(Worker).opts(id=f"w{number}")) for number in range(3)]
            for _ in range(2):
                for worker in workers:
                    worker.cast(Worker.go_on)
            system.clock.advance(5.0)
        script.assert_fired()
        met.append([(one.path, one.fault, one.number) for one in script.fired])

    met: list[object] = []
    explore(scenario, seeds=20)
    first, met = met, []
    explore(scenario, seeds=20)
    assert met == first
    assert len(set(map(str, met))) > 1
