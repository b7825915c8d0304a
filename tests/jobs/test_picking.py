"""Which ready jobs are given: by priority, turn by turn, within limits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otpy.jobs.model.claim import Ask
from otpy.jobs.store.picking import ReadyJob, pick


def ask(number: int, **fields: Any) -> Ask:
    return Ask(queues=("q",), owners=("a",) * number, lease_ms=1, **fields)


def line(*words: str) -> list[ReadyJob]:
    """`1a` is a job of kind k with priority 1 of tenant a; `1ax` one of kind x."""
    return [ReadyJob(n, word[2:] or "k", word[1:2], int(word[0])) for n, word in enumerate(words)]


@pytest.mark.parametrize(
    ("number", "fields", "picked"),
    [
        (3, {}, [0, 3, 1]),
        (4, {}, [0, 3, 1, 2]),
        (3, {"turns": {"q": "a"}}, [3, 0, 1]),
        (9, {"tenant_limit": 2}, [0, 3, 1, 4]),
        (9, {"tenant_limit": 2, "tenant_counts": {"a": 1, "b": 2}}, [0]),
    ],
)
def test_tenants_have_their_turns_within_a_priority(number: int, fields: Any, picked: list[int]) -> None:
    assert [one.id for one in pick(ask(number, **fields), line("0a", "0a", "0a", "0b", "1b"))] == picked


@pytest.mark.parametrize(
    ("fields", "order"),
    [
        ({"weights": {"a": 2}}, "aabaabab"),
        ({"weights": {"a": 2, "b": 2}}, "aabbaaba"),
        ({"weights": {"a": 3}, "turns": {"q": "a"}, "streak": 1}, "aabaaab"),
        ({"weights": {"a": 3}, "turns": {"q": "a"}, "streak": 3}, "baaabaab"),
        ({"weights": {"a": 3}, "turns": {"q": "c"}, "streak": 1}, "aaabaabb"),
    ],
)
def test_a_tenant_has_as_many_in_its_turn_as_it_weighs(fields: dict[str, Any], order: str) -> None:
    jobs = line(*["0a"] * 5, *["0b"] * 3)
    assert "".join(one.tenant for one in pick(ask(len(order), **fields), jobs)) == order


def test_a_kind_without_room_is_passed_over() -> None:
    found = pick(ask(3, kind_rooms={"x": 1}), line("0ax", "0ax", "0ax", "0a", "1a"))
    assert [one.id for one in found] == [0, 3, 4]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from("abc"), st.sampled_from("kx")), max_size=20),
    st.integers(0, 8),
    st.integers(0, 4),
    st.integers(1, 3),
)
def test_limits_hold_and_nobody_of_a_lower_priority_goes_before(jobs: Any, number: int, room: int, most: int) -> None:
    candidates = [ReadyJob(n, kind, tenant, priority) for n, (priority, tenant, kind) in enumerate(sorted(jobs))]
    found = pick(ask(number, kind_rooms={"x": room}, tenant_limit=most), candidates)
    assert len(found) <= number
    assert Counter(one.kind for one in found)["x"] <= room
    assert max(Counter(one.tenant for one in found).values(), default=0) <= most
    assert [one.priority for one in found] == sorted(one.priority for one in found)
