"""A program of two for rows about several of them: an engine on a store, until it is killed."""

from __future__ import annotations

import sys
import time

import otpy
from benchmarks.programs import say
from otpy import jobs


@jobs.job(timeout=None)
def long() -> None:
    """Say that it has begun, and go on."""
    say("begun")
    time.sleep(600.0)


@jobs.job
def tell() -> None:
    """Say when it begins."""
    say("begun")


@jobs.job(name="noop")  # as it is called, whoever imports this or runs it
def noop() -> None:
    """Nothing."""


KINDS = {"long": long, "tell": tell, "noop": noop}
IDLE = jobs.Crew(name="pool", queues=("nobody's",))


def main(path: str, lease: float, role: str = "work") -> None:
    """Run the engine; each line that comes in enqueues a job of that kind. One to `enqueue` does none itself."""
    system = otpy.System("program")
    system.start(jobs.engine(path, [*KINDS.values()], lease=lease, crews=() if role == "work" else (IDLE,)))
    say("ready")
    for line in sys.stdin:
        spec, at = KINDS[line.strip()].new(), time.monotonic()
        jobs.of(system).enqueue(spec)
        say("enqueued", at)
    time.sleep(600.0)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:])
