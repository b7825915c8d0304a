"""Process children that flood, fork and leave things behind, and starts for which nothing is left: nobody is harmed."""

from __future__ import annotations

import os
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import StartError
from support.far import Far, Near
from support.processes import children_of, descriptors, has_ended, have_helper_look
from support.wild import Nest, Slow, Wild, WildLater

if TYPE_CHECKING:
    from pathlib import Path


def wild() -> otpy.ChildSpec:
    return otpy.child(Wild).opts(place="process")


def far() -> otpy.ChildSpec:
    return otpy.child(Far).opts(place="process")


def test_a_handler_may_fork_a_copy_that_ends_by_itself(farm: otpy.System) -> None:
    ref = farm.start(wild())
    assert [ref.call(Wild.fork_and_leave) for _ in range(3)] == [3, 3, 3]
    assert isinstance(ref.call(Wild.pid), int)


def test_a_copy_that_comes_back_from_the_handler_ends_and_is_not_heard(farm: otpy.System) -> None:
    ref = farm.start(wild())
    is_copy, pid = ref.call(Wild.fork_and_come_back)
    assert not is_copy
    assert ref.call(Wild.wait_for, pid) == 1
    assert ref.call(Wild.pid) != pid


@pytest.mark.parametrize("cls", [Wild, WildLater, Nest])
def test_a_copy_that_comes_back_handles_no_message_and_ends(farm: otpy.System, cls: Any, tmp_path: Path) -> None:
    started = farm.start(otpy.child(cls).opts(place="process"))
    ref, kind = (started.call(Nest.inmate), Wild) if cls is Nest else (started, cls)
    os.mkfifo(tmp_path / "notes")
    notes = os.open(tmp_path / "notes", os.O_RDWR)
    ref.cast(kind.fork_and_go_on, str(tmp_path / "notes"))
    assert os.read(notes, 1) == b"x"
    assert ref.call(kind.end_of_copy) in {0, 1}
    os.set_blocking(notes, False)
    with pytest.raises(BlockingIOError):
        os.read(notes, 1)
    os.close(notes)


def test_a_flood_of_output_and_messages_keeps_nobody_else_waiting(farm: otpy.System) -> None:
    near = farm.start(Near)
    ref, other = farm.start(wild()), farm.start(far())
    ref.cast(Wild.flood, near, 3_000)
    assert [other.call(Far.echo, number) for number in range(20)] == list(range(20))
    assert isinstance(ref.call(Wild.pid), int)
    assert near.call(Near.read) == list(range(3_000))


def test_what_children_leave_behind_is_waited_for(farm: otpy.System) -> None:
    """Otherwise it is defunct for ever where the first process of all waits for nobody, as in many containers."""
    ref = farm.start(wild())
    helper = ref.call(Wild.helper)
    left = [ref.call(Wild.pid), *ref.call(Wild.leave_orphans, 10)]
    ref.kill()
    have_helper_look(farm, left)
    assert set(children_of(helper)) & set(left) == set()


@pytest.mark.parametrize("code", [0, 3])
def test_a_handler_of_a_signal_may_end_one_that_is_at_rest(farm: otpy.System, code: int) -> None:
    ref = farm.start(wild())
    ref.call(Wild.leave_at, signal.SIGTERM, code)
    monitor = ref.monitor()
    os.kill(ref.call(Wild.pid), signal.SIGTERM)
    assert monitor.wait().reason == otpy.Exited(code)


def test_a_helper_that_was_stopped_keeps_no_system_from_its_end() -> None:
    system = otpy.System("stopped")
    ref = system.start(wild())
    pid, helper = ref.call(Wild.pid), ref.call(Wild.helper)
    pidfds = [os.pidfd_open(pid), os.pidfd_open(helper)]
    os.kill(helper, signal.SIGSTOP)
    assert system.stop(timeout=0.1) == []
    assert [has_ended(pidfd) for pidfd in pidfds] == [True, True]


def test_a_helper_that_is_killed_takes_along_what_its_children_have_started(farm: otpy.System) -> None:
    ref = farm.start(wild())
    heir = os.pidfd_open(ref.call(Wild.start_heir))
    monitor = ref.monitor()
    os.kill(ref.call(Wild.helper), signal.SIGKILL)
    assert isinstance(monitor.wait().reason, otpy.NoConnection)
    assert has_ended(heir)


def test_a_start_without_a_descriptor_fails_and_harms_nobody(farm: otpy.System) -> None:
    other = farm.start(wild())
    farm.start(far()).stop()
    farm.wait_idle()
    before = descriptors()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(StartError, match=r"no process could be started.*Too many open files"):
            farm.start(otpy.child(os.getpid).opts(place="process"))
        assert isinstance(other.call(Wild.pid), int)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    farm.wait_idle()
    assert descriptors() <= before  # a spare process may have ended meanwhile
    assert farm.start(far()).call(Far.echo, 1) == 1


def test_a_helper_without_a_descriptor_fails_a_start_and_harms_nobody(farm: otpy.System) -> None:
    other = farm.start(wild())
    helper = other.call(Wild.helper)
    soft, hard = resource.prlimit(helper, resource.RLIMIT_NOFILE, (6, 4096))
    try:
        with pytest.raises(StartError, match=r"no process could be started.*Too many open files"):
            farm.start(otpy.child(os.getpid).opts(place="process"))
        assert isinstance(other.call(Wild.pid), int)
    finally:
        resource.prlimit(helper, resource.RLIMIT_NOFILE, (min(soft, 4096), 4096))
    assert hard
    assert farm.start(far()).call(Far.echo, 1) == 1


class Post(otpy.GenServer):
    """Hands on what it is told."""

    def init(self, told: SimpleQueue[int]) -> None:
        self.told = told

    def handle_info(self, message: Any) -> None:
        self.told.put(message)


@pytest.mark.report("D131", "xorbitsai/xoscar#164", "mars-project/mars#2468")
def test_a_kill_from_outside_in_the_middle_of_a_start_fails_it(farm: otpy.System) -> None:
    told: SimpleQueue[int] = SimpleQueue()
    post = farm.start(Post, told)
    with ThreadPoolExecutor(1) as threads:
        start = threads.submit(farm.start, otpy.child(Slow, post, "start").opts(place="process"))
        os.kill(told.get(timeout=10.0), signal.SIGKILL)
        error = start.exception(10.0)
    assert isinstance(error, StartError)
    assert error.reason == otpy.Signalled(signal.SIGKILL)


@pytest.mark.report("D131", "xorbitsai/xoscar#164", "mars-project/mars#2468")
def test_a_kill_from_outside_in_the_middle_of_a_stop_ends_it(farm: otpy.System) -> None:
    told: SimpleQueue[int] = SimpleQueue()
    post = farm.start(Post, told)
    ref = farm.start(otpy.child(Slow, post, "end").opts(place="process"))
    with ThreadPoolExecutor(1) as threads:
        stop = threads.submit(ref.stop)
        os.kill(told.get(timeout=10.0), signal.SIGKILL)
        stop.exception(10.0)
    assert ref.reason == otpy.Signalled(signal.SIGKILL)
