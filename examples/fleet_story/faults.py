"""The network between the agents and their hub, and whoever pulls plugs.

    python faults.py FOLDER [--hub 8700] [--seconds 60] [--seed 1]

It says where agents reach the hub through it, plays each of its acts once in an order by chance, and then leaves the
network in order until it is stopped. Whoever has started the hub and the agents starts them again when it kills them.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.testing.faults import Link

if TYPE_CHECKING:
    from collections.abc import Callable


class Story:
    def __init__(self, folder: Path, link: Link, seconds: float, seed: int) -> None:
        self.folder, self.link, self.chance = folder, link, random.Random(seed)
        self.begun, self.each = 0.0, seconds / len(self.acts())

    def acts(self) -> dict[str, Callable[[], None]]:
        return {
            "no packet gets through": self.link.cut,
            "calls are taken, and nobody answers": self.link.stall,
            "each packet takes its time": lambda: self.link.slow(self.each / 10),
            "the hub takes what comes, and its answers are lost": self.link.lie,
            "half of each call comes through, then the line is cut": self.link.half,
            "the hub is killed, as by kill -9": lambda: self.kill("hub"),
            "all agents are killed, as by kill -9": lambda: self.kill("agents"),
        }

    def play(self) -> None:
        """Begins when both are there to be played with."""
        while not all((self.folder / f"{program}.pid").exists() for program in ("hub", "agents")):
            time.sleep(0.05)
        self.begun = time.monotonic()
        acts = list(self.acts().items())
        self.chance.shuffle(acts)
        for words, act in acts:
            self.say(words)
            act()
            time.sleep(self.each * self.chance.uniform(0.5, 0.8))
            self.link.heal()
            time.sleep(self.each * 0.2)
        self.say("all is well again")

    def kill(self, program: str) -> None:
        os.kill(int((self.folder / f"{program}.pid").read_text()), signal.SIGKILL)

    def say(self, words: str) -> None:
        print(f"{time.monotonic() - self.begun:5.1f} s  {words}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hub", type=int, default=8700, help="its port")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with Link(("127.0.0.1", options.hub)) as link:
        print("agents reach their hub at {}:{}".format(*link.address), flush=True)
        Story(options.folder, link, options.seconds, options.seed).play()
        signal.pause()
