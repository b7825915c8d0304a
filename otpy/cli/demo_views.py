"""What `otpy demo` shows: two bars while it runs, or plain lines where nobody has a screen, and a table at the end."""

from __future__ import annotations

import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, Self

from rich import progress as bars
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from otpy.cli.columns import Ragged
from otpy.cli.formats import counted
from otpy.core.text import visible
from otpy.demo.collector import Progress
from otpy.demo.trouble import MOMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from otpy.demo.collector import Report
    from otpy.demo.compare import Comparison
    from otpy.demo.files import Count, Problem

__all__ = ["Gauge", "Screen", "Show", "outcome_view", "said"]

SHOWN_PROBLEMS = 20
CHECKSUM_DIGITS = 12
BAR_EVERY, LINE_EVERY = 0.1, 1.0
"""Seconds between two drawings of a bar, and between two plain lines."""
PATH_LIMIT = 500


class Screen(Console):
    """Standard error, for progress, so that what is piped on is the result alone."""

    def __init__(self) -> None:
        """As `otpy.cli.screen.console`: nothing that is printed is interpreted."""
        super().__init__(stderr=True, markup=False, emoji=False, highlight=False)

    def on_broken_pipe(self) -> None:
        """Go on in silence; rich would end the whole program, in whatever thread this is."""
        self.quiet = True


class Gauge:
    """One thing that goes on, on standard error: a bar on a terminal, else a line a second. Any thread may move it."""

    def __init__(self, title: str, screen: Console, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing is shown before it is entered and after it is left; what was told before is shown then."""
        self._title = title
        self._screen = screen
        self._clock = clock
        self._every = BAR_EVERY if screen.is_terminal else LINE_EVERY
        self._lock = Lock()
        self._bar: bars.Progress | None = None
        self._due: float | None = None
        self._told: tuple[int, int | None, str] | None = None
        self._shown: tuple[int, int | None, str] | None = None

    def __enter__(self) -> Self:
        with self._lock:
            self._due = self._clock() + self._every
            if self._screen.is_terminal:
                self._bar = _bar(self._screen)
                self._bar.add_task(self._title, total=None, note="")
                self._bar.start()
            told = self._told
        if told is not None:
            self.move(*told)
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock, suppress(OSError):
            self._due = None
            if self._bar is not None:
                self._bar.stop()

    def move(self, done: int, total: int | None, note: str = "") -> None:
        """Show how far it is, unless it was shown just now. A screen that has gone is no reason to stop working."""
        with self._lock, suppress(OSError):
            self._told = (done, total, note)
            is_news = self._shown != self._told
            if self._due is not None and is_news and (done == total or self._clock() >= self._due):
                self._due = self._clock() + self._every
                self._shown = self._told
                self._draw(done, total, note)

    def _draw(self, done: int, total: int | None, note: str) -> None:
        if self._bar is not None:
            self._bar.update(bars.TaskID(0), completed=done, total=total, note=note, refresh=True)
        else:
            self._screen.print(Text(f"{self._title}: {_of(done, total)}{note and ', '}{note}"))


class Show:
    """Remembers how far the agents are, and moves a gauge."""

    def __init__(self, gauge: Gauge) -> None:
        """Begin with nothing done."""
        self.gauge = gauge
        self.last = Progress(files=None, counted=0, crashes=0)

    def tell(self, progress: Progress) -> None:
        """Called in the collector's turns."""
        self.last = progress
        note = f"{counted(progress.crashes, 'agent')} crashed" if progress.crashes else ""
        self.gauge.move(progress.counted, progress.files, note)


def said(progress: Progress) -> str:
    """How far a run came that did not come to its end."""
    done = f"{_of(progress.counted, progress.files)} files counted"
    return f"{done}, {counted(progress.crashes, 'agent')} crashed"


def outcome_view(report: Report, comparison: Comparison, seconds: float) -> RenderableType:
    """Both readings side by side, and what is to be said of them.

    Args:
        report: what the agents found.
        comparison: theirs beside the plain loop's.
        seconds: what the plain loop took.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("", "files", "bytes", "lines", "words", "checksum", "seconds"):
        table.add_column(title, justify="left" if title in {"", "checksum"} else "right", no_wrap=True)
    table.add_row(*_row("agents", comparison.agents, report.seconds))
    table.add_row(*_row("plain loop", comparison.plain, seconds))
    verdict = _verdict(report, is_equal=comparison.is_equal)
    unread = [*report.problems, *comparison.problems]
    lists = [
        *_listed("given up", report.given_up),
        *_listed("could not be read", unread),
        *_listed("changed while the demo ran, and counts on neither side", comparison.changed),
    ]
    return Group(Ragged(table), Text(""), verdict, *lists)


def _bar(screen: Console) -> bars.Progress:
    return bars.Progress(
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("{task.fields[note]}", markup=False),
        console=screen,
        auto_refresh=False,  # a refresh thread of its own would be one more thing to stop
    )


def _row(title: str, count: Count, seconds: float) -> list[Text]:
    numbers = [_spaced(number) for number in (count.files, count.size_bytes, count.lines, count.words)]
    checksum = f"{count.checksum:064x}"[:CHECKSUM_DIGITS]
    return [Text(cell) for cell in (title, *numbers, checksum, f"{seconds:.2f}")]


def _verdict(report: Report, *, is_equal: bool) -> Text:
    crashes = report.crashes
    if report.given_up:
        return Text(f"The totals differ: {counted(len(report.given_up), 'file')} given up.", style="red")
    if not is_equal:
        return Text(
            "The totals differ, although no file changed: somebody restarted a part of the demo, or otpy has a fault.",
            style="red",
        )
    if not crashes:
        return Text("The totals are equal.", style="green")
    each = ", ".join(f"{_spaced(crashes[how])} {visible(how)}" for how in sorted(crashes, key=_moment))
    died = counted(sum(crashes.values()), "agent")
    return Text(f"The totals are equal: {died} crashed ({each}), and every file counts once.", style="green")


def _listed(what: str, problems: Sequence[Problem]) -> list[Text]:
    if not problems:
        return []
    lines = [f"  {visible(p.path, PATH_LIMIT)}: {visible(p.text)}" for p in sorted(problems, key=lambda p: p.path)]
    more = [f"  … and {len(lines) - SHOWN_PROBLEMS} more"] if len(lines) > SHOWN_PROBLEMS else []
    return [Text(line) for line in (f"{len(lines)} {what}:", *lines[:SHOWN_PROBLEMS], *more)]


def _of(done: int, total: int | None) -> str:
    return f"{_spaced(done)} of {'?' if total is None else _spaced(total)}"


def _spaced(number: int) -> str:
    return f"{number:,}".replace(",", " ")


def _moment(how: str) -> tuple[int, str]:
    """Crashes on purpose in the order of their moments, then all others."""
    return (MOMENTS.index(how) if how in MOMENTS else len(MOMENTS)), how
