"""Children on trial: somebody has started them anew to see how they do, and one that ends is left stopped.

Else a bad one would be started again and again, pass its supervisor's limit, and take all others along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Trial", "has_failed"]


@dataclass(slots=True)
class Trial:
    """Of the child at one path; `system.trials` has them."""

    judge: Ref[Any]
    """Who judges it; when that has ended, it is a child like any other."""
    number: int = 0
    """Which incarnation; 0 is the next one, before anybody knows."""
    is_lost: bool = False
    """Whether this one has been judged: what its judge does then changes nothing for it."""


def has_failed(system: System, ref: Ref[Any]) -> bool:
    """Whether a child that has ended was on trial; in its supervisor's turn, and true once."""
    trial: Trial | None = system.trials.get(ref.path) if system.trials else None
    if trial is None or trial.number not in (0, ref.number) or not (trial.is_lost or trial.judge.reason is None):
        return False
    system.trials.pop(ref.path, None)
    return True
