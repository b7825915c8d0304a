"""Plays a scenario on both sides and shows where they part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from .beam import Beam
    from .model import Report, Scenario

__all__ = ["DifferentError", "compare"]

PARTS = ("result", "events", "deaths", "replies")
WIDTH = 68


class DifferentError(AssertionError):
    """OTP and otpy do not do the same."""


def compare(scenario: Scenario, beam: Beam, play: Callable[[Scenario], list[Report]]) -> None:
    """Play it on both sides. Raises DifferentError, with both traces side by side."""
    there, here = beam.play(scenario), play(scenario)
    if there != here:
        raise DifferentError(f"{scenario.as_json()}\n{side_by_side(scenario, there, here)}")


def side_by_side(scenario: Scenario, there: list[Report], here: list[Report]) -> str:
    """Both traces, step by step; lines that differ have a mark."""
    lines = [f"  {'OTP':<{WIDTH}} otpy"]
    for step, left, right in zip([["start"], *scenario.steps], there, here, strict=True):
        lines.append(f"-- {json.dumps(step)[: 2 * WIDTH]}")
        for part, one, other in zip(PARTS, left, right, strict=True):
            if one or other:
                lines.extend(_pairs(part, one, other))
    return "\n".join(lines)


def _pairs(part: str, one: object, other: object) -> list[str]:
    left, right = _wrapped(part, one), _wrapped(part, other)
    count = max(len(left), len(right))
    rows = zip(left + [""] * (count - len(left)), right + [""] * (count - len(right)), strict=True)
    mark = " " if one == other else "≠"
    return [f"{mark} {a:<{WIDTH}} {b}" for a, b in rows]


def _wrapped(part: str, value: object) -> list[str]:
    text = f"{part}: {json.dumps(value, separators=(',', ':'))}".replace('"', "")
    return [text[start : start + WIDTH] for start in range(0, len(text), WIDTH)]
