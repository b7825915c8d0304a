"""What is legal in a tree and yet doubtful."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from otpy.core.backoff import Backoff
from otpy.core.doubts import doubts, stop_time
from otpy.core.intensity import Limit
from support.parts import keeper, worker

if TYPE_CHECKING:
    from otpy.core.part import Part

LONG = 1e9


def about(root: Part, deadline: float = LONG) -> list[tuple[str, str]]:
    """Paths, and the beginning of what is said."""
    return [(finding.path, finding.text.partition(":")[0]) for finding in doubts(root, deadline)]


def test_ordinary_tree_raises_no_doubts() -> None:
    inner = keeper("t/in", worker("t/in/a"), strategy="one_for_all")
    assert about(keeper("t", worker("t/a"), inner, worker("t/b"), strategy="rest_for_one"), 30.0) == []


@pytest.mark.report("D118", "Supervisor/supervisor#1254")
def test_ordered_children_add_up_and_dynamic_ones_stop_together() -> None:
    three = [worker(f"t/{n}", shutdown=float(n)) for n in (1, 2, 3)]
    assert stop_time(keeper("t", *three)) == 6.0
    assert stop_time(keeper("t", *three, dynamic=True)) == 3.0
    assert stop_time(keeper("t", keeper("t/in", *three), worker("t/x", shutdown=4.0))) == 10.0
    assert stop_time(keeper("t", keeper("t/in", *three, shutdown=5.0))) == 5.0
    assert stop_time(keeper("t", worker("t/x", shutdown=0.0))) == 0.0


def test_stop_that_may_take_longer_than_the_deadline_names_the_slowest() -> None:
    slow = [worker(f"t/{n}", shutdown=float(n)) for n in (4, 20, 1, 10)]
    root = keeper("t", *slow[:2], keeper("t/in", *slow[2:]))
    (finding,) = doubts(root, 30.0)
    assert finding.path == "t"
    assert finding.text.startswith("to stop may take 35 s, and after 30 s (--shutdown) what is left is killed; ")
    assert "most of it is for t/20 (20 s), t/10 (10 s), t/4 (4 s): " in finding.text
    assert doubts(root, 35.0) == []


def test_worker_that_is_waited_for_without_end_is_named() -> None:
    (finding,) = doubts(keeper("t", worker("t/a", shutdown=math.inf)), 30.0)
    assert finding.text.startswith("to stop may take for ever, and after 30 s")
    assert "t/a (for ever)" in finding.text


@pytest.mark.report("A8", "erlang/otp#1287")
@pytest.mark.parametrize(
    ("strategy", "first", "second", "doubtful"),
    [
        ("one_for_one", 6.0, 6.0, []),
        ("rest_for_one", 6.0, 5.0, []),  # nobody before it takes the first one along
        ("rest_for_one", 5.0, 6.0, ["b"]),
        ("one_for_all", 6.0, 6.0, ["a", "b"]),
    ],
)
def test_shutdown_longer_than_the_window_keeps_the_limit_from_being_reached(
    strategy: str, first: float, second: float, doubtful: list[str]
) -> None:
    a, b = worker("t/a", shutdown=first), worker("t/b", shutdown=second)
    found = doubts(keeper("t", a, b, strategy=strategy, max_seconds=5.0), LONG)
    assert [finding.text.partition(" ")[0] for finding in found] == doubtful
    assert all("never reach the limit" in finding.text for finding in found)


def test_temporary_sibling_takes_nobody_along() -> None:
    a, b = worker("t/a", restart="temporary"), worker("t/b", shutdown=6.0)
    assert about(keeper("t", a, b, strategy="rest_for_one")) == []


@pytest.mark.report("A8", "erlang/otp#1287")
def test_start_timeout_longer_than_the_window_would_be_tried_for_ever() -> None:
    (finding,) = doubts(keeper("t", worker("t/a", start_timeout=6.0), worker("t/b", start_timeout=5.0)), LONG)
    assert finding.text.startswith("a may take 6 s to fail to start, longer than the window of 5 s")


@pytest.mark.parametrize(
    ("backoff", "limit", "is_doubtful"),
    [
        (Backoff(), None, True),  # 1 + 2 + 4 s on average, and 5 s
        (Backoff(first=0.1, most=1.0), None, False),
        (Backoff(first=0.1, factor=50.0, most=1_000.0), None, True),
        (Backoff(), Limit(3, 60.0), False),
        (Backoff(), Limit(1_440, 86_400.0), False),
        (Backoff(jitter=0.0), Limit(1_440, 86_000.0), True),
        (Backoff(), Limit(0, 0.1), False),
    ],
)
def test_pauses_that_outgrow_the_window(backoff: Backoff, limit: Limit | None, *, is_doubtful: bool) -> None:
    found = doubts(keeper("t", worker("t/a", backoff=backoff, limit=limit)), LONG)
    assert [finding.text.startswith("a pauses so long") for finding in found] == [True] * is_doubtful


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"restart": "transient"}, "so it is left stopped; a permanent one"),
        ({"restart": "temporary"}, "so it is forgotten; a permanent one"),
        ({"restart": "transient", "significant": True}, "left stopped, and ends the supervisor above it;"),
    ],
)
def test_supervisor_that_stays_down_when_it_gave_up(options: dict[str, Any], said: str) -> None:
    """Case 141."""
    flags = {"auto_shutdown": "any_significant"} if "significant" in options else {}
    (finding,) = doubts(keeper("t", keeper("t/in", **options), **flags), LONG)
    assert finding.path == "t/in"
    assert said in finding.text


def test_supervisor_with_an_end_to_its_patience() -> None:
    assert about(keeper("t", keeper("t/in", shutdown=10.0))) == [("t/in", "shutdown=10.0")]


def test_auto_shutdown_without_a_significant_child() -> None:
    assert about(keeper("t", worker("t/a"), auto_shutdown="any_significant")) == [
        ("t", "auto_shutdown='any_significant', but no child is significant")
    ]
