"""The network between the agents and their hub, and whoever pulls plugs.

    python faults.py FOLDER [--hub 8700] [--seconds 60] [--acts 9] [--seed 1]

It says where agents reach the hub through it, plays its acts, each once, in an order by chance, and then leaves the
network in order until it is stopped. Whoever has started the hub and the agents starts them again when it kills them.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.testing.faults import Link

if TYPE_CHECKING:
    from collections.abc import Callable


class Story:
    def __init__(self, folder: Path, link: Link, seconds: float, acts: int, seed: int) -> None:
        self.folder, self.link, self.chance = folder, link, random.Random(seed)
        self.begun, self.most, self.each = 0.0, acts, seconds / acts

    def acts(self) -> dict[str, Callable[[], None]]:
        return {
            "no packet gets through": self.link.cut,
            "calls are taken, and nobody answers": self.link.stall,
            "each packet takes its time": lambda: self.link.slow(self.each / 10),
            "the hub takes what comes, and its answers are lost": self.link.lie,
            "half of each call comes through, then the line is cut": self.link.half,
            "the hub is killed, as by kill -9": lambda: self.send(signal.SIGKILL, "hub"),
            "all agents are killed, as by kill -9": lambda: self.send(signal.SIGKILL, "agents"),
            "the hub is told to stop": lambda: self.send(signal.SIGTERM, "hub"),
            "all agents are told to stop, twice": lambda: self.send(signal.SIGTERM, "agents", times=2),
        }

    def play(self) -> None:
        """Begins when both are there to be played with."""
        for program in ("hub", "agents"):
            self.running(program)
        self.begun = time.monotonic()
        acts = list(self.acts().items())
        self.chance.shuffle(acts)
        for words, act in acts[: self.most]:
            self.say(words)
            act()
            time.sleep(self.each * self.chance.uniform(0.5, 0.8))
            self.link.heal()
            time.sleep(self.each * 0.2)
        self.say("all is well again")

    def send(self, number: signal.Signals, program: str, times: int = 1) -> None:
        process = self.running(program)
        (self.folder / f"{program}.pid").unlink()  # the next one that runs writes its own
        with suppress(ProcessLookupError):  # the second time it may be away already
            for _ in range(times):
                os.kill(process, number)
                time.sleep(self.each / 4)

    def running(self, program: str) -> int:
        path = self.folder / f"{program}.pid"
        while not path.exists() or not path.read_text().endswith("\n"):
            time.sleep(0.05)
        return int(path.read_text())

    def say(self, words: str) -> None:
        print(f"{time.monotonic() - self.begun:5.1f} s  {words}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hub", type=int, default=8700, help="its port")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--acts", type=int, default=9, help="so many, in an order by chance; there are nine")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with Link(("127.0.0.1", options.hub)) as link:
        print("agents reach their hub at {}:{}".format(*link.address), flush=True)
        Story(options.folder, link, options.seconds, options.acts, options.seed).play()
        signal.pause()
