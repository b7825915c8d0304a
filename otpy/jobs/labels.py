"""Labels: what an agent has, and what a job needs of it, as the store writes them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.text import safe_repr

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["label_problem", "subsets", "written"]

MOST = 10
"""Labels of one crew: a claim names each set of them that a job may need, which are a thousand then."""


def written(labels: Iterable[str]) -> str:
    """Those that a job needs: two jobs that need the same have the same text."""
    return ",".join(sorted(set(labels)))


def subsets(labels: Iterable[str]) -> tuple[str, ...]:
    """All that jobs may need which an agent with these labels can do, each as `written`; an empty one is among them."""
    found = [""]
    for label in sorted(set(labels)):
        found += [f"{one},{label}" if one else label for one in found]
    return tuple(found)


def label_problem(name: str, labels: object) -> str | None:
    """Why these are no labels, and the mend; None when they are.

    Args:
        name: of the option.
        labels: its value. A text would be taken letter by letter.
    """
    if not isinstance(labels, set | frozenset | tuple | list):
        return f"{name}={safe_repr(labels)}: a set of texts"
    for label in labels:
        if not isinstance(label, str) or not label or "," in label:
            return f"{name}: {safe_repr(label)}: a text without commas"
    return None if len(set(labels)) <= MOST else f"{name}: {len(set(labels))} labels, more than {MOST}"
