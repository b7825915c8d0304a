"""What is foretold of an end, as tables; tests/app/test_foretold.py compares it with what really happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.core.backoff import Backoff
from otpy.core.consequences import Threshold, foretell, thresholds
from otpy.core.intensity import Limit
from otpy.errors import UnforeseeableError
from support.parts import keeper, worker

if TYPE_CHECKING:
    from otpy.core.part import Part


def abc(strategy: str = "one_for_one", **options: object) -> Part:
    b = worker("t/b", **options)
    return keeper("t", worker("t/a"), b, worker("t/c"), strategy=strategy)


def told(root: Part, path: str = "t/b", end: str = "crash", times: int = 1) -> list[str]:
    """Each round as a line."""
    rounds = foretell(root, path, end, times)  # type: ignore[arg-type]
    return [
        " ".join(f"{step.kind}:{step.path}" + f"={step.code}" * (step.code is not None) for step in each.steps)
        for each in rounds
    ]


@pytest.mark.parametrize(
    ("strategy", "said", "untouched"),
    [
        ("one_for_one", "started:t/b", ("t", "t/a", "t/c")),
        ("rest_for_one", "stopped:t/c started:t/b started:t/c", ("t", "t/a")),
        ("one_for_all", "stopped:t/c stopped:t/a started:t/a started:t/b started:t/c", ("t",)),
    ],
)
def test_a_strategy_says_who_is_taken_along(strategy: str, said: str, untouched: tuple[str, ...]) -> None:
    (only,) = foretell(abc(strategy), "t/b")
    assert told(abc(strategy)) == [f"ended:t/b {said}"]
    assert only.untouched == untouched


@pytest.mark.parametrize(
    ("restart", "end", "said"),
    [
        ("permanent", "normal", "started:t/b"),
        ("transient", "normal", "stays:t/b"),
        ("transient", "shutdown", "stays:t/b"),
        ("transient", "kill", "started:t/b"),
        ("temporary", "crash", "forgotten:t/b"),
    ],
)
def test_a_restart_type_says_what_becomes_of_it(restart: str, end: str, said: str) -> None:
    assert told(abc(restart=restart), end=end, times=3)[0] == f"ended:t/b {said}"
    assert len(told(abc(restart=restart), end=end, times=3)) == (3 if said == "started:t/b" else 1)


def test_one_restart_too_many_ends_the_program() -> None:
    rounds = told(abc(), times=9)
    assert rounds[:3] == ["ended:t/b started:t/b"] * 3
    assert rounds[3:] == ["ended:t/b stopped:t/c stopped:t/a gives_up:t exit:t=70"]
    assert thresholds(abc(), "t/b") == [Threshold(4, "t", 3, 5.0, "exit", 70)]


@pytest.mark.otp_case(136, 140)
def test_limits_multiply_upwards() -> None:
    inner = keeper("t/in", worker("t/in/a"), worker("t/in/b"), max_restarts=2)
    root = keeper("t", worker("t/x"), inner, max_restarts=2)
    rounds = told(root, "t/in/a", times=99)
    assert len(rounds) == 9
    again = "started:t/in/a started:t/in/b started:t/in"
    assert rounds[2] == rounds[5] == f"ended:t/in/a stopped:t/in/b gives_up:t/in {again}"
    assert rounds[8] == "ended:t/in/a stopped:t/in/b gives_up:t/in stopped:t/x gives_up:t exit:t=70"
    assert thresholds(root, "t/in/a") == [
        Threshold(3, "t/in", 2, 5.0, "restarted"),
        Threshold(9, "t", 2, 5.0, "exit", 70),
    ]


@pytest.mark.otp_case(141)
def test_transient_supervisor_stays_down_when_it_has_given_up() -> None:
    root = keeper("t", keeper("t/in", worker("t/in/a"), max_restarts=0, restart="transient"))
    assert told(root, "t/in/a") == ["ended:t/in/a gives_up:t/in stays:t/in"]
    assert thresholds(root, "t/in/a") == [Threshold(1, "t/in", 0, 5.0, "stays")]


@pytest.mark.otp_case(144, 145)
def test_end_of_a_significant_child_ends_its_supervisor_cleanly() -> None:
    own = {"restart": "transient", "significant": True}
    root = keeper("t", worker("t/a"), worker("t/b", **own), auto_shutdown="any_significant")
    assert told(root, end="normal") == ["ended:t/b stays:t/b stopped:t/a ended:t exit:t=0"]
    root = keeper("t", worker("t/a", **own), worker("t/b", **own), auto_shutdown="all_significant")
    assert told(root, end="normal") == ["ended:t/b stays:t/b"]


def test_supervisor_that_is_killed_takes_all_below_along() -> None:
    inner = keeper("t/in", worker("t/in/a"), keeper("t/in/b", worker("t/in/b/c")))
    root = keeper("t", inner, worker("t/x"))
    follow = "stopped:t/in/b/c follows:t/in/b follows:t/in/a"
    begun = "started:t/in/a started:t/in/b/c started:t/in/b started:t/in"
    assert told(root, "t/in", "kill") == [f"ended:t/in {follow} {begun}"]


@pytest.mark.parametrize(("end", "code"), [("crash", 70), ("kill", 70), ("normal", 0), ("shutdown", 0)])
def test_end_of_the_root_is_that_of_the_program(end: str, code: int) -> None:
    assert told(worker("t"), "t", end) == [f"ended:t exit:t={code}"]
    assert thresholds(worker("t"), "t") == []


def test_back_off_and_own_limit_are_foretold() -> None:
    root = abc("rest_for_one", backoff=Backoff(), limit=Limit(1, 60.0))
    assert told(root, times=9) == [
        "ended:t/b stopped:t/c waits:t/b started:t/b started:t/c",
        "ended:t/b stopped:t/c waits:t/b given_up:t/b started:t/c",
    ]
    assert thresholds(root, "t/b") == [Threshold(2, "t/b", 1, 60.0, "given_up")]
    root = abc(limit=Limit(0, 60.0, then="escalate"))
    assert told(root) == ["ended:t/b stopped:t/c stopped:t/a gives_up:t exit:t=70"]


def test_child_of_a_dynamic_supervisor_has_any_number() -> None:
    root = keeper("t", worker("t/a"), keeper("t/d", worker("t/d/*"), dynamic=True, max_restarts=1), max_restarts=1)
    assert told(root, "t/d/17", times=9) == ["ended:t/d/17 started:t/d/17", "ended:t/d/17 gives_up:t/d started:t/d"]
    assert told(root, "t/d/*") == ["ended:t/d/* started:t/d/*"]
    nested = keeper("t", keeper("t/d", keeper("t/d/*", worker("t/d/*/x")), dynamic=True))
    assert told(nested, "t/d/2/x") == ["ended:t/d/2/x started:t/d/2/x"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("x/a", "no part 'x/a': paths here begin with 't'"),
        ("t/z", "t has no child 'z': it has a, b, c"),
        ("t/a/b", "t/a has no child 'b': it has no children"),
    ],
)
def test_path_that_leads_nowhere_is_told(path: str, said: str) -> None:
    with pytest.raises(UnforeseeableError) as caught:
        foretell(abc(), path)
    assert str(caught.value) == said
