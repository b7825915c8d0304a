"""The collector sums up what the scheduler accepts, and tells how far the run is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import otpy
from otpy.demo.compare import Result, total
from otpy.demo.files import Count, File, Problem

__all__ = ["COLLECTOR", "Collector", "Progress", "Report", "Tell"]

PERIOD = 0.1
"""Seconds between two tellings: smooth to look at, and no load."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run that came to its end has found."""

    files: Sequence[File]
    """The list the agents worked on."""
    problems: Sequence[Problem]
    """What could not be listed."""
    results: Sequence[Result]
    """What came back, in the order in which it came."""
    crashes: Mapping[str, int]
    """How many agents died, by their last words."""
    seconds: float
    """From the end of the listing."""
    given_up: Sequence[Problem] = ()
    """Files that nobody is to try again: dead letters, and what was cancelled."""

    def __str__(self) -> str:
        found = total(self.results)
        died = sum(self.crashes.values())
        return f"{found.files} files, {found.lines} lines, {found.words} words; {died} agents crashed"


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    files: int | None
    """Files to read; None while they are being listed."""
    counted: int
    """Files that are done, those that could not be read included."""
    crashes: int
    """Agents that died."""
    report: Report | None = None
    """The last word."""
    before: int = 0
    """Of those that are done, the ones that were done before this program came."""
    gave_up: str = ""
    """Why the run ends here without a report."""


Tell = Callable[[Progress], object]


class Collector(otpy.GenServer):
    """Adds up and asks nothing: the scheduler passes on results of current claims only, each once."""

    trap_exit = True
    """Told to stop, it first works off what has arrived, and then tells it."""

    def init(self, tell: Tell) -> None:
        """Take what is called, in this actor's turns: now, ten times a second, and at the end."""
        self.tell = tell
        self.files: Sequence[File] = ()
        self.problems: Sequence[Problem] = ()
        self.results: list[Result] = []
        self.crashes: Counter[str] = Counter()
        self.since: float | None = None  # no list yet
        self.send_interval(PERIOD, "tell")
        tell(self.progress())

    @otpy.cast
    def listed(self, found: Sequence[File | Problem]) -> None:
        """All files are known."""
        self.files = [entry for entry in found if isinstance(entry, File)]
        self.problems = [entry for entry in found if isinstance(entry, Problem)]
        self.since = self.system.clock.now()

    @otpy.cast
    def add(self, file: File, found: Count | Problem) -> None:
        """One file is done."""
        self.results.append((file, found))

    @otpy.cast
    def lost(self, reason: otpy.Reason) -> None:
        """An agent has ended; one that was told to go home at the end of its shift is not counted."""
        if not isinstance(reason, otpy.Shutdown | otpy.NoProc):
            self.crashes[reason.text if isinstance(reason, otpy.Crashed) else str(reason)] += 1

    @otpy.cast
    def finish(self) -> otpy.Stop:
        """All files are done. A significant child, it takes the tree along when it ends."""
        return otpy.Stop()

    def handle_info(self, message: object) -> None:
        """It is time to tell."""
        if message == "tell":
            self.tell(self.progress())

    def terminate(self, reason: otpy.Reason) -> None:
        """Tell the last word, with the report if all is done."""
        if isinstance(reason, otpy.Normal):
            seconds = self.system.clock.now() - (self.since or 0.0)
            report = Report(self.files, self.problems, self.results, self.crashes, seconds)
            self.tell(self.progress(report))
        else:
            self.tell(self.progress())

    def progress(self, report: Report | None = None) -> Progress:
        """How far the run is."""
        files = None if self.since is None else len(self.files)
        return Progress(files, len(self.results), self.crashes.total(), report)


COLLECTOR = otpy.name(Collector, "collector")
