"""What stands for a value that was not given, where None is one that may be."""

from __future__ import annotations

from enum import Enum
from typing import Final

__all__ = ["ABSENT", "Absent"]


class Absent(Enum):
    """Has one member, which stays itself in a copy and in a pickle: `is` tells it from everything else."""

    ABSENT = "absent"
    """Nothing was given."""

    def __repr__(self) -> str:
        """As help shows it, for a default."""
        return "<not given>"


ABSENT: Final = Absent.ABSENT
"""Its short name."""
