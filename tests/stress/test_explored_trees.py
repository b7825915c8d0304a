"""Trees in any kind of trouble: under every order of turns that is tried they keep their promises, and leave nothing.

What must be true is written down in `support.ledger` (each message and each end) and `support.soundness` (the tables).
"""

from __future__ import annotations

import pytest

from otpy.testing import ExplorationError, explore
from support.soundness import sound
from support.trouble import trouble_in_a_tree

AGAIN = "all its steps, from the root of the repository: PYTHONPATH=.:tests python -m support.trouble {}"


STEP = 50  # seeds of one test: it takes a second or two
FEW = [pytest.param(first, id=str(first)) for first in range(0, 500, STEP)]
MANY = [pytest.param(first, id=str(first), marks=pytest.mark.stress) for first in range(500, 10_000, STEP)]


@pytest.mark.parametrize("first", FEW + MANY)
def test_trees_in_trouble_keep_their_promises_and_leave_nothing(first: int) -> None:
    try:
        explore(trouble_in_a_tree, STEP, first=first, invariants=[sound])
    except ExplorationError as error:
        error.add_note(AGAIN.format(error.seed))
        raise
