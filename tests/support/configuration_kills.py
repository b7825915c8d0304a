"""A program with a configuration, killed at each step of a write: `configuration_kills.py FOLDER ROUNDS SEED`.

It loads otpy once; each round is a fork of it, made before any thread runs, that kills itself with SIGKILL when it has
come by a step for the n-th time: before and after a file is opened, written, synced, renamed and removed. After each
round another fork looks at what is there: it must start without a hub.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from support.configurations import Rates, program, running

STEPS = ("open", "write", "fsync", "replace", "unlink", "close")


class Points:
    """Counts down to the end."""

    def __init__(self, left: int) -> None:
        self.left = left

    def pass_by(self) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def watched(points: Points, function: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        points.pass_by()
        result = function(*args, **kwargs)
        points.pass_by()
        return result

    return run


def torn(points: Points) -> Any:
    """A write that a kill may cut in the middle."""
    whole = os.write

    def run(fd: int, data: Any) -> int:
        points.pass_by()
        done = whole(fd, bytes(data[: max(1, len(data) // 2)]))
        points.pass_by()
        return done

    return run


def play(folder: Path, first: int, points: Points) -> None:
    """Take up three versions one after the other; what `refresh` has returned is noted."""
    hub = Rates()
    one = running(folder / "limits", hub)
    log = os.open(folder / "returned", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    write = os.write
    for name in STEPS:
        setattr(os, name, torn(points) if name == "write" else watched(points, getattr(os, name)))
    hub.has(first)
    system = program(one)
    for version in range(first, first + 3):
        hub.has(version)
        one.refresh()
        write(log, f"{version}\n".encode())
        system.clock.advance(301.0)
    system.stop()


def look(folder: Path) -> dict[str, object]:
    """What the next program finds, without a hub."""
    hub = Rates()
    hub.error = ConnectionError("no hub")
    one = running(folder / "limits", hub)
    system = program(one)
    found = one.look()
    value = one.current()
    system.clock.advance(31.0)  # it survives that
    system.stop()
    return {"version": found.version, "value": value, "state": found.state, "fallback": found.fallback}


def forked(work: Any) -> int:
    pid = os.fork()
    if not pid:
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def main(folder: Path, rounds: int, seed: int) -> None:
    random = Random(seed)
    first, killed = 1, 0
    forked(lambda: play(folder, 1, Points(0)))
    seen = folder / "seen"
    for number in count(1):
        if number > rounds:
            break
        first += 3
        step = random.randrange(1, 370)
        code = forked(lambda first=first, step=step: play(folder, first, Points(step)))  # type: ignore[misc]
        killed += code == -signal.SIGKILL
        if code not in (0, -signal.SIGKILL):
            sys.exit(f"round {number} ended with {code}")
        code = forked(lambda: seen.write_text(json.dumps(look(folder))))
        if code:
            sys.exit(f"after round {number} (step {step}) it did not start: {code}")
        found = json.loads(seen.read_text())
        returned = int((folder / "returned").read_text().split()[-1])
        if not returned <= found["version"] <= first + 2 or found["value"] != found["version"] * 10:
            sys.exit(f"after round {number} (step {step}): {found}, and {returned} had returned")
    sys.stdout.write(f"{killed}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
