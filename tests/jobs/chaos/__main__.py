"""`python -m tests.jobs.chaos --rounds 500`: plays rounds and tells what was wrong in which."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time
from pathlib import Path

from .rounds import play_rounds


def say(*words: str, sep: str = " ") -> None:
    """Tell whoever watches."""
    sys.stdout.write(sep.join(words) + "\n")


def main() -> int:
    """Play them; the exit status is 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.chaos", description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first round")
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--keep", type=Path, default=None, help="where folders of bad rounds are kept")
    words = parser.parse_args()
    began = time.monotonic()
    told = play_rounds(words.seed, words.rounds, at_once=words.at_once, keep=words.keep)
    for seed, found in sorted(told.bad.items()):
        say(f"round {seed}:", *found, sep="\n  ")
    say(", ".join(f"{number} {how}" for how, number in sorted(told.faults.items())))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.monotonic() - began
    say(f"{words.rounds} rounds, {len(told.bad)} bad, {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU")
    return 1 if told.bad else 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
