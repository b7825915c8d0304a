"""A program of two for the rows `failover_leases` and `rescue_leases`: an engine on a file, until it is killed."""

from __future__ import annotations

import sys
import time

import otpy
from otpy import jobs


def say(word: str) -> None:
    """One word, and when; the clock is the same for all programs of a machine."""
    sys.stdout.write(f"{word} {time.monotonic()}\n")
    sys.stdout.flush()


@jobs.job(timeout=None)
def long() -> None:
    """Say that it has begun, and go on."""
    say("begun")
    time.sleep(600.0)


def main(path: str, lease: float) -> None:
    """Run the engine; each line that comes in enqueues a job."""
    system = otpy.System("program")
    system.start(jobs.engine(path, [long], lease=lease))
    say("ready")
    for _ in sys.stdin:
        jobs.of(system).enqueue(long.new())
    time.sleep(600.0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
