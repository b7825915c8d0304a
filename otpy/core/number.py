"""What counts as a number where somebody may have written anything."""

from __future__ import annotations

from typing import TypeGuard

__all__ = ["is_number"]


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is an int or float to compute with: no bool, no nan, and no int that no float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return float(value) == value  # not so for nan
    except OverflowError:
        return False
