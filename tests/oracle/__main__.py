"""Plays many scenarios on OTP and on otpy: `python -m tests.oracle --rounds 5000 --seed 1`."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from . import paths  # noqa: F401 - before the others
from .beam import Beam
from .compare import DifferentError
from .families import FAMILIES
from .places import PLACES
from .search import Search

EVERY = 100
"""Rounds between two lines of progress."""


def main() -> int:
    """Returns the exit status: 1 at a difference."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", choices=[family.name for family in FAMILIES], help="scenarios of one kind only")
    parser.add_argument("--place", choices=PLACES, default="pool", help="where the workers run")
    options = parser.parse_args()
    logging.getLogger("otpy").setLevel(logging.CRITICAL + 1)
    place = PLACES[options.place]
    families = tuple(family for family in place.families if options.family in {None, family.name})
    search = Search(options.rounds, options.seed, families, place)
    began = time.monotonic()

    def tell(played: int) -> None:
        if played % EVERY == 0:
            say(f"{played} of {options.rounds} rounds, {time.monotonic() - began:.0f} s")

    with Beam() as beam:
        try:
            search.run(beam, tell=tell)
        except DifferentError as error:
            say(f"seed {options.seed}: OTP and otpy part in round {search.found}; the simplest scenario:\n{error}")
            return 1
    say(f"seed {options.seed}: {search.played} rounds, all equal, {time.monotonic() - began:.0f} s")
    return 0


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
