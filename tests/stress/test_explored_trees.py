"""Trees in any kind of trouble: under every order of turns that is tried they stop and leave nothing behind."""

from __future__ import annotations

from otpy.testing import explore
from support.trouble import trouble_in_a_tree


def test_trees_in_trouble_leave_nothing_behind(rounds: int) -> None:
    explore(trouble_in_a_tree, 150 * rounds)
