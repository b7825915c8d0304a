"""`otpy demo`: what it prints, and the exit codes it ends with."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import sysconfig
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as front_door
from otpy.cli import demo as command
from otpy.cli import demo_views
from otpy.cli.demo_views import Gauge, Screen, outcome_view, said
from otpy.demo import files
from otpy.demo.collector import Progress, Report
from otpy.demo.compare import Comparison, compare, plain_loop
from otpy.demo.count_files import Agent
from otpy.demo.files import Count, File, Problem
from support.forked import Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from click.testing import Result

    Otpy = Callable[..., Result]

SECONDS = r" +\d+\.\d\d\n"
MODES = pytest.mark.parametrize("mode", [[], ["--memory"]], ids=["jobs", "memory"])


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where runs are kept; nothing of one that came to its end."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "otpy"


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how far it is at its end alone, however long it takes."""
    monkeypatch.setattr(demo_views, "LINE_EVERY", 3600.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten files."""
    place = tmp_path / "files"
    place.mkdir()
    for number in range(10):
        (place / f"{number}.txt").write_text("two words\n" * number)
    return place


def rows(output: str) -> tuple[str, str]:
    """What the table says of the agents and of the loop, without the times."""
    found = re.search(rf"^agents +(.+?){SECONDS}plain loop +(.+?){SECONDS}", output, re.MULTILINE)
    assert found, output
    return found[1], found[2]


@MODES
@pytest.mark.parametrize("seed", ["1", "2"])
def test_with_crashes_the_totals_are_equal(otpy: Otpy, folder: Path, mode: list[str], seed: str) -> None:
    result = otpy("demo", str(folder), "--crash", "0.3", "--seed", seed, "--agents", "3", *mode)

    agents, plain = rows(result.stdout)
    assert result.exit_code == 0
    assert agents == plain
    assert agents.startswith("10    450     45     90  ")
    assert re.search(
        r"\nThe totals are equal: \d+ agents? crashed \(.+\), and every file counts once\.\n$", result.stdout
    )


@MODES
def test_the_same_seed_brings_the_same_crashes(otpy: Otpy, folder: Path, mode: list[str]) -> None:
    verdicts = [
        otpy("demo", str(folder), "--crash", "0.3", "--seed", "1", "--agents", agents, *mode).stdout.splitlines()[-1]
        for agents in ("1", "7")
    ]
    assert verdicts[0] == verdicts[1]


@MODES
def test_without_crashes_none_is_mentioned(otpy: Otpy, folder: Path, mode: list[str]) -> None:
    result = otpy("demo", str(folder), "--crash", "0", *mode)
    assert not re.search(r"^each may crash", result.stdout, re.MULTILINE)
    assert result.stdout.endswith("\nThe totals are equal.\n")


def test_it_says_how_to_kill_it_and_how_to_look_at_it(otpy: Otpy, folder: Path, directory: Path, state: Path) -> None:
    lines = otpy("demo", str(folder), "--seed", "1").stdout.splitlines()
    assert lines[:2] == [
        f"8 agents read {folder}",
        "each may crash before reading, while reading, after reading: --crash 0.05 --seed 1",
    ]
    assert re.fullmatch(rf"what is done is kept in {re.escape(str(state))}/demo-[0-9a-f]{{12}}\.db", lines[2])
    assert lines[3:5] == [
        f"kill this program, even by kill -9 {os.getpid()}, say the same again, and it goes on",
        f"to look at them, type in another terminal:  otpy tree demo --watch --directory {directory}",
    ]
    assert list(state.iterdir()) == []


def test_in_memory_it_has_no_file_and_says_when_agents_crash(
    otpy: Otpy, folder: Path, directory: Path, state: Path
) -> None:
    result = otpy("demo", str(folder), "--seed", "1", "--memory")
    assert result.stdout.splitlines()[:3] == [
        f"8 agents read {folder}",
        "each may crash before reading, while reading, after sending: --crash 0.05 --seed 1",
        f"to look at them, type in another terminal:  otpy tree demo --watch --directory {directory}",
    ]
    assert not state.exists()


@MODES
@pytest.mark.usefixtures("unhurried")
def test_progress_goes_to_standard_error_as_plain_lines(otpy: Otpy, folder: Path, mode: list[str]) -> None:
    result = otpy("demo", str(folder), "--crash", "0", *mode)
    assert result.stderr == "agents: 10 of 10\nplain loop: 10 of 10\n"


@pytest.mark.usefixtures("unhurried")
def test_agents_that_always_crash_end_in_memory_with_the_restart_limit_and_70(otpy: Otpy, folder: Path) -> None:
    result = otpy("demo", str(folder), "--crash", "1.0", "--seed", "1", "--memory")
    assert result.exit_code == 70
    assert re.fullmatch(
        r"Error: demo/crews/1 gives up: reached the restart limit of 120 restarts in 86400 s with child \d "
        r"\(CrashOnPurpose: before reading\), after restarts of \d+ more, .*; "
        r"0 of 10 files counted, 1\d\d agents crashed\n",
        result.stderr,
    )


@MODES
def test_an_empty_folder_is_equal_whatever_the_crashes(otpy: Otpy, tmp_path: Path, mode: list[str]) -> None:
    (tmp_path / "empty").mkdir()
    result = otpy("demo", str(tmp_path / "empty"), "--crash", "1.0", *mode)
    assert result.exit_code == 0
    assert rows(result.stdout) == ("0      0      0      0  000000000000",) * 2


@MODES
def test_a_file_that_may_not_be_read_is_reported(
    otpy: Otpy, folder: Path, monkeypatch: pytest.MonkeyPatch, mode: list[str]
) -> None:
    real = files._open

    def open_but_one(path: str, flags: int) -> int:
        if path.endswith("7.txt"):
            raise PermissionError(13, "Permission denied", path)
        return real(path, flags)

    monkeypatch.setattr(files, "_open", open_but_one)
    result = otpy("demo", str(folder), "--crash", "0.3", "--seed", "1", *mode)

    agents, plain = rows(result.stdout)
    assert result.exit_code == 0
    assert agents == plain
    assert agents.startswith("9 ")
    assert result.stdout.endswith(f"\n1 could not be read:\n  {folder}/7.txt: Permission denied\n")


def test_a_file_that_changes_before_the_plain_loop_counts_on_neither_side(
    otpy: Otpy, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_and_read(listed: Iterable[File]) -> Iterator[Any]:
        (folder / "7.txt").write_text("changed")
        return plain_loop(listed)

    monkeypatch.setattr(command, "plain_loop", change_and_read)
    result = otpy("demo", str(folder))

    agents, plain = rows(result.stdout)
    assert result.exit_code == 0
    assert agents == plain
    assert result.stdout.endswith(
        f"\n1 changed while the demo ran, and counts on neither side:\n  {folder}/7.txt: changed since it was listed\n"
    )


def test_totals_that_differ_end_with_70(otpy: Otpy, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "plain_loop", lambda listed: plain_loop(listed[1:]))
    result = otpy("demo", str(folder))
    assert result.exit_code == 70
    assert "The totals differ, although no file changed: somebody restarted a part" in result.stdout


def test_in_memory_a_real_fault_of_an_agent_is_told(otpy: Otpy, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(Agent):
        @front_door.cast
        def work(self, token: int, file: File) -> None:
            raise ValueError("no \x1b[1m good")

    monkeypatch.setattr(command, "Agent", Faulty)
    result = otpy("demo", str(folder), "--memory")
    assert result.exit_code == 70
    assert r"(ValueError: no \x1b[1m good), after restarts of " in result.stderr
    assert "; 0 of 10 files counted" in result.stderr


def test_ctrl_c_in_the_plain_loop_ends_with_what_the_agents_found(
    otpy: Otpy, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(listed: Iterable[File]) -> Iterator[Any]:
        yield next(plain_loop(listed))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "plain_loop", interrupted)
    result = otpy("demo", str(folder), "--crash", "0")
    assert result.exit_code == 0
    assert result.stdout.endswith(
        "\nthe plain loop was stopped; the agents found 10 files, 45 lines, 90 words; 0 agents crashed\n"
    )


@MODES
def test_ctrl_c_stops_the_tree_cleanly(folder: Path, directory: Path, mode: list[str]) -> None:
    words = ["demo", str(folder), "--pause", "1000", "--directory", str(directory), *mode]
    with Forked(
        [sys.executable, "-m", "otpy.cli", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout
        while "otpy tree" not in running.stdout.readline():
            pass
        running.send_signal(signal.SIGINT)
        stdout, stderr = running.communicate(timeout=20.0)

    assert running.returncode == 0
    ending = "" if mode else "; the same command goes on from there"
    assert re.fullmatch(rf"\n?stopped: 0 of (10|\?) files counted, 0 agents crashed{ending}\n", stdout)
    # The first word of how far it is, once a second; and which actor was in the middle of a file: jobs leave theirs.
    late = r"|demo/crews/1/\d: late in drain: .*\n" if mode else ""
    allowed = rf"(agents: 0 of 10\n{late}|demo: drain took .*\n|demo: has drained and stopped in .*\n)*"
    assert re.fullmatch(allowed, stderr)


def test_the_default_folder_is_pythons_own_library(otpy: Otpy, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", {"stdlib": str(folder)}.__getitem__)
    (folder / "site-packages" / "others").mkdir(parents=True)
    (folder / "site-packages" / "others" / "large.txt").touch()
    (folder / "test").mkdir()
    (folder / "test" / "test_it.py").touch()

    said = otpy("demo").stdout

    assert said.startswith(f"8 agents read {folder}\n")
    assert rows(said)[0].startswith("10 ")


@pytest.mark.parametrize(
    "words",
    [
        ("nowhere",),
        (__file__,),
        ("--crash", "1.1"),
        ("--crash", "-1"),
        ("--agents", "0"),
        ("--pause", "-1"),
        ("--memory", "--fresh"),
        ("--memory", "--store", "a.db"),
    ],
)
def test_what_cannot_be_is_a_usage_error(otpy: Otpy, words: tuple[str, ...]) -> None:
    assert otpy("demo", *words).exit_code == 2


# --- views ----------------------------------------------------------------------------------------------------------

FILE = File("a\x1b[1m[b]x", (0, 0, 0, 0))


def shown(report: Report, comparison: Comparison) -> list[str]:
    """The lines of the outcome on a screen of 120 columns."""
    screen = Console(file=io.StringIO(), width=120, markup=False)
    screen.print(outcome_view(report, comparison, seconds=1.5))
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def test_the_outcome_as_it_is_shown() -> None:
    count = Count(12_345, 2, 3, 4, 2**255)
    report = Report([FILE], [], [(FILE, count)], {"killed": 1, "after sending": 1_000}, 2.0)
    assert shown(report, Comparison(count, count, (), ())) == [
        "             files  bytes  lines  words  checksum      seconds",
        "agents      12 345      2      3      4  800000000000     2.00",
        "plain loop  12 345      2      3      4  800000000000     1.50",
        "",
        "The totals are equal: 1 001 agents crashed (1 000 after sending, 1 killed), and every file counts once.",
    ]


def test_nothing_that_a_file_is_called_acts_on_the_screen() -> None:
    problem = Problem(FILE.path, "no\x07")
    report = Report([], [problem], [], {}, 0.0)
    assert shown(report, compare([], []))[-2:] == ["1 could not be read:", r"  a\x1b[1m[b]x: no\x07"]


def test_of_many_problems_the_first_are_shown() -> None:
    report = Report([], [Problem(f"{number:02}", "gone") for number in range(23)], [], {}, 0.0)
    lines = shown(report, compare([], []))
    assert (lines[-22], lines[-2:]) == ("23 could not be read:", ["  19: gone", "  … and 3 more"])


def test_how_far_a_run_came() -> None:
    assert said(Progress(None, 0, 0)) == "0 of ? files counted, 0 agents crashed"
    assert said(Progress(12_345, 1_000, 1)) == "1 000 of 12 345 files counted, 1 agent crashed"


class Clock:
    """Time that moves when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_plain_gauge_prints_a_line_a_second_and_the_last_one_at_once() -> None:
    screen, clock = Console(file=io.StringIO(), width=80), Clock()
    gauge = Gauge("agents", screen, clock)
    gauge.move(1, 9)  # not entered yet
    with gauge:
        for second, done in ((0.5, 2), (1.0, 3), (1.5, 4), (2.0, 5), (2.1, 9), (2.2, 9), (9.9, 9)):
            clock.now = second
            gauge.move(done, 9, "1 agent crashed")
    gauge.move(9, 9, "left")
    assert isinstance(screen.file, io.StringIO)
    assert screen.file.getvalue().splitlines() == [
        "agents: 3 of 9, 1 agent crashed",
        "agents: 5 of 9, 1 agent crashed",
        "agents: 9 of 9, 1 agent crashed",
    ]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_was_done_before_a_gauge_was_entered_is_shown_then(*, is_terminal: bool) -> None:
    """The agents may be quicker than who shows them."""
    screen = Console(file=io.StringIO(), width=80, force_terminal=is_terminal, color_system=None)
    gauge = Gauge("agents", screen)
    gauge.move(9, 9)
    with gauge:
        assert isinstance(screen.file, io.StringIO)
        assert re.search(r"agents.* 9( of |/)9", screen.file.getvalue())


def test_a_gauge_on_a_terminal_is_a_bar() -> None:
    screen = Console(file=io.StringIO(), width=80, force_terminal=True, color_system=None)
    with Gauge("agents", screen) as gauge:
        gauge.move(9, 9, "1 agent crashed")
    assert isinstance(screen.file, io.StringIO)
    assert re.search(r"agents ━+ 9/9 0:00:00 1 agent crashed", screen.file.getvalue())


def test_a_screen_that_has_gone_stops_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    with Gauge("agents", Screen()) as gauge:
        gauge.move(9, 9)
