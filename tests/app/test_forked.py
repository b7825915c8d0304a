"""Programs that are forked are what Python itself would have started, in all that they and their parent can see."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from support.forked import Forked, run

if TYPE_CHECKING:
    from pathlib import Path

LOOK = """
names = {name: str(value).partition(" at 0x")[0] for name, value in globals().items()}
import atexit, gc, json, os, pathlib, resource, signal, sys, threading, warnings
import __main__

atexit.register(lambda: os.write(1, b"told at exit"))
link = lambda name: os.readlink(f"/proc/self/{name}")
status = dict(line.split(":", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines())
streams = [sys.stdin, sys.stdout, sys.stderr]
seen = {
    "names": [names, [*vars(__main__)]],
    "words": [sys.argv, sys.orig_argv, sys.executable, sys.path, sys.prefix],
    "flags": str(sys.flags),
    "warnings": [sys.warnoptions, [str(each) for each in warnings.filters]],
    "signals": [str(signal.getsignal(number)) for number in signal.valid_signals()],
    "masks": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt", "NoNewPrivs", "Groups", "Umask")],
    "threads": [len(os.listdir("/proc/self/task")), str(threading.enumerate()).split(",")[0]],
    "is it who it says": threading.get_native_id() == os.getpid() == threading.main_thread().native_id,
    "family": [os.getppid(), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(), os.nice(0)],
    "place": [os.getcwd(), link("exe"), dict(os.environ)],
    "known to others": pathlib.Path("/proc/self/environ").exists(),
    "limits": [resource.getrlimit(number) for number in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE)],
    "handles": len(os.listdir("/proc/self/fd")),
    "streams": [[str(each), each.errors, each.line_buffering, each.write_through, each.seekable()] for each in streams],
    "below": [[str(each.buffer), each is getattr(sys, f"__{each.name[1:-1]}__"), each.isatty()] for each in streams],
    "reads": sys.stdin.read(),
    "garbage": [gc.isenabled(), gc.get_threshold()],
    "traced": [sys.gettrace(), sys.getprofile(), sys.getrecursionlimit(), sys.getswitchinterval()],
    "hooks": [sys.excepthook is sys.__excepthook__, threading.excepthook is threading.__excepthook__],
}
print(json.dumps(seen), flush=True)
print("last words", file=sys.stderr)
sys.exit(3)
"""


class End(NamedTuple):
    """What a program has said and complained of, and its exit status."""

    said: str
    complained: str
    code: int


def both(command: list[str], **options: object) -> list[End]:
    """A program that is started by Python, and one that is forked."""
    ends = list[End]()
    for start in (subprocess.Popen, Forked):
        with start(command, stdin=-1, stdout=-1, stderr=-1, text=True, **options) as program:  # type: ignore[call-overload]
            said, complained = program.communicate("a word")
        ends.append(End(said, complained, program.returncode))
    return ends


@pytest.mark.parametrize("kind", ["-c", "-m", "file"])
def test_a_program_sees_what_it_would_see_in_an_interpreter_of_its_own(tmp_path: Path, kind: str) -> None:
    (tmp_path / "look.py").write_text(LOOK)
    what = {"-c": ["-B", "-c", LOOK], "-m": ["-X", "utf8", "-m", "look"], "file": ["look.py"]}[kind]
    environment = os.environ | {"A_WORD": "für alle", "PYTHONUNBUFFERED": "1" if kind == "-m" else ""}

    real, forked = both(
        [sys.executable, "-W", "error", *what, "one", "--two"],
        cwd=tmp_path,
        env=environment,
        start_new_session=kind == "file",
    )

    (seen, last), (own, own_last) = (each.said.split("\n") for each in (real, forked))
    assert json.loads(own) == json.loads(seen)
    assert last == own_last == "told at exit"
    assert real[1:] == forked[1:] == ("last words\n", 3)


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ("pass", 0),
        ("raise SystemExit('no more')", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("signal.raise_signal(signal.SIGABRT)", -signal.SIGABRT),
        ("threading.Thread(target=lambda: (time.sleep(0.01), print('late'))).start()", 0),
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", 0),
    ],
)
def test_a_program_ends_as_it_would_in_an_interpreter_of_its_own(end: str, code: int) -> None:
    source = f"import os, signal, threading, time\nprint('said')\n{end}\n"

    real, forked = both([sys.executable, "-c", source])

    assert (forked.said, forked.code) == (real.said, real.code)
    assert forked.complained.splitlines()[-1:] == real.complained.splitlines()[-1:]
    assert real.code == code


def test_what_goes_wrong_is_told_as_ever_but_for_one_line_more() -> None:
    """In which the program begins."""
    real, forked = both([sys.executable, "-c", "def fail():\n    1 / 0\nfail()"])

    told, begins, *lines = (line for line in forked.complained.splitlines() if not line.startswith("    "))
    assert begins.endswith("in <module>")
    assert [told, *lines] == [line for line in real.complained.splitlines() if not line.startswith("    ")]
    assert real.code == forked.code == 1


def test_programs_draw_different_numbers() -> None:
    source = "import random, secrets, tempfile; print(random.random(), next(tempfile._get_candidate_names()))"

    words = [word for _ in range(2) for word in run([sys.executable, "-c", source]).stdout.split()]

    assert len({*words}) == 4


def test_a_program_takes_nobody_elses_orphans() -> None:
    """The tests are the parent of orphans only while a program is made."""
    assert run([sys.executable, "-c", "pass"]).returncode == 0

    orphan = "import os; os.fork() or (print(os.getpid(), flush=True), os.read(0, 1), print(os.getppid()))"
    with Forked([sys.executable, "-c", f"{orphan}"], stdin=-1, stdout=-1) as program:
        assert program.wait(20) == 0
        said, _ = program.communicate(b"!")
    assert int(said.split()[1]) != os.getpid()
