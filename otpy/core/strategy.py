"""Supervision strategies as pure functions: what an exit means, and whom a restart takes along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeVar, assert_never

from otpy.core.reason import Reason, is_clean

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AutoShutdown", "Restart", "Strategy", "Verdict", "affected", "ends_supervisor", "verdict"]

Strategy = Literal["one_for_one", "one_for_all", "rest_for_one"]
Restart = Literal["permanent", "transient", "temporary"]
AutoShutdown = Literal["never", "any_significant", "all_significant"]
Verdict = Literal["restart", "keep", "forget"]

C = TypeVar("C")


def verdict(restart: Restart, reason: Reason) -> Verdict:
    """What a supervisor does about a child's exit: start it again, keep its spec without a process, or forget it.

    OTP: supervisor:do_restart/3.
    """
    match restart:
        case "permanent":
            return "restart"
        case "transient":
            return "keep" if is_clean(reason) else "restart"
        case "temporary":
            return "forget"
        case _:
            assert_never(restart)


def affected(strategy: Strategy, children: Sequence[C], index: int) -> Sequence[C]:
    """The children, in start order, that are stopped (from the last to the first) and started again with one of them.

    OTP: supervisor:restart/3.
    """
    match strategy:
        case "one_for_one":
            return children[index : index + 1]
        case "rest_for_one":
            return children[index:]
        case "one_for_all":
            return children
        case _:
            assert_never(strategy)


def ends_supervisor(auto_shutdown: AutoShutdown, *, significant_left: int) -> bool:
    """Whether the end of a significant child by itself ends its supervisor. OTP: supervisor:do_auto_shutdown/2."""
    match auto_shutdown:
        case "never":
            return False
        case "any_significant":
            return True
        case "all_significant":
            return significant_left == 0
        case _:
            assert_never(auto_shutdown)
