"""The place `process`: starting, init, its failures, and what it takes along."""

from __future__ import annotations

import os
import select
import signal
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import TimedOut
from otpy.errors import IgnoredError, SpecError, StartError, StartTimeoutError
from otpy.places.process.child import Child
from otpy.places.process.ports import ports_of
from otpy.places.process.pulse import Heartbeats, Pulse
from support.far import Far, Near, Odd, greet
from support.inner import Secretive

if TYPE_CHECKING:
    from collections.abc import Callable


def far(*args: Any, **kwargs: Any) -> otpy.ChildSpec:
    return otpy.child(Far, *args, **kwargs).opts(place="process")


def test_it_runs_in_a_process_of_its_own(farm: otpy.System) -> None:
    ref = farm.start(far())
    pid, _, group = ref.call(Far.where)
    assert pid != os.getpid()
    assert group == pid
    assert os.getsid(pid) == pid, "a terminal's Ctrl-C must not reach it"


def test_a_class_may_say_that_it_wants_a_process(farm: otpy.System) -> None:
    ref = farm.start(Own)
    assert ref.call(Own.where)[0] != os.getpid()


class Own(Far):
    place = "process"


def test_arguments_of_init_arrive_as_they_were(farm: otpy.System) -> None:
    args = (1, "two", b"3", (4, [5, {6}]), {7: None}, frozenset({8}), 1 << 80, 0.5, True)
    ref = farm.start(far(*args, word=Odd(9).value))
    assert ref.call(Far.given) == (args, {"word": 9})


def test_it_is_seen_in_the_tree_with_its_place_and_process(farm: otpy.System) -> None:
    ref = farm.start(far())
    farm.wait_idle()
    record = farm.records(ref.path, within=20.0)[0]
    assert (record.place, record.kind, record.status) == ("process", "Far", "idle")
    assert record.process is not None
    assert record.process.pid == ref.call(Far.where)[0]


def test_its_process_is_known_when_it_has_started(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Callable[[], None]] = []
    known: list[int | None] = []
    is_born, begin, bind = Child.is_born, Heartbeats.begin, Child.bind

    def hold(child: Child, pid: int, pidfd: int | None) -> None:
        """What the helper says of it is heard after what it says itself; the one kept ready says nothing yet."""
        held.append(lambda: is_born(child, pid, pidfd))
        if child.ref is None:
            held.pop()()

    def has_spoken(own: Heartbeats, child: Child, limit: float | None) -> Pulse:
        if held:  # else it was the one kept ready, of which the helper has spoken already
            child.ports.listener.later(0.0, held.pop())
        return begin(own, child, limit)

    def watch(child: Child, ref: Any, on_born: Any, *rest: Any) -> None:
        bind(child, ref, lambda *told: (known.append(child.pid), on_born(*told)), *rest)

    monkeypatch.setattr(Child, "is_born", hold)
    monkeypatch.setattr(Child, "bind", watch)
    monkeypatch.setattr(Heartbeats, "begin", has_spoken)
    ref = farm.start(otpy.child(Secretive, "hush").opts(place="process"))
    monkeypatch.undo()
    assert known == [ref.waiting.pid] != [None]


def test_its_path_inside_is_that_outside(farm: otpy.System) -> None:
    ref = farm.start(far().opts(id="one"))
    assert ref.call(Far.path) == ref.path == "t/one"


def test_what_each_makes_in_its_life_was_compiled_before_the_fork(farm: otpy.System) -> None:
    ref = farm.start(otpy.child(Far).opts(place="process"))
    assert ref.call(Far.has_compiled, "Stop"), "which it makes at its end alone"


def test_one_is_kept_ready_that_has_imported_the_module(farm: otpy.System) -> None:
    farm.start(far()).call(Far.where)
    ready = ports_of(farm).spares.by_module[Far.__module__]
    second = farm.start(far())
    assert second.waiting is ready
    assert second.call(Far.where)[0] == ready.pid


def test_one_that_was_kept_ready_and_has_died_is_replaced(farm: otpy.System) -> None:
    ref = farm.start(far())
    ref.call(Far.where)
    ready = ports_of(farm).spares.by_module[Far.__module__]
    farm.start(otpy.child(len, "").opts(place="process")).monitor().wait()
    farm.wait_idle()  # its birth was told before the end of this one
    pid = ready.pid
    assert pid is not None
    pidfd = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    select.select([pidfd], [], [], 5.0)
    os.close(pidfd)
    farm.start(otpy.child(len, "").opts(place="process")).monitor().wait()
    farm.wait_idle()  # the helper has told of its end by now
    assert ports_of(farm).spares.by_module.get(Far.__module__) is not ready
    assert farm.start(far()).call(Far.where)[0] != pid


def test_a_crash_in_init_fails_the_start_with_the_place_where_it_happened(farm: otpy.System) -> None:
    with pytest.raises(StartError, match="bad luck") as caught:
        farm.start(far(how="crash"))
    assert isinstance(caught.value.reason, otpy.Crashed)
    assert caught.value.reason.frames[-1].function == "init"
    assert farm.alive == 0


@pytest.mark.parametrize(("how", "reason"), [("stop", otpy.Exit("no")), ("fail", otpy.Exit("not now"))])
def test_an_init_that_refuses_fails_the_start(farm: otpy.System, how: str, reason: otpy.Reason) -> None:
    with pytest.raises(StartError) as caught:
        farm.start(far(how=how))
    assert caught.value.reason == reason


def test_an_init_may_ignore(farm: otpy.System) -> None:
    with pytest.raises(IgnoredError):
        farm.start(far(how="ignore"))


@pytest.mark.report("D124", "ray-project/ray#6612")
def test_a_process_that_ends_in_init_fails_the_start_with_its_exit_code(farm: otpy.System) -> None:
    with pytest.raises(StartError) as caught:
        farm.start(far(how="exit"))
    assert caught.value.reason == otpy.Exited(4)


def test_an_init_that_takes_too_long_is_killed(farm: otpy.System) -> None:
    with pytest.raises(StartTimeoutError) as caught:
        farm.start(far(how="hang").opts(start_timeout=0.2))
    assert caught.value.reason == TimedOut()


def test_arguments_that_cannot_be_carried_fail_the_start(farm: otpy.System) -> None:
    with pytest.raises(StartError, match="cannot be carried"):
        farm.start(far(lambda: None))


def test_arguments_that_cannot_be_loaded_fail_the_start(farm: otpy.System) -> None:
    with pytest.raises(StartError, match="not here"):
        farm.start(far(Odd(1, bad=True)))


def test_a_class_that_cannot_be_imported_is_refused(farm: otpy.System) -> None:
    class Local(otpy.GenServer):
        place = "process"

    with pytest.raises(SpecError, match=r"Local cannot be imported there; define it in a module"):
        farm.start(Local)
    with pytest.raises(SpecError, match="<lambda> cannot be imported there"):
        farm.start(otpy.child(lambda: None).opts(place="process"))


def test_a_function_runs_in_a_process_and_ends(farm: otpy.System) -> None:
    near = farm.start(Near)
    ref = farm.start(otpy.child(greet, near).opts(place="process"))
    assert ref.monitor().wait().reason in (otpy.Normal(), otpy.NoProc())
    ((word, pid),) = near.call(Near.read)
    assert word == "pid"
    assert pid != os.getpid()
