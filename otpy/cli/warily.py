"""What a program has sent, of which nothing is trusted: each look at it gives something of the kind that is wanted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["items", "mapping", "mappings", "number", "shown", "whole"]


def mapping(sent: object) -> dict[str, Any]:
    """A map; an empty one for what is none."""
    return sent if isinstance(sent, dict) else {}


def items(sent: object) -> list[Any]:
    """A list, in which may be anything; an empty one for what is none."""
    return sent if isinstance(sent, list) else []


def mappings(sent: object) -> list[Mapping[str, Any]]:
    """The maps of a list; all else in it is passed over."""
    return [one for one in items(sent) if isinstance(one, dict)]


def number(sent: object) -> float:
    """A number; 0 for what is none."""
    return float(sent) if isinstance(sent, int | float) else 0.0


def whole(sent: object) -> int:
    """A whole number; 0 for what is none, and for what no whole number is like, as infinity."""
    found = number(sent)
    return int(found) if math.isfinite(found) else 0


def shown(sent: object, limit: int = 60) -> str:
    """As text, cut after so many characters and without what a terminal would obey; empty for what is not there."""
    return "" if sent is None else visible(str(sent), limit)
