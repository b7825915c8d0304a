"""Run a plan: each side in turn, round after round, within a time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.model import FailedError, Job, MissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.model import Experiment, Figures, Side, Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much time there is."""

    quick: bool
    seconds: float
    """How long a rate is measured."""
    enough: float
    """After so many seconds no second or later round begins."""
    over: float
    """After so many seconds nothing begins, and what runs is given up."""
    patience: float
    """Seconds one measurement may take."""


FULL = Pace(quick=False, seconds=0.4, enough=350.0, over=900.0, patience=180.0)
QUICK = Pace(quick=True, seconds=0.05, enough=38.0, over=46.0, patience=20.0)


@dataclass(slots=True)
class Findings:
    """What the rounds gave."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """By row, by contender, one value per round."""
    notes: dict[str, str] = field(default_factory=dict)
    """By row."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What has no figure, by contender or `row of contender`, and why."""
    versions: dict[str, str] = field(default_factory=dict)
    """By contender."""
    took: dict[str, float] = field(default_factory=dict)
    """Seconds of the run that went to each `experiment of contender`, the making and clearing included."""

    def add(self, side: str, figures: Figures) -> None:
        """Take in one measurement."""
        for key, value in figures.values.items():
            row, _, peer = key.partition("@")
            self.values.setdefault(row, {}).setdefault(peer or side, []).append(value)
        self.notes.update(figures.notes)


class Run:
    """One run of a plan over the sides; `tell` hears what is measured now."""

    def __init__(
        self,
        plan: Sequence[Experiment],
        sides: Mapping[str, Callable[[], Side]],
        pace: Pace,
        tell: Callable[[str], None],
    ) -> None:
        self.plan, self.makers, self.pace, self.tell = plan, sides, pace, tell
        self.open: dict[str, Side] = {}
        self.counts: dict[tuple[str, str], int | None] = {}
        self.findings = Findings()
        self.began = time.monotonic()

    def rounds(self) -> Findings:
        """Alternate over the whole plan, so that a slow minute of the machine hits every row and every side."""
        try:
            for number in range(max((self.rounds_of(experiment) for experiment in self.plan), default=0)):
                for experiment in self.plan:
                    if number < self.rounds_of(experiment) and not (number and self.elapsed() > self.pace.enough):
                        self.once(experiment, number)
        finally:
            for side in self.open.values():
                side.close()
        return self.findings

    def rounds_of(self, experiment: Experiment) -> int:
        return experiment.rounds[self.pace.quick]

    def once(self, experiment: Experiment, number: int) -> None:
        """Have each side measure the experiment once; the order turns with the round."""
        turn = number % len(experiment.sides)
        for name in experiment.sides[turn:] + experiment.sides[:turn]:
            what = f"{experiment.name} of {name}"
            if self.pace.quick and name in experiment.slow:
                self.findings.skipped[what] = "takes many seconds; in a full run only"
            elif not {name, what} & self.findings.skipped.keys():
                self.tell(f"round {number + 1}: {what}")
                began = self.elapsed()
                self.measure(experiment, name, what)
                self.findings.took[what] = self.findings.took.get(what, 0.0) + self.elapsed() - began

    def measure(self, experiment: Experiment, name: str, what: str) -> None:
        """Measure once, or say why there is no figure."""
        left = min(self.pace.patience, self.pace.over - self.elapsed())
        if left <= 0:
            self.findings.skipped[what] = "no time was left"
            return
        try:
            side = self.open.setdefault(name, self.open.get(name) or self.makers[name]())
            figures = side.measure(self.job(experiment, name), left)
        except MissingError as error:
            self.findings.skipped[name] = str(error)
        except FailedError as error:
            self.findings.skipped[what] = str(error)
        else:
            self.findings.versions[name] = side.version
            self.counts[experiment.name, name] = figures.count
            self.findings.add(name, figures)

    def job(self, experiment: Experiment, name: str) -> Job:
        return Job(
            experiment=experiment.name,
            fresh=experiment.fresh,
            seconds=self.pace.seconds,
            count=self.counts.get((experiment.name, name)),
            sizes=sizes(experiment, name, quick=self.pace.quick),
        )

    def elapsed(self) -> float:
        return time.monotonic() - self.began


def sizes(experiment: Experiment, side: str, *, quick: bool) -> Sizes:
    """The sizes a side works at; the later one wins."""
    found = {**experiment.full, **(experiment.quick if quick else {}), **experiment.per_side.get(side, {})}
    return {**found, **(experiment.per_side_quick.get(side, {}) if quick else {})}
