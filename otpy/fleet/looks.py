"""What is told of a fleet: frozen values, and how they are read from the books."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Literal, get_args

from otpy.core.value import value
from otpy.fleet.labels import AWOL, DEGRADED, DRAINING, GONE, LOST, NEVER, NORMAL, SILENT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from otpy.fleet.books import Agent, Lives
    from otpy.fleet.labels import Group

__all__ = [
    "STATES",
    "AgentLook",
    "AgentState",
    "FleetLook",
    "GroupLook",
    "agent_look",
    "group_look",
    "longest",
    "picked",
]

AgentState = Literal["alive", "degraded", "draining", "silent", "dead", "never_seen"]
STATES: tuple[AgentState, ...] = get_args(AgentState)
WORDS: dict[int, AgentState] = {
    NORMAL: "alive",
    DEGRADED: "degraded",
    DRAINING: "draining",
    SILENT: "silent",
    LOST: "dead",
    GONE: "dead",
    AWOL: "dead",
    NEVER: "never_seen",
}
MEANT: dict[AgentState, frozenset[int]] = {
    "alive": frozenset({NORMAL, DEGRADED, DRAINING}),
    "degraded": frozenset({DEGRADED}),
    "draining": frozenset({DRAINING}),
    "silent": frozenset({SILENT}),
    "dead": frozenset({LOST, GONE, AWOL}),
    "never_seen": frozenset({NEVER}),
}


@value(kw_only=True)
class AgentLook:
    """How one agent stands: `fleet.agent(name)`, `fleet.agents()`."""

    name: str
    """Who it is."""
    state: AgentState
    """`alive` and well; `degraded` and `draining` are alive, too; `silent`, `dead`, `never_seen`."""
    since: float
    """For how many seconds."""
    heard: float | None
    """Seconds since its last beat; None: it was never heard."""
    why: str | None
    """What it said of itself, or why it is dead."""
    labels: Mapping[str, str]
    """What it belongs to."""
    figures: Mapping[str, float]
    """The numbers of its last beat."""
    incarnation: str | None
    """Which of its lives that was, if it says so."""
    restarts: int
    """How many lives have followed others since the hub knows it."""
    fenced: int
    """Beats of earlier lives that came late; more and more of them: two programs have this name."""
    skew: float | None
    """Seconds that its clock is behind the hub's, with the time its last beat took; negative: ahead. Nothing is decided
    by it."""
    period: float
    """Seconds between its beats, as it has announced."""
    is_expected: bool
    """Whether it is expected by name."""


@value(kw_only=True)
class GroupLook:
    """How the agents with one value of a label stand: `fleet.groups("region")`."""

    label: str | None
    """By which label; None: it is the whole fleet."""
    value: str | None
    """The value that they have."""
    alive: int
    """Those that are, degraded and draining ones too."""
    degraded: int
    """Those of them that say so of themselves."""
    draining: int
    """Those of them that are about to end."""
    silent: int
    """Missed for longer than their beats allow."""
    dead: int
    """Silent for too long, or gone after a goodbye."""
    gone: int
    """Those of the dead that have said goodbye."""
    never_seen: int
    """Expected, and not heard yet."""
    share: float
    """The part that is alive, of those that should be."""
    wanted: int
    """How many those are: all but such as said goodbye and are not expected."""
    is_short: bool
    """Whether it was told that they are too few, and they still are."""
    oldest_silence: float | None
    """Seconds since the one was heard that is silent the longest; None: nobody is."""


@value(kw_only=True)
class FleetLook:
    """How a whole fleet stands: `fleet.look()`."""

    whole: GroupLook
    """All agents."""
    labels: tuple[str, ...]
    """The names of their labels."""
    beats: int
    """Taken, since it was made."""
    late: int
    """Passed over: later ones of the same incarnation had come before."""
    fenced: int
    """Passed over: they were of an earlier incarnation."""
    refused: int
    """Of agents for which there was no room."""
    malformed: int
    """That could not be read."""
    forgotten: int
    """Dead agents that are not in the books any more."""
    grace: float
    """Seconds in which no share is judged yet, for the hub has just begun or come back."""
    is_deaf: bool
    """Whether nobody at all is heard; then nobody is declared dead."""
    is_storm: bool
    """Whether more agents arrive than should."""


def agent_look(agent: Agent, lives: Lives | None, now: float) -> AgentLook:
    """One agent as it stands."""
    standing = agent.standing
    return AgentLook(
        name=agent.name,
        state=WORDS[standing],
        since=max(0.0, now - agent.since),
        heard=None if standing == NEVER else max(0.0, now - agent.heard),
        why=agent.why,
        labels=dict(agent.set.labels),
        figures=dict(zip(agent.figure_names, agent.figures, strict=False)),
        incarnation=agent.incarnation,
        restarts=0 if lives is None else lives.restarts,
        fenced=0 if lives is None else lives.fenced,
        skew=agent.skew,
        period=agent.period,
        is_expected=agent.is_expected,
    )


def group_look(group: Group, oldest: float | None, now: float) -> GroupLook:
    """One group; `oldest` is when the one was heard that is silent the longest."""
    numbers = group.numbers
    return GroupLook(
        label=group.label,
        value=group.value,
        alive=group.alive,
        degraded=numbers[DEGRADED],
        draining=numbers[DRAINING],
        silent=numbers[SILENT],
        dead=numbers[LOST] + numbers[GONE] + numbers[AWOL],
        gone=numbers[GONE] + numbers[AWOL],
        never_seen=group.never,
        share=group.share,
        wanted=group.wanted,
        is_short=group.told is not None,
        oldest_silence=None if oldest is None else max(0.0, now - oldest),
    )


def longest(agents: Iterable[Agent]) -> dict[Group, float]:
    """When the one of each group was heard that is silent the longest."""
    found: dict[Group, float] = {}
    for agent in agents:
        if agent.standing == SILENT:
            for group in agent.set.groups:
                found[group] = min(agent.heard, found.get(group, agent.heard))
    return found


def picked(
    agents: Collection[Agent], state: AgentState | None, labels: Mapping[str, str], limit: int, *, oldest: bool
) -> list[Agent]:
    """Those in a state, with these labels: at most so many, those heard last the longest ago first, or by name."""
    fitting = _fitting(agents, None if state is None else MEANT[state], labels.items())
    if oldest:
        return heapq.nsmallest(limit, fitting, key=lambda agent: (agent.heard, agent.name))
    return heapq.nsmallest(limit, fitting, key=lambda agent: agent.name)


def _fitting(
    agents: Iterable[Agent], standings: frozenset[int] | None, pairs: Collection[tuple[str, str]]
) -> Iterator[Agent]:
    for agent in agents:
        if (standings is None or agent.standing in standings) and (not pairs or pairs <= agent.set.key):  # type: ignore[operator]
            yield agent
