"""Actors with a race, and an exploration that finds something."""

from __future__ import annotations

from typing import Any

import pytest

import otpy
from otpy.testing import ExplorationError, explore

__all__ = ["Account", "Payer", "found"]


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


def found(scenario: Any, **options: Any) -> ExplorationError:
    with pytest.raises(ExplorationError) as caught:
        explore(scenario, **options)
    return caught.value
