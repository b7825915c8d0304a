"""'Did you mean': the one place that guesses what a misspelt word was meant to be."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "listing", "nearest"]

MAX_LETTERS = 200
"""Of a word that is compared: a longer one is no slip of the fingers, and comparing costs time."""
MAX_LISTED = 20
"""Known words that are named when none is near."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A half sentence that names the nearest known word, or all of them when none is near."""
    choices = sorted(known)
    if not choices:
        return "there is none"
    near = nearest(word, choices)
    return f"known are {listing(choices)}" if near is None else f"did you mean {near!r}?"


def nearest(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """The known word that is nearest, or None when none is near; `cutoff` is difflib's."""
    from difflib import get_close_matches  # noqa: PLC0415 - for those who misspell

    near = get_close_matches(word[:MAX_LETTERS], known, n=1, cutoff=cutoff)
    return near[0] if near else None


def listing(words: Sequence[str]) -> str:
    """The words in a half sentence; of very many the first."""
    more = len(words) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
