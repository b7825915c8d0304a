"""The bad network, and whoever pulls plugs: agents reach their hub through it.

    python faults.py FOLDER [--port 8701] [--hub 127.0.0.1:8700] [--seconds 60] [--seed 1]

It plays each of its acts once in an order by chance, says so, and then leaves the network in order until it is stopped.
Whoever has started the hub and the agents starts them again when it kills them.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import threading
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from otpy.resilience import Batch

ACTS = {
    "cut": "no packet gets through",
    "slow": "each answer takes its time",
    "silent": "calls are taken, and nobody answers",
    "lost": "the hub takes what comes, and its answers are lost",
    "half": "the hub takes half of each batch, then the line is cut",
    "kill hub": "the hub is killed, as by kill -9",
    "kill agents": "all agents are killed, as by kill -9",
}


class Network(BaseHTTPRequestHandler):
    mood, hub, pace = "well", "", 1.0

    def do_GET(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        mood = Network.mood
        if mood == "slow":
            time.sleep(Network.pace)
        while mood == "silent" and Network.mood == mood:
            time.sleep(Network.pace / 10)
        if mood == "half" and data:
            batch = Batch.unpack(data)
            data = Batch(batch.agent, batch.incarnation, batch.topic, batch.rows[: (len(batch.rows) + 1) // 2]).pack()
        with suppress(OSError, HTTPException):  # who is not there, or waits no longer
            if mood not in ("cut", "silent"):
                self.forward(data, is_answered=mood not in ("lost", "half"))

    do_POST = do_GET  # noqa: N815 - as http.server calls it

    def forward(self, data: bytes, *, is_answered: bool) -> None:
        with closing(HTTPConnection(Network.hub, timeout=5.0)) as line:
            line.request(self.command, self.path, data or None, {"Agent": self.headers["Agent"]})
            answer = line.getresponse()
            body = answer.read()
        if is_answered:
            self.send_response(answer.status)
            for name in ("Content-Length", "Retry-After"):
                if name in answer.headers:
                    self.send_header(name, answer.headers[name])
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True


def play(folder: Path, seconds: float, chance: random.Random) -> None:
    acts = list(ACTS)
    chance.shuffle(acts)
    begun, each = time.monotonic(), seconds / len(acts)
    for act in acts:
        print(f"{time.monotonic() - begun:5.1f} s  {ACTS[act]}", flush=True)
        kind, _, who = act.partition(" ")
        if kind == "kill":
            os.kill(int((folder / f"{who}.pid").read_text()), signal.SIGKILL)
        else:
            Network.mood = act
        time.sleep(each * chance.uniform(0.4, 0.8))
        Network.mood = "well"
        time.sleep(each * 0.3)
    print(f"{time.monotonic() - begun:5.1f} s  all is well again", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8701)
    parser.add_argument("--hub", default="127.0.0.1:8700")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    Network.hub, Network.pace = options.hub, options.seconds / 60
    server = Server(("127.0.0.1", options.port), Network)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    play(options.folder, options.seconds, random.Random(options.seed))
    signal.pause()
