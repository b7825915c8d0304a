"""'Did you mean': the one place that guesses what a misspelt word was meant to be."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "listing", "nearest", "nearest_option"]

MAX_LETTERS = 200
"""Of a word that is compared: a longer one is no slip of the fingers, and comparing costs time."""
MAX_REMEMBERED = 1_000
"""Words of programs whose nearest option is kept."""
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
    short = word[:MAX_LETTERS]
    alike = [each for each in known if _by_length(short, each) >= cutoff and _by_letters(short, each) >= cutoff]
    if not alike:
        return None
    from difflib import get_close_matches  # noqa: PLC0415 - for those who misspell

    near = get_close_matches(short, alike, n=1, cutoff=cutoff)
    return near[0] if near else None


@lru_cache(MAX_REMEMBERED)
def nearest_option(word: str, known: tuple[str, ...], cutoff: float) -> str | None:
    """As `nearest`, for words in a program's code: comparing is dear, and the same ones come again and again."""
    return nearest(word, known, cutoff=cutoff)


def _by_length(word: str, other: str) -> float:
    """How near they can be at most: as if the shorter one were a part of the other."""
    return 2 * min(len(word), len(other)) / ((len(word) + len(other)) or 1)


def _by_letters(word: str, other: str) -> float:
    """The same, closer: as if their letters came in the same order."""
    return 2 * (Counter(word) & Counter(other)).total() / ((len(word) + len(other)) or 1)


def listing(words: Sequence[str]) -> str:
    """The words in a half sentence; of very many the first."""
    more = len(words) - MAX_LISTED
    return ", ".join(words[:MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
