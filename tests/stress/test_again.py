"""The command that runs the tests again and again: on a few made-up tests."""

from __future__ import annotations

import fcntl
import io
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.stress.again import ROOT, main
from tests.stress.lanes import Lane, failures
from tests.stress.plays import ended, must_be_one_thread

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME = "test_made_up.py::test_by_turns[a turn]"
LEAN = ["-p", "no:otpy", "-p", "no:hypothesispytest"]
"""Plugins that these tests do not need, and which take longer than they do."""

BY_TURNS = """
import fcntl, os, pathlib, signal, subprocess, tempfile, pytest

@pytest.mark.parametrize("turn", ["a turn"])
def test_by_turns(turn, tmp_path):
    mine = pathlib.Path(__file__).parent / f"run-{os.getpid()}"
    mine.write_text(f"{os.getsid(0)} {tmp_path} {tempfile.gettempdir()} {accessible()} {hash('seed')}")
    number = next(number for number in range(1, 9) if claimed(number))
    print("turn", number)
    assert number != 2
    if number == 3:
        lock = (pathlib.Path(__file__).parent / "lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.Popen(["sleep", "60"], start_new_session=True, pass_fds=[lock.fileno()])
        os.kill(os.getpid(), signal.SIGSEGV)

def accessible():
    folder = pathlib.Path(tempfile.gettempdir())
    return f"{folder.parent.stat().st_mode:o} {folder.stat().st_mode:o}"

def claimed(number):
    try:
        (pathlib.Path(__file__).parent / f"turn-{number}").mkdir()
    except FileExistsError:
        return False
    return True

def test_that_passes():
    pass
"""

HANGS = """
import os, pathlib, time, pytest

@pytest.fixture
def told():
    told = os.open(pathlib.Path(__file__).parent / "told", os.O_WRONLY)
    yield told
    os.write(told, b"it ends in order")
    assert not "counted, for it was ended"

def test_that_fails():
    assert not "yet"

def test_that_hangs(told):
    os.write(told, b"%d\\n" % os.getpid())
    while True:  # and no `signal.pause`, which CPython may begin with a signal that it has not handled
        time.sleep(0.01)
"""

STUCK = """
import faulthandler, signal
faulthandler.enable()
print("stuck", flush=True)
while True:
    signal.pause()
"""


class Played(NamedTuple):
    """What the command has done with a suite."""

    folder: Path
    status: int
    said: list[str]

    @property
    def seen(self) -> dict[int, list[str]]:
        """By its process what each run has seen: session, a path, temporary directory, modes above and of it, hash."""
        return {int(file.name[4:]): file.read_text().split() for file in self.folder.glob("run-*")}


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder for a suite, which is the root of what it plays."""
    folder = tmp_path / "suite"
    folder.mkdir()
    (folder / "pytest.ini").touch()
    return folder


@pytest.fixture
def stuck() -> Iterator[subprocess.Popen[str]]:
    """A program that does not end, as a run does not."""
    command = [sys.executable, "-c", STUCK]
    program = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == "stuck\n"
        yield program
        program.kill()


def again(suite: Path, source: str, *options: str) -> int:
    (suite / "test_made_up.py").write_text(source)
    return main(["--keep", str(suite / "kept"), *options, str(suite), "--", *LEAN])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Four runs of a suite one of whose tests passes, fails, crashes and passes."""
    folder = tmp_path_factory.mktemp("suite")
    (folder / "pytest.ini").touch()
    options = ["--runs", "4", "--beside", "2", "--afresh", "2"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()) as said:
        patch.delenv("PYTHONHASHSEED", raising=False)
        status = again(folder, BY_TURNS, *options)
    return Played(folder, status, said.getvalue().splitlines())


def test_it_says_first_what_is_tested(played: Played) -> None:
    commit = r"no commit|commit \w+ .*, (nothing differs|\d+ files differ)"  # a copy of the tree may have none
    expected = rf"({commit}); CPython 3\.[\d.]+; 2 tests; what fails is kept in /.*"
    assert re.fullmatch(expected, played.said[0])


def test_it_says_how_each_run_went(played: Played) -> None:
    lines = sorted(re.sub(r"\d+ s", "1 s", line[7:]) for line in played.said if line.startswith("run"))

    assert lines == [
        "failed, 1 failed, 1 passed (1 s, 1 s of processor time)",
        "failed, it did not come to its end (1 s, 1 s of processor time)",
        "passed, 2 passed (1 s, 1 s of processor time)",
        "passed, 2 passed (1 s, 1 s of processor time)",
    ]


def test_it_says_last_what_has_failed_how_often(played: Played) -> None:
    *_, first, second, last = played.said

    assert {first, second} == {f"{name} has failed in 1 of 4 runs" for name in (NAME, f"{NAME} (died of SIGSEGV)")}
    assert (last, played.status) == ("4 runs of 4, 2 clean, 2 of the tests have failed", 1)


def test_the_output_of_what_fails_is_kept(played: Played) -> None:
    outputs = {Path(line.partition(": ")[2]) for line in played.said if line.startswith("  its output")}

    assert outputs == {*played.folder.glob("kept/*/*")}
    kept = "".join(output.read_text() for output in outputs)
    assert ("turn 2" in kept, "Fatal Python error: Segmentation fault" in kept) == (True, True)


def test_each_run_is_a_session_with_directories_of_its_own_of_which_nothing_stays(played: Played) -> None:
    assert [int(session) for session, *_ in played.seen.values()] == [*played.seen]
    folders = {Path(folder) for _, _, folder, *_ in played.seen.values()}
    assert len(folders) == 4
    assert all(Path(made).is_relative_to(folder) for _, made, folder, *_ in played.seen.values())
    assert not any(folder.parent.exists() for folder in folders)


def test_what_a_run_that_crashed_has_begun_is_ended(played: Played) -> None:
    """Also in a session of its own, as a PostgreSQL server is."""
    with (played.folder / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # which it has held until it ended


def test_a_server_that_runs_as_another_user_gets_at_its_place_among_the_temporary_files(played: Played) -> None:
    assert {tuple(modes) for _, _, _, *modes, _ in played.seen.values()} == {("40711", "41777")}


def test_few_runs_have_the_order_of_sets_in_common(played: Played) -> None:
    seeds = Counter(seed for *_, seed in played.seen.values())

    assert max(seeds.values()) <= 2


def test_none_is_begun_when_the_time_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--for", "0", "--runs", "7"]) == 0

    assert capsys.readouterr().out == "0 runs of 7, 0 clean, none of the tests has failed\n"


def test_tests_that_cannot_be_read_end_it(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert again(suite, "import nothing_of_this_name") == 1

    _, name, output, *_, last = capsys.readouterr().out.splitlines()
    assert name == "  pytest itself, while it collected the tests (status 2)"
    assert "No module named 'nothing_of_this_name'" in Path(output.partition(": ")[2]).read_text()
    assert last == "1 runs of 100, 0 clean, 1 of the tests has failed"


def test_threads_begun_while_the_tests_are_read_are_refused() -> None:
    go = threading.Event()
    thread = threading.Thread(target=go.wait, name="mine")
    thread.start()
    try:
        with pytest.raises(pytest.UsageError, match=r"has started threads, which no fork has: MainThread, (.*, )?mine"):
            must_be_one_thread()
    finally:
        go.set()
        thread.join()


def test_when_it_is_to_end_it_ends_all_it_has_begun_and_says_what_it_knows(suite: Path) -> None:
    (suite / "test_made_up.py").write_text(HANGS)
    os.mkfifo(suite / "told")
    command = [sys.executable, "-m", "tests.stress.again", "--keep", str(suite / "kept"), str(suite), "--", *LEAN]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as program:
        with (suite / "told").open() as told:
            pid = int(told.readline())
            program.terminate()
            assert told.read() == "it ends in order"
        said, _ = program.communicate()

    assert re.sub(r"\d+ s\b", "1 s", said).splitlines()[-6:] == [
        "interrupted",
        "run 1: failed, it was cut short (1 s, 1 s of processor time)",
        "  test_made_up.py::test_that_fails",
        f"  its output: {next(suite.glob('kept/*/*'))}",
        "test_made_up.py::test_that_fails has failed in 1 of 1 runs",
        "1 runs of 100, 0 clean, 1 of the tests has failed",
    ]
    assert program.returncode == 1
    assert not Path(f"/proc/{pid}").exists()


def test_a_lane_that_has_not_been_heard_yet_leaves_no_run_behind(suite: Path) -> None:
    """It was taken for one that collects, and killed, although it played already."""
    (suite / "test_made_up.py").write_text(HANGS)
    os.mkfifo(suite / "told")
    lane = Lane([str(suite), *LEAN], suite, 60.0)
    lane.order(1)
    with (suite / "told").open() as told:
        assert int(told.readline()) > 0
        lane.hang_up()
        assert told.read() == "it ends in order"
    outcome = lane.close()
    assert outcome is not None
    assert outcome.failed == ("test_made_up.py::test_that_fails",)


def test_what_a_lane_says_at_once_is_heard_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in a hundred hung: the end of the made-up one was told before its command had heard that it begins."""
    far: list[socket.socket] = []
    popen = subprocess.Popen

    def begun(*_: object, pass_fds: list[int], **__: object) -> subprocess.Popen[bytes]:
        far.append(socket.socket(fileno=os.dup(pass_fds[0])))
        return popen(["true"])

    monkeypatch.setattr(subprocess, "Popen", begun)
    lane = Lane([], tmp_path, 60.0)
    lane.order(1)
    with far[0]:
        ended = {"status": 0, "hung": False, "seconds": 1.0, "processor": 1.0}
        far[0].sendall(b"".join(json.dumps(words).encode() + b"\n" for words in ({"tests": 2}, ended)))

        assert lane.hear() is None
        assert select.select([lane], [], [], 0.0)[0] == [lane]
        assert str(lane.hear()) == "run 1: passed, it did not come to its end (1 s, 1 s of processor time)"
    lane.close()


def test_one_that_hangs_shows_its_stacks(stuck: subprocess.Popen[str]) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        told = ended(stuck.pid, ours, patience=0.0)

    assert (told["status"], told["hung"]) == (-signal.SIGABRT, True)
    assert 'File "<string>", line' in stuck.communicate()[1]


@pytest.mark.parametrize(
    ("failed", "now", "status", "hung", "expected"),
    [
        ("", "", 0, False, ()),
        ("a\nb\na\n", "", 1, False, ("a", "b")),
        ("a\n", "b", -11, False, ("a", "b (died of SIGSEGV)")),
        ("", "b", -6, True, ("b (hung)",)),
        ("", "b", 3, False, ("b (status 3)",)),
        ("", "", 3, False, ("pytest itself (status 3)",)),
    ],
)
def test_its_notes_tell_what_has_failed(
    failed: str, now: str, status: int, *, hung: bool, expected: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "failed").write_text(failed)
    (tmp_path / "now").write_text(now)

    assert failures(tmp_path, status, hung=hung) == expected
