"""Explorations in virtual time: it goes on when all wait, and what waits for ever is a deadlock."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallTimeoutError
from otpy.testing import Gate, Probe, Recorder, StalledError, explore
from support.exploring import Account, Payer, found

if TYPE_CHECKING:
    from otpy.testing import VirtualSystem


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
