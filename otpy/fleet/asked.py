"""What is asked of a `FleetView`, by any thread: how the fleet stands, its groups, its agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr
from otpy.fleet.looks import STATES, FleetLook, agent_look, group_look, longest, picked

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from otpy.fleet.books import Agent
    from otpy.fleet.ledger import Ledger
    from otpy.fleet.looks import AgentLook, AgentState, GroupLook
    from otpy.fleet.plan import Plan

__all__ = ["Asked"]

DOUBLED = 10
"""Beats of earlier lives that are more than late ones."""
LIMIT = 100
"""Agents in one answer unless somebody wants more."""


class Asked:
    """The half of a `FleetView` that changes nothing."""

    plan: Plan
    _ledger: Ledger
    _lock: threading.Lock
    _now: Callable[[], float] | None

    def look(self) -> FleetLook:
        """How the fleet stands now. Any thread may ask; it asks no actor. Looks once at each agent."""
        now, agents = self._copied()
        oldest = longest(agents)
        with self._lock:
            ledger = self._ledger
            whole = ledger.labels.whole
            return FleetLook(
                whole=group_look(whole, oldest.get(whole), now),
                labels=tuple(ledger.labels.names()),
                beats=ledger.beats,
                late=ledger.late,
                fenced=ledger.fenced,
                refused=ledger.refused,
                malformed=ledger.malformed,
                forgotten=ledger.forgotten,
                grace=max(0.0, ledger.judged_from - now),
                is_deaf=ledger.deaf_since is not None,
                is_storm=ledger.storm.is_on,
            )

    def groups(self, label: str) -> list[GroupLook]:
        """The fleet by the values of a label, those with the smallest share first. Looks once at each agent."""
        now, agents = self._copied()
        oldest = longest(agents)
        with self._lock:
            found = [group_look(group, oldest.get(group), now) for group in self._ledger.labels.named(label)]
        return sorted(found, key=lambda group: (group.share, group.value or ""))

    def agents(
        self, state: AgentState | None = None, *, labels: Mapping[str, str] | None = None, limit: int = LIMIT
    ) -> list[AgentLook]:
        """Agents by name, at most so many: all, or those in a state, with these labels. Looks once at each agent.

        `alive` has the degraded and the draining ones, too.
        """
        return self._looks(_state(state), labels or {}, limit, oldest=False)

    def silences(self, limit: int = LIMIT) -> list[AgentLook]:
        """Those that are silent, the longest first."""
        return self._looks("silent", {}, limit, oldest=True)

    def agent(self, name: str) -> AgentLook | None:
        """One agent; None: nobody knows it."""
        with self._lock:
            found, now = self._ledger.agents.get(name), self._time()
            return None if found is None else agent_look(found, self._ledger.lives.get(name), now)

    # What its actor, and who looks from outside, ask.

    @property
    def watched(self) -> set[str]:
        """The labels whose groups are judged."""
        return {watch.label for watch in self.plan.watches if watch.label is not None}

    def is_full(self) -> bool:
        """Whether agents are refused."""
        return self._ledger.is_full

    def doubled(self, limit: int) -> list[str]:
        """Names that two programs seem to have."""
        with self._lock:
            found = [name for name, lives in self._ledger.lives.items() if lives.fenced >= DOUBLED]
        return sorted(found)[:limit]

    def words(self) -> str:
        """How it stands, in short."""
        whole = self._ledger.labels.whole
        look = group_look(whole, None, 0.0)
        words = [f"{look.alive} alive", f"{look.silent} silent", f"{look.dead} dead", f"{look.never_seen} never seen"]
        words += [f"{n} {word}" for n, word in ((look.degraded, "degraded"), (look.draining, "draining")) if n]
        return ", ".join(words) + (", hears nobody" if self._ledger.deaf_since is not None else "")

    # How it is done.

    def _time(self) -> float:
        return 0.0 if self._now is None else self._now()

    def _copied(self) -> tuple[float, list[Agent]]:
        """The agents, to be looked at without the lock: beats go on meanwhile."""
        with self._lock:
            return self._time(), list(self._ledger.agents.values())

    def _looks(
        self, state: AgentState | None, labels: Mapping[str, str], limit: int, *, oldest: bool
    ) -> list[AgentLook]:
        now, agents = self._copied()
        lives = self._ledger.lives
        return [
            agent_look(agent, lives.get(agent.name), now)
            for agent in picked(agents, state, labels, limit, oldest=oldest)
        ]


def _state(state: AgentState | None) -> AgentState | None:
    if state is not None and state not in STATES:
        text = f"no state {safe_repr(state)}: {did_you_mean(str(state)[:40], STATES)}"
        raise ValueError(text)
    return state
