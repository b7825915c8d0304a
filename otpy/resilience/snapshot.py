"""What a breaker's actor publishes, and how a caller decides by it in its own thread. Pure: no lock, no clock read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["EXCLUDED", "FAILED", "OK", "SLOW", "UNKEPT", "Outcome", "Probe", "Snapshot", "State", "decide"]

State = Literal["closed", "open", "half_open", "forced_open", "forced_closed", "unkept"]
Outcome = Literal[0, 1, 2, 3]

OK: Final = 0
FAILED: Final = 1
SLOW: Final = 2
EXCLUDED: Final = 3
"""It says nothing about the service: counts as neither, and gives a probe's permit back."""


class Probe:
    """The permit for one call after a cool-down. Whoever takes it out of its snapshot's list, which one can, has it."""

    __slots__ = ("generation", "holder")

    counts = True

    def __init__(self, generation: int) -> None:
        """Made by the breaker's actor, which so knows of each, also of one that is taken and then lost."""
        self.generation = generation
        self.holder: Ref[Any] | None = None
        """The actor that makes the call, once it has said so."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a breaker stands; replaced as a whole at each change, so any thread may read it at any time."""

    state: State
    generation: int = 0
    """Which phase of its life this is: a report from another one is ignored."""
    until: float = 0.0
    """On the system's clock: when an open one lets probes through."""
    probes: list[Probe] = field(default_factory=list, compare=False)
    """The permits that nobody has taken. A list, for `pop` gives each to one caller only, with and without a GIL."""
    passes: bool = False
    """Whether all calls go through, without a permit."""
    counts: bool = False
    """Whether what becomes of those is of any interest."""


UNKEPT: Final = Snapshot("unkept")
"""No actor keeps the breaker: calls go through, and nothing is counted."""


def decide(snapshot: Snapshot, now: float) -> Probe | float | None:
    """Whether a call may begin, where not all do: the probe it is, or in how many seconds to ask again.

    None is for as long as somebody wants it. Rejections leave no trace: they move no timer.
    """
    if snapshot.state == "forced_open":
        return None
    if now < snapshot.until:
        return snapshot.until - now
    try:
        return snapshot.probes.pop()
    except IndexError:
        return 0.0
