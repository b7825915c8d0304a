"""Explorations end clean: what a scenario leaves behind is found, and nothing of one reaches the next."""

from __future__ import annotations

import re
import signal
import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.testing import Gate, explore
from otpy.testing.remains import ends_within
from support.exploring import Account, found

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class Leaky(otpy.GenServer):
    def init(self, gate: Gate) -> None:
        self.gate = gate

    @otpy.cast
    def go(self) -> None:
        self.gate.wait()


def test_an_actor_that_does_not_stop_is_found() -> None:
    gate = Gate()

    def scenario(system: VirtualSystem) -> None:
        system.start(Leaky, gate).cast(Leaky.go)
        gate.reached()

    error = found(scenario, seeds=1)

    assert re.search(r"left behind: seeded/Leaky did not stop: it is on otpy-\d at \S+ in wait", str(error))
    assert "seeded/Leaky is a zombie" in str(error)


def test_a_timer_that_stays_set_is_found() -> None:
    def scenario(system: VirtualSystem) -> None:
        system.timers.after(60.0, bool)

    assert "left behind: a timer is set: bool at 60.000" in str(found(scenario, seeds=1))


def test_a_system_that_the_scenario_has_stopped_is_fine() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        assert system.stop() == []
        assert not account.is_alive()

    explore(scenario, 5)


def test_after_a_failure_nothing_is_left_and_the_next_exploration_runs() -> None:
    before = set(threading.enumerate())
    gate = Gate()

    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        system.start(Leaky, gate).cast(Leaky.go)

        def ask() -> None:
            account.within(None).call(Account.never)

        system.start(ask)
        system.wait_idle()
        raise ValueError("enough")

    assert "ValueError: enough" in str(found(scenario, seeds=3))
    explore(lambda system: system.start(Account), seeds=3)
    assert all(ends_within(thread, 30.0) for thread in set(threading.enumerate()) - before)
    assert set(threading.enumerate()) - before == set()


def test_few_threads_run_many_seeds() -> None:
    names = set()

    def scenario(system: VirtualSystem) -> None:
        class Named(otpy.GenServer):
            def init(self) -> None:
                names.add(threading.current_thread().name)

        system.start(Named)

    explore(scenario, 50)

    assert names == {"otpy-1"}


def test_what_is_no_exception_passes_through_with_a_note() -> None:
    def scenario(system: VirtualSystem) -> None:
        system.start(Account)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        explore(scenario, seeds=[42])

    assert caught.value.__notes__ == ["in an exploration, seed 42"]


def test_ctrl_c_while_the_scenario_waits_ends_it_and_all_threads() -> None:
    """The handler runs in the scenario's thread, which has given its token away."""

    class Presser(otpy.GenServer):
        @otpy.call
        def press(self) -> object:
            signal.raise_signal(signal.SIGINT)
            return otpy.NoReply()

    for _ in range(20):
        with pytest.raises(KeyboardInterrupt):
            explore(lambda system: system.start(Presser).within(None).call(Presser.press), 1)
    explore(lambda system: system.start(Account), 3)


def test_what_a_dead_actor_still_holds_is_found() -> None:
    """As a mistake of otpy's own would leave it."""

    def scenario(system: VirtualSystem) -> None:
        one, other = system.start(Account), system.start(Account)
        one.kill()
        watch = otpy.Monitor(other, other, one)
        one.extras().watches.add(watch)
        one.extras().timers.add(system.timers.after(1.0, bool))
        system.clock.advance(1.0)

    error = str(found(scenario, seeds=1))

    assert "seeded/Account #1 has timers; seeded/Account #1 watches others" in error
