"""Strategy as tables: what an exit means, whom a restart takes along, when significant ends are ends of all."""

from __future__ import annotations

import pytest

from otpy.core.reason import (
    BadReturn,
    Crashed,
    Exit,
    Kill,
    Killed,
    NoProc,
    Normal,
    Reason,
    Shutdown,
    TimedOut,
    is_clean,
)
from otpy.core.strategy import affected, ends_supervisor, verdict

CLEAN = [Normal(), Shutdown(), Shutdown("z")]
ABNORMAL = [Exit("boom"), Crashed("ValueError", "no"), Killed(), Kill(), NoProc(), TimedOut(), BadReturn("oops")]
ABCD = ["a", "b", "c", "d"]


@pytest.mark.parametrize("reason", CLEAN, ids=str)
def test_normal_and_shutdown_are_clean(reason: Reason) -> None:
    """Semantics 1.2."""
    assert is_clean(reason)


@pytest.mark.parametrize("reason", ABNORMAL, ids=str)
def test_all_other_reasons_are_abnormal(reason: Reason) -> None:
    """Semantics 1.2."""
    assert not is_clean(reason)


@pytest.mark.otp_case(97)
@pytest.mark.parametrize("reason", [*CLEAN, *ABNORMAL], ids=str)
@pytest.mark.report("A35", "akkadotnet/akka.net#5945")
def test_permanent_child_is_restarted_whatever_its_reason(reason: Reason) -> None:
    assert verdict("permanent", reason) == "restart"


@pytest.mark.otp_case(98)
@pytest.mark.parametrize("reason", CLEAN, ids=str)
def test_transient_child_is_kept_without_a_process_after_a_clean_end(reason: Reason) -> None:
    assert verdict("transient", reason) == "keep"


@pytest.mark.parametrize("reason", ABNORMAL, ids=str)
def test_transient_child_is_restarted_after_an_abnormal_end(reason: Reason) -> None:
    """Semantics 7.3."""
    assert verdict("transient", reason) == "restart"


@pytest.mark.otp_case(100)
@pytest.mark.parametrize("reason", [*CLEAN, *ABNORMAL], ids=str)
def test_temporary_child_is_forgotten_whatever_its_reason(reason: Reason) -> None:
    assert verdict("temporary", reason) == "forget"


@pytest.mark.otp_case(104, 105, 106)
@pytest.mark.parametrize(
    ("strategy", "ended", "group"),
    [
        ("one_for_one", "a", ["a"]),
        ("one_for_one", "c", ["c"]),
        ("rest_for_one", "a", ["a", "b", "c", "d"]),
        ("rest_for_one", "b", ["b", "c", "d"]),
        ("rest_for_one", "d", ["d"]),
        ("one_for_all", "a", ["a", "b", "c", "d"]),
        ("one_for_all", "d", ["a", "b", "c", "d"]),
    ],
)
def test_a_restart_takes_along_whom_its_strategy_says(strategy: str, ended: str, group: list[str]) -> None:
    """Semantics 7.4."""
    assert list(affected(strategy, ABCD, ABCD.index(ended))) == group  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("auto_shutdown", "left", "ends"),
    [
        ("never", 0, False),
        ("never", 3, False),
        ("any_significant", 0, True),
        ("any_significant", 3, True),
        ("all_significant", 1, False),
        ("all_significant", 0, True),
    ],
)
def test_the_end_of_significant_children_ends_the_supervisor_as_set(
    auto_shutdown: str, left: int, *, ends: bool
) -> None:
    """Semantics 7.8."""
    assert ends_supervisor(auto_shutdown, significant_left=left) is ends  # type: ignore[arg-type]
