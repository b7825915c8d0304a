"""What a hub keeps of one agent, and which of its lives it is in: as little as will do, for there are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.fleet.labels import NEVER, SILENT

if TYPE_CHECKING:
    from otpy.fleet.labels import LabelSet

__all__ = ["NOWHERE", "Agent", "Lives"]

NOWHERE = -1
"""It is in no bucket: nothing is to happen to it by itself."""
MANY = 4
"""Earlier lives of an agent that are remembered."""


class Agent:
    """One agent."""

    __slots__ = (
        "bucket",
        "figure_names",
        "figures",
        "heard",
        "incarnation",
        "is_expected",
        "name",
        "period",
        "sequence",
        "set",
        "since",
        "skew",
        "standing",
        "started",
        "why",
    )

    def __init__(self, name: str, labels: LabelSet, period: float, now: float) -> None:
        """It was never heard."""
        self.name, self.set, self.period = name, labels, period
        self.standing: int = NEVER
        self.since = self.heard = now
        """Since when it stands as it does, and when it was heard last."""
        self.why: str | None = None
        self.incarnation: str | None = None
        self.sequence: int | None = None
        self.started: int | None = None
        self.skew: float | None = None
        """Seconds that its clock is behind the hub's, with what the beat has taken on its way."""
        self.figure_names: tuple[str, ...] = ()
        self.figures: tuple[float, ...] = ()
        self.is_expected = False
        self.bucket = NOWHERE


class Lives:
    """What is known of the earlier lives of one agent; only those that have been restarted have one.

    Incarnations are told apart by their ids alone. Which of two is the later one a clock cannot say for sure: it may
    have been set back in between. So one that says it began earlier, or was taken for over, has to go on beating while
    the other does not. Beats that were merely late on their way do not: they come one after the other, or all at once.
    """

    __slots__ = ("fenced", "past", "pretender", "restarts")

    def __init__(self) -> None:
        """There was none."""
        self.past: dict[str, None] = {}
        self.fenced = 0
        """Beats of earlier ones that came, and were passed over."""
        self.restarts = 0
        self.pretender: tuple[str, float] | None = None
        """An incarnation that may be the one that lives, and since when it is heard without the other."""

    def succeeds(self, agent: Agent, incarnation: str, started: int | None, now: float) -> bool:
        """Whether that is a new life of the agent's, or the one that goes on."""
        was_over = incarnation in self.past
        is_older = started is not None and agent.started is not None and started < agent.started
        if not (was_over or is_older):
            return True
        if self.pretender is None or self.pretender[0] != incarnation or agent.heard > self.pretender[1]:
            self.pretender = incarnation, now
            return False
        goes_on = now - self.pretender[1] >= agent.period / 2
        return goes_on and (agent.standing >= SILENT or not was_over)

    def begin(self, agent: Agent, incarnation: str) -> None:
        """It does, and that which was is over."""
        self.restarts += 1
        self.pretender = None
        self.past.pop(incarnation, None)
        if agent.incarnation is not None:
            self.past[agent.incarnation] = None
            while len(self.past) > MANY:
                del self.past[next(iter(self.past))]
