"""`otpy demo --durable`: whatever is killed, hangs, loops or raises, every file counts once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy as library
from otpy.cli.demo_store import remove, store_of
from otpy.demo import durable
from otpy.demo.compare import compare, plain_loop
from otpy.demo.durable import CountDurably
from otpy.demo.files import read
from otpy.demo.trouble import Trouble
from otpy.runtime.seat import here
from otpy.testing import Gate
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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


def test_with_crashes_the_totals_are_equal_and_the_store_is_gone(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "run" / "demo.db"
    result = otpy("demo", str(folder), "--durable", "--store", str(store), "--crash", "0.2", "--seed", "1")
    assert result.exit_code == 0, result.output
    assert re.search(
        r"\nThe totals are equal: \d+ agents crashed \(\d+ in the middle of a file\), and every file counts once\.\n$",
        result.stdout,
    )
    assert f"what is done is kept in {store}" in result.stdout
    assert list(store.parent.iterdir()) == []


def test_a_program_that_was_killed_goes_on_where_it_was(
    otpy: Otpy, folder: Path, tmp_path: Path, directory: Path
) -> None:
    """SIGKILL in the middle, and the same command again."""
    command = ["demo", str(folder), "--durable", "--store", str(tmp_path / "demo.db"), "--seed", "1"]
    slow = [
        sys.executable,
        "-m",
        "otpy.cli",
        *command,
        "--agents",
        "2",
        "--pause",
        "0.1",
        "--directory",
        str(directory),
    ]
    with subprocess.Popen(slow, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as first:
        assert first.stderr is not None
        while not re.match(rf"agents: [1-9]\d* of {FILES}", line := first.stderr.readline()):
            assert line, "it ended by itself"
        first.send_signal(signal.SIGKILL)
    second = otpy(*command)
    assert second.exit_code == 0, second.output
    assert "an earlier run was not finished, and this one goes on with it" in second.stdout
    before = re.search(r"^(\d+) files? had been counted by earlier runs$", second.stdout, re.MULTILINE)
    assert before
    assert 0 < int(before[1]) < FILES
    assert re.search(rf"^agents +{FILES} ", second.stdout, re.MULTILINE)
    assert re.search(r"^The totals are equal", second.stdout, re.MULTILINE)


def test_fresh_begins_anew(otpy: Otpy, folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "demo.db"
    store.write_text("no store at all")
    command = ["demo", str(folder), "--durable", "--store", str(store), "--crash", "0"]
    assert otpy(*command).exit_code == 70
    result = otpy(*command, "--fresh")
    assert result.exit_code == 0
    assert result.stdout.endswith("\nThe totals are equal.\n")


@pytest.mark.parametrize("words", [("--fresh",), ("--store", "a.db")])
def test_what_goes_with_durable_alone_is_refused(otpy: Otpy, folder: Path, words: tuple[str, ...]) -> None:
    assert otpy("demo", str(folder), *words).exit_code == 2


def test_each_folder_has_a_store_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    a, same, b, less = (store_of(*one) for one in (("/a", ()), ("/a/.", ()), ("/b", ()), ("/a", ("/a/x",))))
    assert a == same
    assert len({a, b, less}) == 3
    assert a.parent == tmp_path / "otpy"
    remove(a)


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
                while not over.is_set():
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
