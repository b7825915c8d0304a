"""What a program is called when nobody gives it a name."""

from __future__ import annotations

import re

__all__ = ["snake"]


def snake(name: str) -> str:
    """What a program is called after its tree: the id in lower case, with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
