"""Explorations find what only some orders of turns break, name the seed, and look at invariants."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.events import ActorCrashed
from otpy.testing import ExplorationError, Recorder, explore, replay
from support.exploring import Account, Payer, found

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


def race(system: VirtualSystem) -> None:
    account = system.start(Account)
    for payer in [system.start(Payer), system.start(Payer)]:
        payer.cast(Payer.pay, account)
    system.wait_idle()
    assert account.call(Account.read) == 2, "a payment was lost"


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
