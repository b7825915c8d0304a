"""Plays chaos, and tells what was wrong.

`python -m tests.jobs.chaos --rounds 500` plays rounds on files; with `--store postgresql --seconds 60` three programs
work on one server for so long, and with `--partition` from hosts of their own (root, and iproute2).
"""

from __future__ import annotations

import argparse
import gc
import importlib
import os
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from .rounds import play_rounds

if TYPE_CHECKING:
    from collections import Counter

LOADED = ("cronsim", "otpy.places.loop_crew", "otpy.places.process.helper", "otpy.runtime.async_turn")
"""What each program would import otherwise."""


def say(*words: str, sep: str = " ") -> None:
    """Tell whoever watches."""
    sys.stdout.write(sep.join(words) + "\n")


def main() -> int:
    """Play them; the exit status is 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.jobs.chaos", description=__doc__)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--rounds", type=int, default=20, help="on files: how many")
    parser.add_argument("--at-once", type=int, default=4, help="on files: how many at a time")
    parser.add_argument("--seconds", type=float, default=60.0, help="on a server: how long faults last")
    parser.add_argument("--partition", action="store_true", help="on a server: hosts are cut off, and nothing else")
    parser.add_argument("--seed", type=int, default=0, help="the number of the first round, or of the run")
    parser.add_argument("--keep", type=Path, default=None, help="where folders of bad ones are kept")
    words = parser.parse_args()
    began = time.monotonic()
    for name in LOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # programs, which are copies of this one, look through nothing of it
    is_server = words.partition or words.store == "postgresql"
    how, bad = _server(words) if is_server else _files(words)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.monotonic() - began
    say(f"{how}, {bad} bad, {seconds:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of CPU")
    return 1 if bad else 0


def _files(words: argparse.Namespace) -> tuple[str, int]:
    told = play_rounds(words.seed, words.rounds, at_once=words.at_once, keep=words.keep)
    for seed, found in sorted(told.bad.items()):
        say(f"round {seed}:", *found, sep="\n  ")
    say(_numbers(told.faults))
    return f"{words.rounds} rounds", len(told.bad)


def _server(words: argparse.Namespace) -> tuple[str, int]:
    from .runs import play_partition, play_storm  # noqa: PLC0415 - an extra

    run = play_partition if words.partition else play_storm
    found, told = run(words.seed, words.seconds, keep=words.keep)
    if found:
        say(f"seed {words.seed}:", *found, sep="\n  ")
    say(_numbers(told))
    return f"{words.seconds:g} s of faults", len(found)


def _numbers(told: Counter[str]) -> str:
    return ", ".join(f"{number} {how}" for how, number in sorted(told.items()))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
