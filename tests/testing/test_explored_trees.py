"""Whole trees in any kind of trouble; `tests/stress/test_explored_trees.py` runs very many of them."""

from __future__ import annotations

from otpy.testing import replay
from support.trouble import trouble_in_a_tree


def test_a_tree_in_trouble_is_replayed_exactly() -> None:
    for seed in range(10):
        assert replay(trouble_in_a_tree, seed) == replay(trouble_in_a_tree, seed)
