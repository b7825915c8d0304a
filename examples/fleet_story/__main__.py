"""Agents and their hub on a network that does all it can, and not a reading is lost or counted twice: three programs.

    python -m examples.fleet_story --agents 20 --seconds 3 --every 0.2 --seed 1

prints:

      0.0 s  the hub takes what comes, and its answers are lost
    ...
           0  missing
           0  counted twice
           0  out of order
           0  nobody has read
    ...
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from examples.fleet_story.proof import prove

HERE = Path(__file__).parent


class Part:
    """One of the three programs, started again when it is killed: what systemd does on a machine."""

    def __init__(self, folder: Path, name: str, pause: float, **options: object) -> None:
        given = [f"--{word}={value}" for word, value in options.items()]
        self.command = [sys.executable, str(HERE / f"{name}.py"), str(folder), *given]
        self.log = (folder / f"{name}.log").open("w")
        self.pause, self.is_over = pause, threading.Event()
        self.output = None if name == "faults" else self.log
        self.begin()
        self.thread = threading.Thread(target=self.keep)
        self.thread.start()

    def begin(self) -> None:
        self.program = subprocess.Popen(self.command, stdout=self.output, stderr=self.log)  # noqa: S603 - our own

    def keep(self) -> None:
        while self.program.wait() == -signal.SIGKILL and not self.is_over.wait(self.pause):
            self.begin()

    def end(self) -> None:
        self.is_over.set()
        self.program.terminate()
        self.thread.join()
        self.log.close()


def free_ports(number: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def main(folder: Path, options: argparse.Namespace) -> int:
    hub_port, port = free_ports(2)
    pace, seed, pause = options.every, options.seed, options.seconds / 30
    hub = Part(folder, "hub", pause, port=hub_port, rate=options.rate)
    faults = Part(
        folder, "faults", pause, port=port, hub=f"127.0.0.1:{hub_port}", seconds=options.seconds, seed=seed
    )  # fmt: skip
    agents = Part(
        folder, "agents", pause, agents=options.agents, hub=f"127.0.0.1:{port}", pace=pace, seed=seed,
        readings=int(options.seconds / pace),
    )  # fmt: skip
    agents.thread.join()  # until the hub has taken all readings
    for part in (agents, faults, hub):
        part.end()
    return 0 if agents.program.returncode == 0 and prove(folder, options.rate) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0, help="for which the trouble lasts")
    parser.add_argument("--every", type=float, default=2.0, help="seconds, or so, between two readings of an agent")
    parser.add_argument("--rate", type=float, default=100.0, help="calls in a second that the hub can bear")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where all of it is kept; a new one is made and removed")
    options = parser.parse_args()
    if options.folder:
        raise SystemExit(main(options.folder, options))
    with tempfile.TemporaryDirectory() as folder:
        raise SystemExit(main(Path(folder), options))
