"""Run the tests again and again, and name what fails even once.

    python -m tests.stress.again --runs 100
    python -m tests.stress.again --runs 30 --hectic tests/runtime tests/places

`--hectic` has threads change places as often as they can, beside a process for each processor that only computes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "--tb=short", "--no-header", "-p", "no:cacheprovider", "-o", "console_output_style=classic")
HOG = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
LAST = re.compile(r"^.* in [\d.]+s.*$", re.MULTILINE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; returns 1 when anything has failed."""
    asked = _parse(arguments)
    failures: Counter[str] = Counter()
    with _hogs((os.cpu_count() or 1) if asked.hectic else 0):
        for number in range(1, asked.runs + 1):
            failures.update(_run(number, asked))
    for name, times in failures.most_common():
        _say(f"{name} has failed in {times} of {asked.runs} runs")
    _say(f"{asked.runs} runs, {_counted(len(failures))} failed")
    return bool(failures)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=100, help="how many")
    parser.add_argument("--hectic", action="store_true", help="with threads and processes in each other's way")
    parser.add_argument("paths", nargs="*", help="files and folders, and options of pytest behind --; the whole suite")
    return parser.parse_args(arguments)


def _run(number: int, asked: argparse.Namespace) -> list[str]:
    """Run once, say how it went, and return what has failed."""
    plugins = ("-p", "stress.hectic") if asked.hectic else ()
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *plugins, *asked.paths],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    failed = FAILED.findall(output)
    if done.returncode and not failed:
        failed = [f"pytest itself (status {done.returncode})"]
    found = LAST.findall(output)
    _say(f"run {number}: {found[-1].strip('= ') if found else output[-500:]} ({time.monotonic() - began:.0f} s)")
    if failed:
        _say(output)
    return failed


@contextmanager
def _hogs(count: int) -> Iterator[None]:
    """So many processes that only compute, and end with this one, however it ends."""
    hogs = [subprocess.Popen([sys.executable, "-c", HOG]) for _ in range(count)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def _counted(failed: int) -> str:
    return f"{failed or 'none'} of the tests {'has' if failed < 2 else 'have'}"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
