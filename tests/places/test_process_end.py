"""The place `process`: every way it may end, what others hear of it, and that nothing is left."""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import msgpack
import pytest

import otpy
from otpy.errors import CallExitError
from otpy.places.process.listener import Listener
from support.far import Far, Near, stuck
from support.processes import children_of, descriptors, threads_since

if TYPE_CHECKING:
    from pathlib import Path


def far(*args: Any, **kwargs: Any) -> otpy.ChildSpec:
    return otpy.child(Far, *args, **kwargs).opts(place="process")


def pid_of(ref: otpy.Ref[Far]) -> int:
    return ref.call(Far.where)[0]


def ended(pidfd: int) -> bool:
    """Wait until a process has ended."""
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    done = bool(poll.poll(5_000))
    os.close(pidfd)
    return done


def test_a_crash_arrives_with_its_traceback(farm: otpy.System) -> None:
    ref = farm.start(far())
    with pytest.raises(CallExitError) as caught:
        ref.call(Far.end, "raise", "ouch")
    reason = caught.value.reason
    assert isinstance(reason, otpy.Crashed)
    assert (reason.type, reason.text) == ("ValueError", "ouch")
    assert "raise ValueError(value)" in reason.traceback
    assert ref.reason == reason


@pytest.mark.parametrize(
    ("how", "value", "reason"),
    [
        ("os_exit", 3, otpy.Exited(3)),
        ("os_exit", 0, otpy.Exited(0)),
        ("segfault", None, otpy.Signalled(signal.SIGSEGV)),
        ("stop", otpy.Normal(), otpy.Normal()),
        ("stop", otpy.Exit({"a": (1, 2)}), otpy.Exit({"a": (1, 2)})),
    ],
)
def test_each_end_has_a_reason_that_says_so(farm: otpy.System, how: str, value: Any, reason: otpy.Reason) -> None:
    ref = farm.start(far().opts(name="far"))
    monitor = ref.monitor()
    if how == "stop":
        assert ref.call(Far.end, how, value) == "bye"
    else:
        with pytest.raises(CallExitError) as caught:
            ref.call(Far.end, how, value)
        assert caught.value.reason == reason
    assert monitor.wait().reason == reason
    assert farm.whereis("far") is None


@pytest.mark.report("D128", "ray-project/ray#459")
@pytest.mark.report("D125", "ray-project/ray#11990")
def test_kill_9_fails_all_open_calls_at_once(farm: otpy.System) -> None:
    ref = farm.start(far())
    pid = pid_of(ref)
    ref.cast(Far.spin)
    futures = [ref.ask(number, block=False) for number in range(3)]
    os.kill(pid, signal.SIGKILL)
    for future in futures:
        with pytest.raises(CallExitError) as caught:
            future.get(timeout=5)
        assert caught.value.reason == otpy.Signalled(signal.SIGKILL)
    assert "somebody" in str(ref.reason)


def test_stop_runs_terminate_inside_and_waits_for_the_end(farm: otpy.System, tmp_path: Path) -> None:
    ref = farm.start(far(tmp_path / "reason"))
    pidfd = os.pidfd_open(pid_of(ref))
    assert ref.stop(otpy.Shutdown("done")) is True
    assert (tmp_path / "reason").read_text() == "shutdown: done"
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    assert poll.poll(0)
    os.close(pidfd)


def test_a_kill_ends_it_whatever_it_does(farm: otpy.System) -> None:
    ref = farm.start(far())
    pidfd = os.pidfd_open(pid_of(ref))
    ref.cast(Far.spin)
    monitor = ref.monitor()
    assert ref.kill() is True
    assert monitor.wait().reason == otpy.Killed()
    assert ended(pidfd)
    assert not farm.zombies()


def test_a_call_in_flight_fails_when_it_is_killed(farm: otpy.System) -> None:
    ref = farm.start(far())
    future = ref.ask("x", block=False)
    future.get(timeout=5)
    ref.cast(Far.spin)
    future = ref.ask("y", block=False)
    ref.kill()
    with pytest.raises(CallExitError) as caught:
        future.get(timeout=5)
    assert caught.value.reason == otpy.Killed()


def tuples_in_each_other(depth: int) -> bytes:
    """A reply with these, as nobody's code of otpy would send it."""
    value: object = ()
    for _ in range(depth):
        value = msgpack.ExtType(1, msgpack.packb([value]))
    data = msgpack.packb([10, 1, value])
    return struct.pack(">I", len(data)) + data


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"garbage", "garbage"),
        (b"\x00\x00\x00\x01\xc1", "garbage"),
        (b"\x00\x00\x00\x01\x01", "it sent 1"),
        (b"\x00\x00\x00\x02\x91\x63", "kind 99"),
        (b"\x00\x00\x00\x04\x93\x0e\x00\xc0", "kind 14"),  # that it is born, which it was before
        (b"\x00\x00\x00\x04\x93\x0e\x02\xc0", "kind 14"),  # that its start has failed, which was done before
        (b"\xff\xff\xff\xff", "too large"),
        (b"\x00\x00\x00\x07\x93\x0a\x01\xc7\x01\x07\x00", "garbage"),  # a pickle
        (tuples_in_each_other(1_000), "garbage"),  # it would exhaust the stack of the program's thread
    ],
)
def test_what_is_no_message_ends_it_and_nobody_else(farm: otpy.System, data: bytes, text: str) -> None:
    ref, other = farm.start(far()), farm.start(far())
    monitor = ref.monitor()
    with pytest.raises(CallExitError):
        ref.call(Far.write, data)
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.NoConnection)
    assert text in reason.text
    assert other.call(Far.echo, 1) == 1


def test_half_a_message_ends_it(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otpy.places.process.child.HALF", 0.1)
    ref = farm.start(far())
    with pytest.raises(CallExitError) as caught:
        ref.call(Far.write, b"\x00\x00\xff\xff\x93\x0a")
    assert isinstance(caught.value.reason, otpy.NoConnection)
    assert "half a message" in caught.value.reason.text


@pytest.mark.parametrize("hears", ["receive", "hear_tie"])
def test_a_mistake_in_taking_in_what_a_child_sends_ends_that_child_alone(
    farm: otpy.System, monkeypatch: pytest.MonkeyPatch, hears: str
) -> None:
    ref, other = farm.start(far()), farm.start(far())
    ref.call(Far.meet, farm.start(Near))
    with monkeypatch.context() as patch:
        patch.setattr(f"otpy.places.process.hearing.{hears}", lambda *_: 1 / 0)
        with pytest.raises(CallExitError) as caught:
            ref.call(Far.tell_near, 1) if hears == "receive" else ref.call(Far.ask_by_name, "nobody")
    reason = caught.value.reason
    assert isinstance(reason, otpy.NoConnection)
    assert "ZeroDivisionError" in reason.text
    assert other.call(Far.echo, 1) == 1


def test_a_mistake_in_what_is_due_keeps_nothing_else_from_being_done() -> None:
    done = threading.Event()
    listener = Listener(done.is_set, lambda: None)
    listener.later(0.0, lambda: 1 / 0)
    listener.later(0.0, done.set)
    listener.start()
    assert listener.thread is not None
    listener.thread.join(30.0)
    assert done.is_set()


def test_the_end_after_half_a_message_is_told_as_it_was(farm: otpy.System) -> None:
    ref = farm.start(far())
    monitor = ref.monitor()
    with pytest.raises(CallExitError):
        ref.call(Far.end, "half", b"\x00\x00\xff\xff\x93\x0a")
    assert monitor.wait().reason == otpy.Exited(5)


def test_a_pipe_closed_by_a_process_that_lives_on_ends_it(farm: otpy.System) -> None:
    ref = farm.start(far())
    monitor = ref.monitor()
    with pytest.raises(CallExitError):
        ref.call(Far.close_pipe)
    reason = monitor.wait().reason
    assert isinstance(reason, otpy.NoConnection)
    assert "closed its pipe" in reason.text


@pytest.mark.report("D112", "circus-tent/circus#1044")
def test_what_it_has_started_ends_with_it(farm: otpy.System) -> None:
    for end in (otpy.Ref.kill, otpy.Ref.stop):
        ref = farm.start(far())
        pidfd = os.pidfd_open(ref.call(Far.helper))
        end(ref)
        assert ended(pidfd)


def test_links_and_monitors_of_other_actors_hear_of_its_end(farm: otpy.System) -> None:
    class Linked(otpy.GenServer):
        trap_exit = True

        def init(self, ref: otpy.Ref[Far]) -> None:
            self.heard: list[Any] = []
            self.link(ref)
            self.monitor(ref)

        @otpy.call
        def read(self) -> list[Any]:
            return list(self.heard)

        def handle_info(self, message: Any) -> None:
            self.heard.append(message)

    ref = farm.start(far())
    linked = farm.start(Linked, ref)
    with pytest.raises(CallExitError):
        ref.call(Far.end, "os_exit", 3)
    farm.wait_idle()
    heard = linked.call(Linked.read)
    assert {type(one) for one in heard} == {otpy.Down, otpy.ExitSignal}
    assert {one.reason for one in heard} == {otpy.Exited(3)}


@pytest.mark.parametrize("strategy", ["one_for_one", "rest_for_one", "one_for_all"])
def test_it_is_restarted_as_its_supervisors_strategy_says(farm: otpy.System, strategy: Any) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [far().opts(id=name, name=name) for name in ("a", "b", "c")]

    Tree.strategy = strategy
    root = farm.start(Tree)
    names = ("a", "b", "c")
    before = [farm.whereis(name) for name in names]
    assert before[1] is not None
    monitors = [ref.monitor() for ref in before if ref is not None]
    os.kill(pid_of(before[1]), signal.SIGKILL)
    assert monitors[1].wait().reason == otpy.Signalled(signal.SIGKILL)
    root.call(otpy.Supervisor.count_children)
    after = [farm.whereis(name) for name in names]
    changed = {"one_for_one": [0, 1, 0], "rest_for_one": [0, 1, 1], "one_for_all": [1, 1, 1]}[strategy]
    assert [one is not other for one, other in zip(before, after, strict=True)] == changed
    assert all(ref is not None and ref.call(Far.echo, 1) == 1 for ref in after)


@pytest.mark.report("D127", "ray-project/ray#65543")
def test_an_exit_0_of_a_permanent_child_counts(farm: otpy.System) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [far().opts(name="far")]

    root = farm.start(Tree)
    with pytest.raises(CallExitError):
        farm.ref(otpy.Name("far", Far)).call(Far.end, "os_exit", 0)
    root.call(otpy.Supervisor.count_children)
    assert farm.ref(otpy.Name("far", Far)).call(Far.echo, 1) == 1


def test_one_that_computes_for_ever_is_stopped_within_its_time(farm: otpy.System) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(stuck).opts(place="process", shutdown=0.1, id="f"), far().opts(shutdown=0.1, name="far")]

    root = farm.start(Tree)
    farm.ref(otpy.Name("far", Far)).cast(Far.spin)
    assert root.stop(timeout=30.0) is True
    assert not farm.zombies()


def test_a_child_ends_when_its_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import otpy, sys\n"
        "from support.far import Far\n"
        "system = otpy.System('p')\n"
        "ref = system.start(otpy.child(Far).opts(place='process'))\n"
        "print(*ref.call(Far.where), ref.call(Far.helper), flush=True)\n"
        "ref.cast(Far.spin)\n"
        "sys.stdin.read()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, env=env, text=True)
    assert program.stdout is not None
    pid, helper, _, grandchild = map(int, program.stdout.readline().split())
    watched = [os.pidfd_open(one) for one in (pid, helper, grandchild)]
    program.kill()
    program.communicate()
    assert [ended(pidfd) for pidfd in watched] == [True, True, True]


def test_a_helper_that_is_killed_takes_its_children_along_and_is_replaced(farm: otpy.System) -> None:
    ref = farm.start(far())
    monitor = ref.monitor()
    os.kill(ref.call(Far.where)[1], signal.SIGKILL)
    assert isinstance(monitor.wait().reason, otpy.NoConnection)
    assert farm.start(far()).call(Far.echo, 1) == 1


@pytest.mark.report("D136", "ChronoAIProject/fkst-substrate#53")
def test_many_kills_leave_no_process_descriptor_or_thread(farm: otpy.System) -> None:
    first = farm.start(far())
    farm.start(far()).stop()  # from the first start on one is kept ready
    helper = first.call(Far.where)[1]
    farm.wait_idle()
    fds, threads = descriptors(), set(threading.enumerate())
    for _ in range(2):
        for ref in [farm.start(far()) for _ in range(10)]:
            ref.kill()
    farm.wait_idle()
    left = children_of(helper)
    assert pid_of(first) in left
    assert len(left) <= 3  # one is kept ready for each module, this and that of the warm-up
    assert descriptors() == fds
    assert threads_since(threads) == []
    first.stop()
