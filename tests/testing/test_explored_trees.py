"""Whole trees in any kind of trouble; `tests/stress/test_explored_trees.py` runs very many of them."""

from __future__ import annotations

from otpy.testing import replay
from support.soundness import sound
from support.trouble import trouble_in_a_tree


def test_a_tree_in_trouble_is_replayed_exactly() -> None:
    for seed in range(10):
        steps = [replay(trouble_in_a_tree, seed, invariants=[sound]) for _ in range(2)]
        assert steps[0] == steps[1]
