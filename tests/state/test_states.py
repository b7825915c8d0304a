"""What an actor persists, and which incarnation is given it back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError, StartError
from otpy.events import StateRestored, StateSetAside
from otpy.testing import Gate, Recorder, VirtualSystem
from support.states import Counter, drained, started

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.state"


COUNTER = otpy.child(Counter).opts(id="counter")


def test_the_next_program_begins_where_the_last_has_saved(file: Path) -> None:
    with started(file) as system:
        ref = system.start(COUNTER)
        ref.call(Counter.add)
        ref.call(Counter.save)
        ref.call(Counter.add)
    with started(file, "shop-2") as system:
        assert system.start(COUNTER).call(Counter.look) == (1, False)


def test_what_a_drain_has_written_is_fresh_until_something_has_run(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER)
        assert drained(system, counter={"count": 7}) == {}
    with started(file) as system:
        assert system.start(COUNTER).call(Counter.look) == (7, True)
    with started(file) as system:
        assert system.start(COUNTER).call(Counter.look) == (7, False)


def test_an_actor_that_crashes_later_starts_clean(file: Path) -> None:
    class Top(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [COUNTER]

    with started(file) as system:
        system.start_root(otpy.child(Top))
        drained_at(system, "shop/counter", 5)
    with started(file) as system:
        system.start_root(otpy.child(Top))
        ref = system.find("shop/counter")
        assert ref is not None
        assert ref.call(Counter.look) == (5, True)
        ref.cast(Counter.crash)
        system.wait_idle()
        again = system.find("shop/counter")
        assert again is not None
        assert again.call(Counter.look) == (0, None)


def drained_at(system: VirtualSystem, path: str, count: int) -> None:
    ref, store = system.find(path), system.states
    assert ref is not None
    assert store is not None
    assert store.save([store.snapshot(ref, {"count": count})], is_final=True) == {}


def test_a_child_that_was_drained_in_a_living_program_is_given_its_state(file: Path) -> None:
    with started(file) as system:
        ref = system.start(COUNTER)
        drained(system, counter={"count": 3})
        ref.stop()
        assert system.start(COUNTER).call(Counter.look) == (3, True)


def test_a_state_with_which_two_starts_have_failed_is_set_aside(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 3})
    for _ in range(2):  # in two programs: the first failure ends a program that does not start
        with started(file) as system, pytest.raises(StartError, match="does not like"):
            system.start(otpy.child(Counter, fails=True).opts(id="counter"))
    with started(file) as system, Recorder(system, StateSetAside) as recorded:
        assert system.start(COUNTER).call(Counter.look) == (0, None)
        (event,) = recorded.of(StateSetAside)
        assert (event.path, event.tries) == ("shop/counter", 2)
    with started(file) as system:
        assert system.start(COUNTER).call(Counter.look) == (0, None)


def test_a_killed_incarnation_writes_nothing(file: Path) -> None:
    with started(file) as system:
        store = system.states
        assert store is not None
        ref = system.start(COUNTER)
        late = store.snapshot(ref, {"count": 99})
        system.kill("shop/counter")
        system.wait_idle()
        refused = store.save([late], is_final=False)
        assert "it has ended (killed)" in str(refused["shop/counter"])
    with started(file) as system:
        assert system.start(COUNTER).call(Counter.look) == (0, None)


def test_the_inspector_says_how_long_ago_it_was_saved(file: Path) -> None:
    with started(file) as system:
        ref = system.start(COUNTER)
        assert system.record("shop/counter").saved is None
        ref.call(Counter.save)
        system.clock.advance(90.0)
        assert system.record("shop/counter").saved == 90.0


def test_each_restored_state_is_told(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 3})
    with started(file) as system, Recorder(system, StateRestored) as recorded:
        system.start(COUNTER)
        (event,) = recorded.of(StateRestored)
        assert (event.path, event.is_fresh) == ("shop/counter", True)


def test_one_that_is_no_plain_data_is_refused_and_named(file: Path) -> None:
    class Odd(Counter):
        def persist(self) -> dict[str, object]:
            return {"orders": [1, {"lock": object()}]}

    with started(file) as system:
        ref = system.start(Odd)
        with pytest.raises(CallExitError, match=r"persist\(\)\['orders'\]\[1\]\['lock'\]: object is no plain data"):
            ref.call(Odd.save)


class Slow(Counter):
    """Takes its time to say what is to be kept."""

    def init(self, gate: Gate) -> None:  # type: ignore[override]  # another start
        super().init()
        self.gate: Gate | None = gate

    def persist(self) -> dict[str, object]:
        if self.gate is not None:
            self.gate.wait()
        return {"count": self.count}

    @otpy.call
    def become(self, count: int) -> None:
        self.gate, self.count = None, count
        self.save_state()


def test_a_zombie_that_is_about_to_write_writes_nothing_over_what_follows_it(file: Path) -> None:
    gate = Gate()
    with started(file) as system:
        first = system.start(otpy.child(Slow, gate).opts(id="counter", place="thread"))
        with ThreadPoolExecutor(1) as pool:
            saving = pool.submit(first.call, Counter.save)
            gate.reached()
            first.kill()
            with pytest.raises(CallExitError, match="killed"):
                saving.result()
        second = system.start(otpy.child(Slow, gate).opts(id="counter", place="thread"))
        second.call(Slow.become, 5)
        gate.open()
        system.wait_idle()
    with started(file) as system:
        assert system.start(COUNTER).call(Counter.look) == (5, False)
