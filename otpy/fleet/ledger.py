"""All agents of a hub, and how each stands: a machine without a thread or a clock, used under its handle's lock."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Literal

from otpy.events.fleet import FleetAway, FleetFull
from otpy.fleet.beat import MAX_WHY, check_figures, check_labels, check_name, check_numbers, check_rest
from otpy.fleet.books import NOWHERE, Agent, Lives
from otpy.fleet.errors import FleetFullError
from otpy.fleet.judging import judged
from otpy.fleet.labels import AWOL, DEGRADED, DRAINING, GONE, LOST, NEVER, NORMAL, SILENT, Labels
from otpy.fleet.storm import Storm
from otpy.fleet.wheel import Wheel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from otpy.events.event import Event
    from otpy.fleet.labels import Group
    from otpy.fleet.plan import Plan

__all__ = ["TICK", "Ledger", "Verdict"]

Verdict = Literal["taken", "late", "full", "unkept"]

TICK = 1.0
"""Seconds from one look at the wheel to the next."""
STALL = 5.0
"""A look that comes so many seconds late: the hub itself was away."""
DEAF = 10
"""So many agents are not all dead because none is heard: that is the hub's own line."""
STANDINGS = {"normal": NORMAL, "degraded": DEGRADED, "draining": DRAINING, "gone": GONE}
GOODBYE = "it has said goodbye"


class Ledger:
    """The books; each method is told what time it is."""

    def __init__(self, plan: Plan) -> None:
        """Nobody is known."""
        self.plan = plan
        self.agents: dict[str, Agent] = {}
        self.lives: dict[str, Lives] = {}
        self.labels = Labels(plan.groups)
        self.beats = self.late = self.fenced = self.refused = self.malformed = self.forgotten = 0
        self.watched_from = 0.0
        """From when on silence counts: whoever was silent before has its full time from then."""
        self.judged_from = 0.0
        self.deaf_since: float | None = None
        self.storm = Storm(plan.storm)
        self._watches = {watch.label: watch for watch in plan.watches}
        self._wheel = Wheel()
        self._dead: OrderedDict[str, Agent] = OrderedDict()  # those that may be forgotten, in the order they died
        self._changed: dict[Group, None] = {}  # since they were judged
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}  # of figures, each set once
        self._begun = self._ticked = self._heard = 0.0
        self._told_refused = 0
        self.is_full = False

    # What is said.

    def beat(  # noqa: PLR0917 - as many as a beat has
        self,
        now: float,
        wall: Callable[[], int],
        name: str,
        labels: dict[str, str] | None,
        state: str,
        why: str | None,
        figures: dict[str, float] | None,
        incarnation: str | None,
        sequence: int | None,
        period: float | None,
        at: int | None,
        started: int | None,
    ) -> Verdict:
        """Take a heartbeat in. Raises BeatError."""
        check_rest(state, why, incarnation, sequence, period, at, started)
        agent = self.agents.get(name) if name.__class__ is str else None
        names = () if figures is None else self._names_of(figures)
        if agent is None:
            agent = self._admit(name, {} if labels is None else labels, now)
            if agent is None:
                self.refused += 1
                return "full"
        elif labels is not None and labels != agent.set.labels:
            check_labels(labels)
        if not self._is_news(agent, incarnation, sequence, started, state, now):
            return "late"
        self.beats += 1
        self._heard = agent.heard = now
        agent.sequence = sequence
        agent.why = why if why is None else why[:MAX_WHY]
        agent.skew = None if at is None else (wall() - at) / 1_000
        if labels is not None and labels != agent.set.labels:
            self._label(agent, labels)
        if names or agent.figures:
            agent.figure_names, agent.figures = names, tuple(figures.values()) if figures else ()
        if incarnation is not None and incarnation != agent.incarnation:
            agent.incarnation, agent.started = incarnation, started
        if period is not None and period != agent.period:
            self._pace(agent, period)
        standing = STANDINGS[state]
        if standing != agent.standing:
            self._turn(agent, standing, now)
        return "taken"

    def expect(self, names: Iterable[str], labels: dict[str, str], now: float) -> None:
        """These are to be there. Raises FleetFullError, and BeatError before any of them is."""
        names = list(names)
        check_labels(labels)
        for name in names:
            check_name(name)
        for name in names:
            agent = self.agents.get(name) or self._admit(name, labels, now)
            if agent is None:
                raise FleetFullError(self.plan.name, self.plan.most)
            agent.is_expected = True
            self._dead.pop(name, None)
            if agent.standing == GONE:
                self._stand(agent, AWOL, agent.since)

    def expect_so_many(self, which: tuple[str, str] | None, count: int) -> None:
        """So many of a group, or of all, are to be there, whatever their names. Raises BeatError."""
        check_labels(dict([which] if which else []))
        whole = self.labels.whole
        if which is None:
            whole.expected = count
        else:
            group = self.labels.expect(*which, count)
            self._changed[group] = None
            self.labels.tidy(group)
        self._changed[whole] = None

    def forget(self, name: str) -> bool:
        """Know one no longer; False when nobody did."""
        agent = self.agents.pop(name, None)
        if agent is None:
            return False
        agent.bucket = NOWHERE
        self.lives.pop(name, None)
        self._dead.pop(name, None)
        for group in agent.set.groups:
            group.numbers[agent.standing] -= 1
            self._changed[group] = None
        self.labels.leave(agent.set)
        return True

    # What time does.

    def begin(self, now: float) -> None:
        """Somebody keeps it from now on."""
        self._begun = self._ticked = now
        self._watch_from(now)

    def tick(self, now: float, path: str) -> list[Event]:
        """See who is missed; what is to be told."""
        news: list[Event] = []
        passed, self._ticked = now - self._ticked, now
        if passed >= STALL:
            self._watch_from(now)
            news.append(FleetAway(path=path, fleet=self.plan.name, seconds=passed, why="the hub was away"))
        self._listen(now, path, news)
        for agent in self._wheel.due(now):
            self._look_at(agent, now)
        while self._dead and next(iter(self._dead.values())).since + self.plan.forget <= now:
            self._forget_oldest()
        if now >= self.judged_from:
            self._judge(now, path, news)
        storm = self.storm.look(path, self.plan.name, now, passed, counts=now >= self._begun + self.plan.patience)
        news += [] if storm is None else [storm]
        self._tell_full(path, news)
        return news

    def limits(self, agent: Agent) -> tuple[float, float]:
        """Seconds after which an agent is silent, and dead."""
        return agent.period * self.plan.silent, agent.period * self.plan.dead

    # How it is done.

    def _admit(self, name: str, labels: dict[str, str], now: float) -> Agent | None:
        """One that is not known yet; None: there is no room. Raises BeatError."""
        check_name(name)
        check_labels(labels)
        if len(self.agents) >= self.plan.most:
            if not self._dead:
                return None
            self._forget_oldest()
        agent = self.agents[name] = Agent(name, self.labels.take(labels), self.plan.period, now)
        for group in agent.set.groups:
            group.numbers[NEVER] += 1
            self._changed[group] = None
        return agent

    def _is_news(
        self,
        agent: Agent,
        incarnation: str | None,
        sequence: int | None,
        started: int | None,
        state: str,
        now: float,
    ) -> bool:
        """Whether it is later than what is known; of a new incarnation or of the one that is."""
        if incarnation is not None and incarnation != agent.incarnation:
            if agent.incarnation is None:
                return True
            return self._is_new_life(agent, incarnation, started, now)
        if sequence is not None and agent.sequence is not None:
            # One that is not told apart from its next life, and was missed, has been started again: it counts anew.
            is_later = sequence > agent.sequence or (incarnation is None and agent.standing in {SILENT, LOST})
        else:  # without numbers a goodbye is the last word of its incarnation
            is_later = incarnation is None or agent.standing not in {GONE, AWOL} or state == "gone"
        if not is_later:
            self.late += 1
        return is_later

    def _is_new_life(self, agent: Agent, incarnation: str, started: int | None, now: float) -> bool:
        lives = self.lives.get(agent.name)
        if lives is None:
            lives = self.lives[agent.name] = Lives()
        if not lives.succeeds(agent, incarnation, started, now):
            lives.fenced += 1
            self.fenced += 1
            return False
        lives.begin(agent, incarnation)
        if agent.standing <= DRAINING:
            self.storm.restarted += 1
        return True

    def _pace(self, agent: Agent, period: float) -> None:
        is_shorter = period < agent.period
        agent.period = min(period, self.plan.longest)
        if is_shorter and agent.bucket != NOWHERE:
            self._wheel.put(agent, agent.heard + self.limits(agent)[0])

    def _names_of(self, figures: dict[str, float]) -> tuple[str, ...]:
        """The names of some figures, each set of names kept once. Raises BeatError."""
        if figures.__class__ is not dict:
            check_figures(figures)
        names = tuple(figures)
        known = self._names.get(names)
        if known is None:
            check_figures(figures)
            if len(self._names) < self.plan.groups:
                self._names[names] = names
            return names
        check_numbers(figures)
        return known

    def _label(self, agent: Agent, labels: Mapping[str, str]) -> None:
        before, agent.set = agent.set, self.labels.take(labels)
        for group in before.groups:
            group.numbers[agent.standing] -= 1
            self._changed[group] = None
        for group in agent.set.groups:
            group.numbers[agent.standing] += 1
            self._changed[group] = None
        self.labels.leave(before)

    def _turn(self, agent: Agent, standing: int, now: float) -> None:
        """It has been heard, and so stands otherwise than before."""
        before = agent.standing
        if standing == GONE:
            agent.bucket = NOWHERE
            agent.why = agent.why or GOODBYE
            self._stand(agent, AWOL if agent.is_expected else GONE, now)
            return
        self._stand(agent, standing, now)
        if before > DRAINING:
            self.storm.new += before == NEVER
            self.storm.returned += before != NEVER
            self._wheel.put(agent, now + self.limits(agent)[0])

    def _stand(self, agent: Agent, standing: int, now: float) -> None:
        before, agent.standing = agent.standing, standing
        agent.since = now
        for group in agent.set.groups:
            group.numbers[before] -= 1
            group.numbers[standing] += 1
            self._changed[group] = None
        if standing in {LOST, GONE} and not agent.is_expected:
            self._dead[agent.name] = agent
        elif before in {LOST, GONE}:
            self._dead.pop(agent.name, None)

    def _look_at(self, agent: Agent, now: float) -> None:
        silent, dead = self.limits(agent)
        heard = max(agent.heard, self.watched_from)
        is_alive = agent.standing <= DRAINING
        due = heard + (silent if is_alive else dead)
        if now < due:
            self._wheel.put(agent, due)
        elif is_alive:
            said = {DEGRADED: "it was degraded", DRAINING: "it was draining"}.get(agent.standing)
            agent.why = said if agent.why is None or said is None else f"{said}: {agent.why}"
            self._stand(agent, SILENT, now)
            self._wheel.put(agent, heard + dead)
        elif self.deaf_since is not None:
            self._wheel.put(agent, now + agent.period)
        else:
            last = "" if agent.why is None else f"; {agent.why}"
            agent.why = f"it was silent for {now - agent.heard:.0f} s{last}"
            self._stand(agent, LOST, now)

    def _listen(self, now: float, path: str, news: list[Event]) -> None:
        """Nobody dies while nobody is heard at all."""
        whole = self.labels.whole
        is_deaf = whole.alive == 0 and whole.numbers[SILENT] >= DEAF
        if is_deaf and self.deaf_since is None:
            self.deaf_since = self._heard
        elif not is_deaf and self.deaf_since is not None:
            heard_nobody, self.deaf_since = now - self.deaf_since, None
            if whole.alive:
                self._watch_from(now)
                why = "the hub heard nobody"
                news.append(FleetAway(path=path, fleet=self.plan.name, seconds=heard_nobody, why=why))

    def _watch_from(self, now: float) -> None:
        self.watched_from = now
        self.judged_from = now + self.plan.patience

    def _judge(self, now: float, path: str, news: list[Event]) -> None:
        changed, self._changed = self._changed, {}
        for group in changed:
            watch = self._watches.get(group.label)
            event = None if watch is None else judged(path, self.plan.name, group, watch, now)
            if event is not None:
                news.append(event)
                self.labels.tidy(group)

    def _forget_oldest(self) -> None:
        self.forget(next(iter(self._dead)))
        self.forgotten += 1

    def _tell_full(self, path: str, news: list[Event]) -> None:
        """Once, and again after there was room for a tenth."""
        if self.refused > self._told_refused and not self.is_full:
            self.is_full = True
            news.append(FleetFull(path=path, fleet=self.plan.name, most=self.plan.most))
        elif len(self.agents) < self.plan.most * 0.9:
            self.is_full = False
        self._told_refused = self.refused
