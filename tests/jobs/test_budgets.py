"""Retry budgets: a queue in which everything fails does not retry all of it at once."""

from __future__ import annotations

from otpy.jobs.model.claim import Settled
from otpy.jobs.scheduler.budgets import LATER, Budgets
from otpy.jobs.setup import Queue

from .rows import row


def pushed(budgets: Budgets, failures: int, queue: str = "q") -> int:
    job = row(queue=queue)
    for _ in range(failures):
        budgets.begun(job, 0.0)
    again = [budgets.spent(job, Settled(id=1, token=1, state="ready", run_at=5), 0.0, 1_000) for _ in range(failures)]
    assert {one.run_at for one in again} <= {5, 1_000 + LATER}
    return sum(one.state == "scheduled" for one in again)


def test_retries_are_a_fifth_of_the_first_attempts_beside_ten_a_second() -> None:
    assert pushed(Budgets({}), 10) == 0
    assert pushed(Budgets({}), 5_000) == 5_000 - 10 - 1_000


def test_a_queue_may_have_another_budget_or_none() -> None:
    assert pushed(Budgets({"q": Queue("q", retry_budget=0.0)}), 5_000) == 5_000 - 10
    assert pushed(Budgets({"q": Queue("q", retry_budget=None)}), 5_000) == 0


def test_what_has_ended_spends_nothing() -> None:
    budgets = Budgets({"q": Queue("q", retry_budget=0.0)})
    dead = Settled(id=1, token=1, state="dead")
    assert all(budgets.spent(row(queue="q"), dead, 0.0, 0) is dead for _ in range(5_000))
