"""'Did you mean': the one place that guesses what a misspelt word was meant to be."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A half sentence that names the nearest known word, or all of them when none is near."""
    choices = sorted(known)
    near = get_close_matches(word, choices, n=1)
    return f"did you mean {near[0]!r}?" if near else f"known are {', '.join(choices)}"
