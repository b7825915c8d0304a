"""Agents and their hub on a network that does all it can, and not a reading is lost or counted twice: three programs.

    python -m examples.fleet_story --agents 8 --seconds 2 --every 0.2 --acts 4 --seed 2

prints:

    what each has, and its log, is in ...
      0.0 s  the hub takes what comes, and its answers are lost
    ...
    ...  all is well again
    ...
           0  missing
           0  counted twice
           0  out of order
           0  nobody has read
    ...
"""

from __future__ import annotations

import argparse
import importlib.util
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from examples.fleet_story.proof import prove

HERE = Path(__file__).parent


GAVE_UP, TRIES = 70, 3  # a program that ends so often in a row with this code will not get better


class Part:
    """One of the three programs, started again whenever it ends, until all is done: what systemd does on a machine."""

    over, gave_up = threading.Event(), threading.Event()
    """That all is done, or one of the parts gave up; that one did."""

    def __init__(self, folder: Path, name: str, pause: float, *, says: bool = False, **options: object) -> None:
        given = [f"--{word}={value}" for word, value in options.items()]
        self.command = [sys.executable, str(HERE / f"{name}.py"), str(folder), *given]
        self.name, self.log = name, (folder / f"{name}.log").open("w")
        self.pause, self.is_over = pause, threading.Event()
        self.begin()
        self.said = self.program.stdout.readline() if says else ""
        self.thread = threading.Thread(target=self.keep)
        self.thread.start()

    def begin(self) -> None:
        self.program = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=self.log, text=True)  # noqa: S603

    def keep(self) -> None:
        tries = 0
        while True:
            for line in self.program.stdout:
                print(line, end="", flush=True)
                if "the hub has all" in line:
                    self.is_over.set()
            tries = tries + 1 if self.program.wait() == GAVE_UP else 0
            if tries == TRIES:
                self.give_up()
            if self.is_over.wait(self.pause):
                break
            self.begin()
        self.over.set()

    def give_up(self) -> None:
        last = Path(self.log.name).read_text().splitlines()[-1:]
        print(f"the {self.name} gave up {TRIES} times in a row:", *last, file=sys.stderr)
        self.is_over.set()

    def end(self) -> None:
        self.is_over.set()
        self.program.terminate()
        self.thread.join()
        self.log.close()


def held_port(parts: ExitStack) -> int:
    """One at which the hub may listen again and again: no other program gets it, for a socket is bound to it."""
    held = parts.enter_context(socket.socket())
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    return held.getsockname()[1]


def main(folder: Path, options: argparse.Namespace) -> int:
    pause, seed = options.seconds / 30, options.seed
    asked = {"readings": int(options.seconds / options.every), "pace": options.every, "agents": options.agents}
    print(f"what each has, and its log, is in {folder}", flush=True)
    with ExitStack() as parts:
        port = held_port(parts)
        hub = Part(folder, "hub", pause, port=port, rate=options.rate)
        parts.callback(hub.end)
        faults = Part(
            folder, "faults", pause, says=True, hub=port, seconds=options.seconds, acts=options.acts, seed=seed
        )
        parts.callback(faults.end)
        agents = Part(folder, "agents", pause, hub=faults.said.split()[-1], seed=seed, **asked)
        parts.callback(agents.end)
        Part.over.wait()  # until the hub has taken all readings
        is_done = not Part.gave_up.is_set() and agents.program.returncode == 0
    return 0 if is_done and prove(folder, options.rate) else 1


def lacking() -> str | None:
    """What is not there of what the programs need."""
    found = importlib.util.find_spec("prometheus_client")
    return None if found else "the hub and its agents have metrics: pip install 'otpy[metrics]', or '.[metrics]' here"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="for which the trouble lasts")
    parser.add_argument("--every", type=float, default=2.0, help="seconds, or so, between two readings of an agent")
    parser.add_argument("--rate", type=float, default=100.0, help="calls in a second that the hub can bear")
    parser.add_argument("--acts", type=int, default=9, help="of the nine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where all of it is kept; a new one is made and removed")
    options = parser.parse_args()
    if missing := lacking():
        parser.error(missing)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: sys.exit(1))  # and ends its parts
    if options.folder:
        raise SystemExit(main(options.folder, options))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(main(Path(folder), options))
