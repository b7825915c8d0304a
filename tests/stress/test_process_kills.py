"""Process children that start and die by the thousand: no process, descriptor or thread is left, and nothing hangs."""

from __future__ import annotations

import logging
import random
import signal
import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from support.far import Far
from support.processes import children_of, descriptors, have_helper_look, threads_since
from support.wild import Wild

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG = [pytest.mark.stress, pytest.mark.timeout(1_800)]
AT_ONCE = 10
WAYS = (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM)


def sizes(small: int, large: int) -> list[object]:
    return [pytest.param(small, id="small"), pytest.param(large, id="large", marks=LONG)]


@pytest.fixture(scope="module")
def warm_system() -> Iterator[otpy.System]:
    """A system whose helper runs."""
    system = otpy.System("farm")
    system.start(otpy.child(Far).opts(place="process")).stop()
    yield system
    assert system.stop() == []


@pytest.fixture
def farm(quiet: None, warm_system: otpy.System) -> Iterator[otpy.System]:
    """That system, empty again when the test ends."""
    yield warm_system
    for ref in list(warm_system.tops.values()):
        ref.stop()
    warm_system.wait_idle()
    assert warm_system.alive == 0


def wild(ident: object = "wild") -> otpy.ChildSpec:
    return otpy.child(Wild).opts(place="process", id=str(ident))


@pytest.mark.parametrize("kills", sizes(20, 10_000))
def test_kills_in_all_ways_leave_no_process_descriptor_or_thread(farm: otpy.System, kills: int) -> None:
    chance = random.Random(kills)
    first = farm.start(wild("first"))
    helper = first.call(Wild.helper)
    farm.start(wild()).stop()
    farm.wait_idle()
    fds, threads = descriptors(), set(threading.enumerate())
    for _ in range(kills // AT_ONCE):
        refs = [farm.start(wild(number)) for number in range(AT_ONCE)]
        monitors = [ref.monitor() for ref in refs]
        for ref in refs:
            if chance.random() < 0.5:
                ref.kill()
            else:
                ref.cast(Wild.die, int(chance.choice(WAYS)))
        reasons = {type(monitor.wait(20.0).reason) for monitor in monitors}
        assert reasons <= {otpy.Killed, otpy.Signalled}
    farm.wait_idle()
    left = children_of(helper)
    assert first.call(Wild.pid) in left
    assert len(left) <= 3, "one is kept ready for each of the two modules"
    assert descriptors() == fds
    assert threads_since(threads) == []


@pytest.mark.report("D133", "python/cpython#105464")
@pytest.mark.parametrize("starts", sizes(10, 200))
def test_starts_while_threads_log_hang_nobody(farm: otpy.System, tmp_path: Path, starts: int) -> None:
    """The log's locks are held nearly always; a fork of this program would inherit them so."""
    log = logging.getLogger("noise")
    handler = logging.FileHandler(tmp_path / "log")
    log.addHandler(handler)
    log.propagate = False
    is_over = threading.Event()

    def chatter() -> None:
        while not is_over.is_set():
            log.warning("x" * 100)

    threads = [threading.Thread(target=chatter) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(starts):
            ref = farm.start(otpy.child(Far).opts(place="process"))
            ref.call(Far.say, "hello")
            ref.stop()
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
        log.removeHandler(handler)
        handler.close()
    assert farm.alive == 0


@pytest.mark.report("D136", "ChronoAIProject/fkst-substrate#53")
@pytest.mark.parametrize("count", sizes(15, 150))
def test_bursts_leave_nothing_defunct(farm: otpy.System, count: int) -> None:
    """A hundred and fifty that end at once, each with something left behind that ends, too."""
    first = farm.start(wild("first"))
    helper = first.call(Wild.helper)
    refs = [farm.start(wild(number)) for number in range(count)]
    left = [ref.call(Wild.pid) for ref in refs]
    for ref in refs[:10]:
        left += ref.call(Wild.leave_orphans, 2)
    monitors = [ref.monitor() for ref in refs]
    for ref in refs:
        ref.cast(Wild.die, int(signal.SIGKILL))
    assert {monitor.wait(20.0).reason for monitor in monitors} == {otpy.Signalled(signal.SIGKILL)}
    have_helper_look(farm, left)
    assert set(children_of(helper)) & set(left) == set()
