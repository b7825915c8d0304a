"""Trees in any kind of trouble: under every order of turns that is tried they keep their promises, and leave nothing.

What must be true is written down in `support.ledger` (each message and each end) and `support.soundness` (the tables).
"""

from __future__ import annotations

import pytest

from otpy.testing import ExplorationError, explore
from support.soundness import sound
from support.trouble import SCENARIOS

AGAIN = "all its steps, from the root of the repository: PYTHONPATH=.:tests python -m support.trouble {} {}"


STEP = 50  # seeds of one test: it takes a second or two
FEW = {"tree": 400, "crowd": 100}
MANY = {"tree": 10_000, "crowd": 5_000}


def runs() -> list[object]:
    """Fifty seeds each."""
    return [
        pytest.param(name, first, id=f"{name}-{first}", marks=marks(name, first))
        for name, last in MANY.items()
        for first in range(0, last, STEP)
    ]


def marks(name: str, first: int) -> list[pytest.MarkDecorator]:
    """Each Python plays the first; more orders of the same turns say nothing more of it; most are for long runs."""
    if first >= FEW[name]:
        return [pytest.mark.stress]
    return [pytest.mark.any_python] if first else []


@pytest.mark.parametrize(("name", "first"), runs())
def test_trees_in_trouble_keep_their_promises_and_leave_nothing(name: str, first: int) -> None:
    try:
        explore(SCENARIOS[name], STEP, first=first, invariants=[sound])
    except ExplorationError as error:
        error.add_note(AGAIN.format(name, error.seed))
        raise
