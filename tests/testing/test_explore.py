"""Explorations find what only some orders of turns break, name the seed, and check what is left."""

from __future__ import annotations

import logging
import re
import signal
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallExitError, CallTimeoutError
from otpy.events import ActorCrashed
from otpy.testing import ExplorationError, Gate, Probe, Recorder, StalledError, explore, replay

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


class Account(otpy.GenServer):
    """Has a race: who reads and then writes may overwrite what another wrote in between."""

    def init(self) -> None:
        self.balance = 0

    @otpy.call
    def read(self) -> int:
        return self.balance

    @otpy.call
    def write(self, balance: int) -> None:
        self.balance = balance

    @otpy.call
    def never(self) -> object:
        return otpy.NoReply()


class Payer(otpy.GenServer):
    @otpy.cast
    def pay(self, account: otpy.Ref[Account]) -> None:
        account.call(Account.write, account.call(Account.read) + 1)

    @otpy.cast
    def pay_for_ever(self) -> None:
        self.ref.cast(Payer.pay_for_ever)


def race(system: VirtualSystem) -> None:
    account = system.start(Account)
    for payer in [system.start(Payer), system.start(Payer)]:
        payer.cast(Payer.pay, account)
    system.wait_idle()
    assert account.call(Account.read) == 2, "a payment was lost"


def found(scenario: Any, **options: Any) -> ExplorationError:
    with pytest.raises(ExplorationError) as caught:
        explore(scenario, **options)
    return caught.value


def test_it_finds_the_order_that_breaks_a_scenario_and_names_its_seed() -> None:
    error = found(race, seeds=100)

    again = f"replay it with explore(scenario, seeds=[{error.seed}]) or replay(scenario, {error.seed})"
    assert str(error).startswith(f"seed {error.seed}: AssertionError: a payment was lost\n")
    assert again in str(error).splitlines()
    assert isinstance(error.__cause__, AssertionError)


def test_the_seed_it_names_fails_again_in_the_same_way_and_others_do_not() -> None:
    error = found(race, seeds=100)

    again = found(race, seeds=[error.seed])
    with pytest.raises(ExplorationError) as replayed:
        replay(race, error.seed)
    explore(race, seeds=error.seed)  # those before it

    assert again.steps == error.steps == replayed.value.steps
    assert str(again) == str(error)


def test_its_error_shows_the_last_steps() -> None:
    error = found(race, seeds=100)

    asked = [step.message for step in error.steps if step.path == "seeded/Account" and step.message.startswith("call")]
    assert asked == ["call read", "call read", "call write", "call write", "call read"]
    assert all(str(step) in str(error) for step in error.steps)


def test_first_says_where_the_seeds_begin() -> None:
    seen = []

    def scenario(system: VirtualSystem) -> None:
        seen.append(system.random.random())

    explore(scenario, 3, first=10)
    explore(scenario, seeds=(10, 11, 12))

    assert seen[:3] == seen[3:]


def test_each_seed_gets_a_fresh_system_at_time_zero() -> None:
    seen = []

    def scenario(system: VirtualSystem) -> None:
        seen.append((system.alive, system.clock.now(), dict(system.names)))
        system.start(otpy.child(Account).opts(name="account"))
        system.clock.advance(10.0)

    explore(scenario, 3)

    assert seen == [(0, 0.0, {})] * 3


def test_nothing_runs_while_the_scenario_does() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        payer = system.start(Payer)
        payer.cast(Payer.pay, account)
        for _ in range(1_000):
            assert system.counts()["run_queue"] == 1
        system.wait_idle()
        assert system.counts()["run_queue"] == 0

    explore(scenario, 5)


# Time.


def test_time_goes_on_by_itself_when_the_scenario_waits_for_it() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        with pytest.raises(CallTimeoutError):
            account.call(Account.never)
        assert system.clock.now() == 5.0
        with pytest.raises(CallTimeoutError):
            account.within(0.0).call(Account.never)
        otpy.sleep(2.5)
        assert system.clock.now() == 7.5

    explore(scenario, 5)


def test_time_stands_still_in_wait_idle() -> None:
    def scenario(system: VirtualSystem) -> None:
        class Ticker(otpy.GenServer):
            def init(self) -> None:
                self.send_interval(1.0, "tick")

        system.start(Ticker)
        system.wait_idle()
        assert system.clock.now() == 0.0

    explore(scenario, 5)


def test_waits_for_monitors_and_stops_end_in_virtual_time() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        with pytest.raises(TimeoutError, match="still lives after 5 s"):
            account.monitor().wait()
        assert system.clock.now() == 5.0
        assert account.stop(timeout=3.0)
        assert system.clock.now() == 5.0

    explore(scenario, 5)


def test_a_wait_that_nothing_can_end_is_a_deadlock_that_names_who_waits() -> None:
    def scenario(system: VirtualSystem) -> None:
        system.start(Account).within(None).call(Account.never)

    error = found(scenario, seeds=1)

    assert isinstance(error.__cause__, StalledError)
    assert str(error.__cause__) == (
        "deadlock: nothing can happen any more; the scenario waits for the reply of seeded/Account to never"
    )


@pytest.mark.parametrize("wait", ["gate", "probe", "recorder"])
def test_waiting_for_what_never_comes_is_a_deadlock(wait: str) -> None:
    def scenario(system: VirtualSystem) -> None:
        waits = {"gate": Gate().reached, "probe": Probe(system).expect, "recorder": Recorder(system).expect}
        with pytest.raises(StalledError, match="deadlock: nothing can happen any more; the scenario waits"):
            waits[wait](1)

    explore(scenario, 3)


def test_a_scenario_may_catch_a_deadlock_and_go_on() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        with pytest.raises(StalledError):
            account.within(None).call(Account.never)
        assert account.call(Account.read) == 0

    explore(scenario, 5)


def test_what_never_comes_to_rest_ends_with_an_error() -> None:
    def scenario(system: VirtualSystem) -> None:
        system.start(Payer).cast(Payer.pay_for_ever)
        system.wait_idle()

    error = found(scenario, seeds=1, max_turns=500)

    assert "RuntimeError: not at rest after 500 turns and timers" in str(error)


def test_timers_without_end_end_with_an_error_too() -> None:
    def scenario(system: VirtualSystem) -> None:
        system.timers.every(1.0, bool)
        system.start(Account).within(None).call(Account.never)

    assert "not at rest after 500 turns and timers" in str(found(scenario, seeds=1, max_turns=500))


# Invariants.


def test_invariants_are_looked_at_between_any_two_turns() -> None:
    def balance_is_even(system: VirtualSystem) -> bool:
        account = system.whereis("account")
        return account is None or account.actor is None or account.actor.balance % 2 == 0

    def scenario(system: VirtualSystem) -> None:
        account = system.start(otpy.child(Account).opts(name="account"))
        payers = [system.start(Payer), system.start(Payer)]
        for payer in payers:
            payer.cast(Payer.pay, account)
        system.wait_idle()

    error = found(scenario, seeds=10, invariants=[balance_is_even])

    assert f"seed {error.seed}: AssertionError: invariant broken: balance_is_even" in str(error)
    assert error.steps[-1].path == "the scenario"
    explore(scenario, 10)


def test_an_invariant_may_raise() -> None:
    def at_most_one_actor(system: VirtualSystem) -> None:
        assert system.alive < 2, "two of them"

    def scenario(system: VirtualSystem) -> None:
        system.start(Account)
        system.start(Account)

    assert "AssertionError: two of them" in str(found(scenario, seeds=1, invariants=[at_most_one_actor]))


def test_a_scenario_cannot_hide_a_broken_invariant() -> None:
    def never(system: VirtualSystem) -> bool:
        return False

    def scenario(system: VirtualSystem) -> None:
        for _ in range(3):
            with pytest.raises(AssertionError, match="invariant broken"):
                system.start(Account)

    assert "invariant broken: never" in str(found(scenario, seeds=1, invariants=[never]))


# What is left.


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
    for thread in set(threading.enumerate()) - before:
        thread.join(5.0)
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


# Reports.


def test_an_exploration_logs_no_events_and_a_replay_does(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("otpy").setLevel(logging.NOTSET)

    class Fragile(otpy.GenServer):
        @otpy.call
        def crash(self) -> None:
            raise ValueError("boom")

    def scenario(system: VirtualSystem) -> None:
        with Recorder(system, ActorCrashed) as recorder:
            with pytest.raises(CallExitError):
                system.start(Fragile).call(Fragile.crash)
            system.wait_idle()
            assert len(recorder.events) == 1

    explore(scenario, 5)
    silence = caplog.text
    replay(scenario, 0)

    assert silence == ""
    assert "seeded/Fragile (Fragile) crashed during call crash: ValueError: boom" in caplog.text


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


def test_explorations_do_not_nest() -> None:
    def scenario(system: VirtualSystem) -> None:
        with pytest.raises(RuntimeError, match="explore from a test"):
            explore(race, 1)

    explore(scenario, 1)


def test_an_actor_cannot_explore(otpy_system: otpy.System) -> None:
    class Explorer(otpy.GenServer):
        @otpy.call
        def try_it(self) -> str:
            with pytest.raises(RuntimeError, match="explore from a test"):
                explore(race, 1)
            return "refused"

    assert otpy_system.start(Explorer).call(Explorer.try_it) == "refused"


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
