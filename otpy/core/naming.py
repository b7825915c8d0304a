"""What a program is called when nobody gives it a name, and what a path says of where it is."""

from __future__ import annotations

import re

__all__ = ["is_below", "snake"]


def snake(name: str) -> str:
    """What a program is called after its tree: the id in lower case, with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def is_below(path: str, top: str) -> bool:
    """Whether a path is another one, or below it."""
    return path == top or path.startswith(f"{top}/")
