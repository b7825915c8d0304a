"""`otpy demo` and its file: whatever is killed, hangs, loops or raises, every file counts once."""

from __future__ import annotations

import fcntl
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import otpy as library
from otpy.cli.demo_store import store_of, taken
from otpy.cli.demo_views import Show
from otpy.cli.lazy import CommandError
from otpy.demo import durable
from otpy.demo.compare import compare, plain_loop
from otpy.demo.durable import CountDurably, Watcher
from otpy.demo.files import read
from otpy.demo.trouble import Trouble
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.forked import Forked, run
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from click.testing import Result

    from otpy.demo.collector import Progress

    Otpy = Callable[..., Result]

__all__ = ["quiet"]

FILES = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sixty files."""
    place = tmp_path / "files"
    place.mkdir()
    for number in range(FILES):
        (place / f"{number}.txt").write_text("two words\n" * number)
    return place


def test_the_store_may_be_anywhere_and_is_gone_at_the_end(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "run" / "demo.db"
    result = otpy("demo", str(folder), "--store", str(store), "--crash", "0.2", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert re.search(
        r"\nThe totals are equal: \d+ agents crashed \(\d+ in the middle of a file\), and every file counts once\.\n$",
        result.stdout,
    )
    assert f"what is done is kept in {store}" in result.stdout
    assert list(store.parent.iterdir()) == []


@contextmanager
def a_slow_one(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A program of its own that has counted some, and is killed by SIGKILL at the end."""
    command = [sys.executable, "-m", "otpy.cli", "demo", *words, "--agents", "2", "--pause", "0.1"]
    with Forked(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        while not re.match(rf"agents: [1-9]\d* of {FILES}", line := program.stderr.readline()):
            assert line, "it ended by itself"
        try:
            yield program
        finally:
            program.send_signal(signal.SIGKILL)


def all_are_counted(stdout: str) -> int:
    """Once each, and so many of them before this program came."""
    assert re.search(rf"^agents +{FILES} ", stdout, re.MULTILINE)
    assert re.search(r"^The totals are equal", stdout, re.MULTILINE)
    before = re.search(r"^(\d+) files? had been counted before this program came$", stdout, re.MULTILINE)
    assert before
    return int(before[1])


def test_a_program_that_was_killed_goes_on_where_it_was(
    otpy: Otpy, folder: Path, tmp_path: Path, directory: Path
) -> None:
    """SIGKILL in the middle, and the same command again."""
    command = [str(folder), "--store", str(tmp_path / "demo.db"), "--seed", "1"]
    with a_slow_one(*command, "--directory", str(directory)):
        pass
    second = otpy("demo", *command)
    assert second.exit_code == 0, second.output
    assert "an earlier run was not finished, and this one goes on with it" in second.stdout
    assert 0 < all_are_counted(second.stdout) < FILES


def test_a_second_program_goes_on_when_the_first_is_killed(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    """The first leads; it is killed when it has counted some while the second one looked on."""
    run = tmp_path / "run"
    command = [str(folder), "--store", str(run / "demo.db"), "--seed", "1", "--pause", "0.05"]
    with a_slow_one(*command, "--directory", str(tmp_path / "first")) as first:
        killer = threading.Timer(0.0, first.send_signal, (signal.SIGKILL,))

        def kill_once(self: Show, progress: Progress) -> None:
            tell(self, progress)
            if progress.counted > progress.before and killer.ident is None:
                killer.start()

        tell = Show.tell
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Show, "tell", kill_once)
            second = otpy("demo", *command)
    killer.join()
    assert second.exit_code == 0, second.output
    assert "another program counts them already; this one waits" in second.stdout
    assert 0 < all_are_counted(second.stdout) < FILES
    assert list(run.iterdir()) == []


def test_who_ends_first_leaves_the_file_to_the_other(tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with taken(str(store), "", is_fresh=False) as first, taken(str(store), "", is_fresh=False) as second:
        store.touch()
        assert (first.is_shared, first.is_resumed, second.is_shared) == (False, False, True)
        first.finish()
        assert store.exists()
        second.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_others_are_in_is_not_begun_anew(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.db"
    with taken(str(store), "", is_fresh=False):
        store.touch()
        result = otpy("demo", str(folder), "--store", str(store), "--fresh")
    assert (result.exit_code, store.exists()) == (70, True)
    assert result.stderr == (
        f"Error: another program counts into {store}: stop it first, or name another file by --store\n"
    )


def test_a_place_that_was_removed_while_it_was_waited_for_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one before removes it between the opening and the lock of the next."""
    lock, real, removed = tmp_path / "a.db-demo", fcntl.flock, []

    def remove_and_lock(found: int, how: int) -> None:
        if not removed:
            removed.append(lock.unlink())
        real(found, how)

    monkeypatch.setattr(fcntl, "flock", remove_and_lock)
    with taken(str(tmp_path / "a.db"), "", is_fresh=False) as place:
        assert (place.is_shared, lock.exists()) == (False, True)


def test_a_file_that_is_no_store_is_told_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "demo.db").write_text("no store at all")
    command = [sys.executable, "-m", "otpy.cli", "demo", str(folder), "--store", str(tmp_path / "demo.db")]
    ended = run(command, text=True, timeout=60)
    assert (ended.returncode, ended.stderr.count("the file is something else")) == (70, 1), ended.stderr


def test_fresh_begins_anew(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    store.write_text("no store at all")
    command = ["demo", str(folder), "--store", str(store), "--crash", "0"]
    assert otpy(*command).exit_code == 70
    result = otpy(*command, "--fresh")
    assert result.exit_code == 0
    assert result.stdout.endswith("\nThe totals are equal.\n")


def test_a_folder_that_cannot_be_made_is_told(otpy: Otpy, folder: Path) -> None:
    result = otpy("demo", str(folder), "--store", f"{folder}/1.txt/below/a.db")
    assert result.exit_code == 70
    assert re.fullmatch(
        rf"Error: \[Errno 20\] Not a directory: '{folder}/1.txt.*'; --store FILE keeps what is done elsewhere\n",
        result.stderr,
    )


def test_a_user_without_a_home_is_told_how_to_name_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nowhere)
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    with pytest.raises(CommandError, match="--store FILE names one"):
        store_of("/a", ())


def test_a_run_whose_agents_always_crash_is_given_up(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    result = otpy("demo", str(folder), "--store", str(tmp_path / "a.db"), "--crash", "1.0", "--agents", "2")
    assert result.exit_code == 70
    assert re.search(
        r"^Error: more than 200 agents crashed, and 3 for each file that was done; "
        rf"0 of {FILES} files counted, \d+ agents crashed; --fresh begins anew\n$",
        result.stderr,
        re.MULTILINE,
    )


def test_a_file_that_is_given_up_is_listed_and_the_totals_differ(
    otpy: Otpy, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(file: Any, **options: Any) -> Any:
        if file.path.endswith("/7.txt"):
            raise ValueError("no good")
        return read(file, **options)

    monkeypatch.setattr(durable, "read", faulty)
    monkeypatch.setattr(durable, "ATTEMPTS", 2)
    result = otpy("demo", str(folder), "--store", str(tmp_path / "a.db"), "--crash", "0")
    assert result.exit_code == 70
    assert result.stdout.endswith(f"\nThe totals differ: 1 file given up.\n1 given up:\n  {folder}/7.txt: errors\n")


def test_two_that_begin_at_once_count_each_file_once(
    quiet: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second has seen no jobs either; the first one's list counts, also of a file that has changed meanwhile."""
    told: list[Progress] = []
    words = (str(tmp_path / "a.db"), 3, Trouble(), str(folder), (), told.append)
    real = Watcher._begin

    def begin_twice(self: Watcher) -> int:
        before = real(self)
        (folder / "7.txt").write_text("changed")
        with monkeypatch.context() as patch:
            patch.setattr(Watcher, "numbers", lambda self: Counter[str]())
            real(self)
        return before

    monkeypatch.setattr(Watcher, "_begin", begin_twice)
    with library.run(library.child(CountDurably, *words), name="two", control="off") as system:
        system.wait()
    report = told[-1].report
    assert report is not None
    assert len(report.files) == len({file.path for file in report.files}) == FILES
    assert compare(report.results, plain_loop(report.files)).is_equal


def test_each_folder_has_a_store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    a, same, b, less = (store_of(*one) for one in (("/a", ()), ("/a/.", ()), ("/b", ()), ("/a", ("/a/x",))))
    assert a == same
    assert len({a, b, less}) == 3
    assert a.parent == tmp_path / "otpy"


@pytest.mark.parametrize("how", ["killed", "hung", "looping", "raising"])
def test_an_agent_in_trouble_costs_time_and_no_file(
    quiet: None, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """The first to read 7.txt; whatever it does later counts for nothing."""
    gate, over, met = Gate(), threading.Event(), threading.Lock()
    busy: list[Any] = []

    def troubled(file: Any, **options: Any) -> Any:
        if not file.path.endswith("/7.txt") or not met.acquire(blocking=False):
            return read(file, **options)
        busy.append(here().ref)
        match how:
            case "raising":
                raise ValueError(how)
            case "looping":
                while not over.wait(0.001):  # it need not heat the room
                    pass
            case _:
                gate.wait()
        return read(file)

    monkeypatch.setattr(durable, "read", troubled)
    monkeypatch.setattr(durable, "TIMEOUT", 30.0 if how == "killed" else 0.3)
    told: list[Progress] = []
    tree = library.child(CountDurably, str(tmp_path / "a.db"), 3, Trouble(), str(folder), (), told.append)
    with library.run(tree, name="trouble", control="off") as system:
        if how == "killed":
            gate.reached()
            busy[0].kill()
        system.wait()
        over.set()
        gate.open()
    report = told[-1].report
    assert report is not None
    comparison = compare(report.results, plain_loop(report.files))
    assert (comparison.is_equal, comparison.agents.files, comparison.problems) == (True, FILES, ())
