"""What a run of the tests costs, in seconds of processor time: `PYTHONPATH=.:tests python -m pytest -p support.costs`.

A test pays for the programs that have ended during it, and for all that these have waited for.
"""

from __future__ import annotations

import gc
import resource
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

SHOWN = 25


class Cost(NamedTuple):
    """Seconds of processor time."""

    own: float = 0.0
    """In the process of the tests, all threads."""
    programs: float = 0.0
    """In others."""

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.own - other.own, self.programs - other.programs)

    def __add__(self, other: Cost) -> Cost:  # type: ignore[override]  # as numbers, not as tuples
        return Cost(self.own + other.own, self.programs + other.programs)

    def __str__(self) -> str:
        return f"{sum(self):7.2f}  own {self.own:6.2f}  programs {self.programs:6.2f}"


def now() -> Cost:
    """What has been spent so far."""
    spent = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return Cost(*(each.ru_utime + each.ru_stime for each in spent))


class Costs:
    """Adds up what each test and each file takes, set-up and tear-down included."""

    def __init__(self) -> None:
        self.by_place: defaultdict[str, Cost] = defaultdict(Cost)
        self.began = 0.0
        gc.callbacks.append(self.note_garbage)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = now()
        done = yield
        file = item.nodeid.partition("::")[0]
        for place in (item.nodeid, file, file.rpartition("/")[0]):
            self.by_place[place] += now() - before
        return done

    def pytest_collection_finish(self) -> None:
        self.by_place["until all tests are collected"] = now()

    def note_garbage(self, phase: str, _: object) -> None:
        if phase == "start":
            self.began = time.thread_time()
        else:
            self.by_place["garbage collection"] += Cost(time.thread_time() - self.began)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("seconds of processor time")
        terminalreporter.line(f"{now()}  in all")
        for place, cost in sorted(self.by_place.items(), key=lambda row: sum(row[1]), reverse=True)[:SHOWN]:
            terminalreporter.line(f"{cost}  {place}")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Costs())
