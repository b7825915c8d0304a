"""The hub: takes each reading once, gives out the configuration, says when an agent may come, and sees who lives.

    python hub.py FOLDER [--port 8700] [--rate 50] [--http 127.0.0.1:9100]

Whatever kills it, `kill -9` too, what it has acknowledged is in FOLDER/hub.db. The configuration is FOLDER/limits.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import otpy
from otpy import logs
from otpy.errors import DrainingError
from otpy.fleet import FleetView, Watch
from otpy.health import HttpHealth
from otpy.metrics import METRICS_TOPIC, AgentMetrics, Metrics
from otpy.resilience import Batch, Turns, received

TABLES = """
pragma journal_mode = wal; pragma synchronous = full;
create table if not exists reading (id integer primary key, sensor text, number integer, celsius real);
create table if not exists call (milliseconds integer, agent text, rows integer, fresh integer);
create table if not exists turned_away (milliseconds integer);
"""
LIMITS = {"version": 1, "every": 1.0, "too_hot": 80}  # what all agents are told, until somebody changes it
FLEET = FleetView("fleet", watches=[Watch(label="floor")])  # `otpy fleet hub --by floor`
MOST = 100  # rows that are taken at once: others want to be served as well


class Store(otpy.GenServer):
    place = "thread"  # a connection of sqlite3 belongs to the thread that has made it

    def init(self, path: Path) -> None:
        self.db = sqlite3.connect(path)
        self.db.executescript(TABLES)

    @otpy.call
    def take(self, batch: Batch, milliseconds: int) -> int:
        batch = replace(batch, rows=batch.rows[:MOST])
        with received(self.db, batch) as fresh:  # the readings, and that they have come, are one transaction
            rows = [(row.key, row.payload["number"], row.payload["celsius"]) for row in fresh]
            self.db.executemany("insert into reading (sensor, number, celsius) values (?, ?, ?)", rows)
            call = (milliseconds, batch.agent, len(batch.rows), len(rows))
            self.db.execute("insert into call values (?, ?, ?, ?)", call)
            while TURNED_AWAY:
                self.db.execute("insert into turned_away values (?)", (TURNED_AWAY.popleft(),))
        return batch.last  # up to here it is taken; what was beyond comes again


TURNED_AWAY: deque[int] = deque()  # when; written down with the next batch
STORE = otpy.name(Store, "store")


class Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        given = self.server.folder / "limits.json"
        limits = json.loads(given.read_text()) if given.exists() else LIMITS
        if self.path == "/metrics":  # what the agents have pushed; the hub's own are beside its probes
            self.answer(200, self.server.metrics.exposition()[1].decode())
        else:
            self.answer(200, json.dumps(limits if self.path == "/limits" else "steady"))

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            with self.server.system.in_flight():  # a hub that is told to stop ends what it has begun
                self.take(data)
        except DrainingError:
            self.answer(503, "", **{"Retry-After": "1.0"})
        except ValueError as error:  # here: what anybody has sent must not crash the store
            self.answer(400, str(error))

    def take(self, data: bytes) -> None:
        if self.path == "/beats":
            self.answer(200, str(FLEET.beats([json.loads(data)])))
            return
        wait, now = self.server.turns.ask(self.headers["Agent"]), int(time.time() * 1_000)
        if wait is not None:  # too many at once: this is when it is your turn
            TURNED_AWAY.append(now)
            self.answer(503, "", **{"Retry-After": f"{wait:.3f}"})
            return
        batch = Batch.unpack(data)
        if batch.topic == METRICS_TOPIC.name:
            self.server.metrics.receive(batch)
            self.answer(200, str(batch.last))
        else:
            self.answer(200, str(self.server.store.call(Store.take, batch, now)))

    def answer(self, status: int, text: str, **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        with suppress(OSError):  # an agent that has heard nothing comes again
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


class Listening(ThreadingHTTPServer):
    request_queue_size = 512  # so many may knock in the same moment
    daemon_threads = True
    timeout = 0.1


def door(folder: Path, port: int, rate: float) -> None:
    """Each call is answered in a thread of its own."""
    with Listening(("127.0.0.1", port), Answer) as server:
        server.folder, server.turns, server.metrics = folder, Turns(rate), AgentMetrics()
        server.system = otpy.current().system
        server.store = server.system.ref(STORE)
        while True:
            otpy.checkpoint()  # ends it when the hub is told to stop
            server.handle_request()


class Hub(otpy.Supervisor):
    strategy = "rest_for_one"

    def init(self, folder: Path, port: int, rate: float, http: str) -> None:
        self.folder, self.port, self.rate, self.http = folder, port, rate, http

    def children(self) -> list[otpy.ChildSpec]:
        return [
            HttpHealth(bind=self.http, metrics=Metrics).child(),  # /livez, /readyz, /metrics
            FLEET.child(),
            otpy.child(Store, self.folder / "hub.db").opts(name=STORE),
            otpy.child(door, self.folder, self.port, self.rate).opts(place="thread"),
        ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--http", default="127.0.0.1:0", help="where its own probes and metrics are")
    options = parser.parse_args()
    logs.configure("logfmt")
    options.folder.mkdir(parents=True, exist_ok=True)
    (options.folder / "hub.pid").write_text(f"{os.getpid()}\n")
    raise SystemExit(otpy.main(Hub, options.folder, options.port, options.rate, options.http, name="hub"))
