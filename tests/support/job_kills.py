"""A program with jobs that is killed at each of its commits: `python job_kills.py FOLDER`; prints how often.

It loads otpy once; each round is a fork of it, made before any thread runs, which a fault kills before or after its
n-th commit. Another fork then does what is left, on virtual time, and says what it has found.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path

from otpy import jobs
from otpy.testing import VirtualClock, VirtualSystem, faults

NUMBERS = (1, 2)
KILLED = -signal.SIGKILL


def note(folder: Path, what: str, value: object) -> None:
    """On the disk, whatever becomes of this program."""
    with (folder / what).open("a") as file:
        file.write(f"{value}\n")


def noted(folder: Path, what: str) -> list[int]:
    return [int(line) for line in (folder / what).read_text().split()] if (folder / what).exists() else []


def kinds(folder: Path) -> list[jobs.Kind]:
    @jobs.job(name="note")
    def run(number: int) -> int:
        note(folder, "runs", number)
        return number

    return [run]


def play(folder: Path) -> None:
    """Enqueue some jobs and do them."""
    system = VirtualSystem("first", seed=1)
    [kind] = kinds(folder)
    system.start(jobs.engine(folder / "jobs.db", [kind], lease=10.0))
    for number in NUMBERS:
        jobs.of(system).enqueue(kind.new(number))
        note(folder, "returned", number)
    system.clock.advance(0.5)
    system.stop()


def go_on(folder: Path) -> None:
    """What the next program finds, and does, after the lease of the first is over."""
    system = VirtualSystem("second", seed=1, clock=VirtualClock(1_000.0))
    [kind] = kinds(folder)
    system.start(jobs.engine(folder / "jobs.db", [kind], lease=10.0))
    client = jobs.of(system)
    before = [job.arguments[0][0] for job in client.find(state="done")]
    runs = len(noted(folder, "runs"))
    system.clock.advance(25.0)
    after = {job.arguments[0][0]: job.state for job in client.find()}
    found = {"before": before, "new": noted(folder, "runs")[runs:], "after": after}
    (folder / "found").write_text(json.dumps(found))
    system.stop()


def forked(work: object, *args: object) -> int:
    pid = os.fork()
    if not pid:
        work(*args)  # type: ignore[operator]
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def killed_at(point: str, number: int, folder: Path) -> bool:
    """Whether there was an n-th commit to be killed at."""
    folder.mkdir(parents=True)

    def first() -> None:
        with faults.armed(faults.Script().at(point, faults.kill(), after=number - 1)):
            play(folder)

    code = forked(first)
    if code not in (0, KILLED) or forked(go_on, folder):
        sys.exit(f"{point} {number}: the program ended with {code}, or the next one failed")
    found = json.loads((folder / "found").read_text())
    problems = [
        *(f"job {one} was lost" for one in noted(folder, "returned") if found["after"].get(str(one)) != "done"),
        *(f"job {one} was done, and ran again" for one in found["before"] if one in found["new"]),
        *(f"job {one} is {state}" for one, state in found["after"].items() if state != "done"),
        *(f"job {one} ran thrice" for one in NUMBERS if noted(folder, "runs").count(one) > 2),
    ]
    if problems:
        sys.exit(f"{point} {number}: {'; '.join(problems)}")
    return code == KILLED


def main(folder: Path) -> None:
    killed = 0
    for point in ("jobs.commit.before", "jobs.commit.after"):
        for number in count(1):
            if not killed_at(point, number, folder / point / str(number)):
                break
            killed += 1
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
