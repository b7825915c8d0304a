"""The actors: with crashes, kills, late results and lost files every file counts exactly once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pytest

import otpy
from otpy.demo import tree
from otpy.demo.compare import Result, compare, plain_loop
from otpy.demo.count_files import Agent, Scheduler
from otpy.demo.files import Count, File, Problem, read
from otpy.demo.trouble import MOMENTS, Trouble
from otpy.errors import TreeFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.demo.collector import Progress, Report

    Counting = Callable[..., list[Progress]]

FILES = 12


def report_of(told: list[Progress]) -> Report:
    """The last word, which must be there."""
    assert told[-1].report is not None
    return told[-1].report


def assert_each_counted_once(report: Report) -> None:
    """Every file has one result, and the totals are those of a plain loop."""
    assert sorted(file.path for file, _ in report.results) == sorted(file.path for file in report.files)
    assert compare(report.results, plain_loop(report.files)).is_equal


def test_without_crashes_every_file_counts_once(count: Counting, folder: Path) -> None:
    report = report_of(count(folder))
    assert_each_counted_once(report)
    assert str(report) == "12 files, 26 lines, 53 words; 0 agents crashed"
    assert report.problems == []


@pytest.mark.parametrize("agents", [1, 2, 30])
@pytest.mark.parametrize("seed", range(5))
def test_with_crashes_every_file_counts_once(count: Counting, folder: Path, seed: int, agents: int) -> None:
    report = report_of(count(folder, trouble=Trouble(0.3, seed), agents=agents))
    assert_each_counted_once(report)
    assert report.crashes.keys() <= set(MOMENTS)


def test_the_same_seed_crashes_as_many_agents_whoever_reads_what(count: Counting, folder: Path) -> None:
    crashes = [report_of(count(folder, trouble=Trouble(0.3, 1), agents=agents)).crashes for agents in (1, 2, 5, 5)]
    assert crashes[0] == {"before reading": 4, "while reading": 5, "after sending": 4}
    assert crashes == [crashes[0]] * 4


def test_each_shift_has_a_fresh_crew(count: Counting, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths: set[str] = set()

    class Noted(Agent):
        def init(self, trouble: Trouble) -> None:
            paths.add(self.ref.path.rpartition("/")[0])
            super().init(trouble)

    monkeypatch.setattr(tree, "SHIFT", 5)
    report = report_of(count(folder, Noted, Trouble(0.3, 1)))
    assert_each_counted_once(report)
    assert paths == {f"count_files/crews/{shift}" for shift in (1, 2, 3)}


def test_a_result_that_comes_twice_counts_once(count: Counting, folder: Path) -> None:
    class Twice(Agent):
        @otpy.cast
        def work(self, token: int, file: File) -> None:
            self.scheduler.cast(Scheduler.result, token, read(file))
            super().work(token, file)

    assert_each_counted_once(report_of(count(folder, Twice)))


def test_late_results_of_dead_agents_are_dropped(count: Counting, folder: Path) -> None:
    """Each crashed agent's successor sends what the dead ones have read, when those claims are no longer current."""

    class Late(Agent):
        read: ClassVar[list[tuple[int, Count | Problem]]] = []

        def init(self, trouble: Trouble) -> None:
            super().init(trouble)
            for token, found in self.read:
                self.scheduler.cast(Scheduler.result, token, found)

        @otpy.cast
        def work(self, token: int, file: File) -> None:
            self.read.append((token, read(file)))
            super().work(token, file)

    report = report_of(count(folder, Late, Trouble(0.3, 1), agents=1))
    assert len(Late.read) > FILES
    assert_each_counted_once(report)


def test_the_file_of_a_killed_agent_is_given_out_again_and_its_own_result_is_fenced_off(
    count: Counting, folder: Path
) -> None:
    class Killed(Agent):
        @otpy.cast
        def work(self, token: int, file: File) -> None:
            if token == 1:
                self.ref.kill()
            super().work(token, file)

    report = report_of(count(folder, Killed))
    assert_each_counted_once(report)
    assert report.crashes == {"killed": 1}


@pytest.mark.parametrize("agents", [1, 3])
def test_agents_that_always_crash_reach_the_restart_limit(count: Counting, folder: Path, agents: int) -> None:
    limit = f"reached the restart limit of {2 * FILES + 100} restarts"
    with pytest.raises(TreeFailedError, match=rf"count_files/crews/1 {limit} .*\(CrashOnPurpose: before reading\)"):
        count(folder, trouble=Trouble(1.0), agents=agents)


def test_a_file_on_which_every_agent_crashes_reaches_the_restart_limit_with_its_reason(
    count: Counting, folder: Path
) -> None:
    class Choosy(Agent):
        @otpy.cast
        def work(self, token: int, file: File) -> None:
            if file.path.endswith("7.txt"):
                text = "I do not read 7"
                raise ValueError(text)
            super().work(token, file)

    with pytest.raises(TreeFailedError, match="ValueError: I do not read 7"):
        count(folder, Choosy)


def test_an_empty_folder_is_done_at_once(count: Counting, tmp_path: Path) -> None:
    told = count(tmp_path, trouble=Trouble(1.0))
    assert report_of(told).files == report_of(told).results == []
    assert (told[-1].files, told[-1].counted, told[-1].crashes) == (0, 0, 0)


def test_a_folder_that_is_not_there_is_a_problem(count: Counting, tmp_path: Path) -> None:
    gone = str(tmp_path / "gone")
    assert report_of(count(Path(gone))).problems == [Problem(gone, "No such file or directory")]


def test_files_that_vanish_or_change_after_the_listing_are_problems_and_crash_nobody(
    count: Counting, folder: Path
) -> None:
    class Vandal(Agent):
        @otpy.cast
        def work(self, token: int, file: File) -> None:
            if file.path.endswith("3.txt"):
                Path(file.path).unlink()
            if file.path.endswith("4.txt"):
                Path(file.path).write_text("changed")
            super().work(token, file)

    report = report_of(count(folder, Vandal))
    assert_each_counted_once(report)
    assert report.crashes == {}
    assert {Path(path).name: text for path, text in problems(report.results)} == {
        "3.txt": "No such file or directory",
        "4.txt": "changed since it was listed",
    }


def problems(results: list[Result]) -> list[tuple[str, str]]:
    """What could not be read."""
    return [(found.path, found.text) for _, found in results if isinstance(found, Problem)]


def test_progress_begins_with_nothing_and_ends_with_all(count: Counting, folder: Path) -> None:
    told = count(folder, trouble=Trouble(0.3, 1))
    assert (told[0].files, told[0].counted, told[0].crashes, told[0].report) == (None, 0, 0, None)
    assert (told[-1].files, told[-1].counted, told[-1].crashes) == (FILES, FILES, 13)
    assert [progress.report is None for progress in told] == [True] * (len(told) - 1) + [False]
