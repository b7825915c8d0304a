"""What a program sends may be anything, and a view of it is always one."""

from __future__ import annotations

import math

import pytest

from otpy.cli.drain_views import drain_line
from otpy.cli.warily import items, mapping, mappings, number, shown, whole


@pytest.mark.parametrize("sent", [None, "text", 7, 1.5, [], [1, {}], {"a": 1}, math.inf, math.nan, -math.inf])
def test_whatever_is_sent_each_look_gives_its_own_kind(sent: object) -> None:
    assert type(mapping(sent)) is dict
    assert type(items(sent)) is list
    assert all(type(one) is dict for one in mappings(sent))
    assert type(number(sent)) is float
    assert type(whole(sent)) is int
    assert type(shown(sent)) is str


def test_a_program_that_counts_without_end_is_shown_all_the_same() -> None:
    line = drain_line("shop", {"phase": "drain", "in_flight": math.inf, "queue": math.nan, "waits_for": [7]})

    assert line == "shop: phase drain, in flight 0, queue 0 messages, resources 0 open"
