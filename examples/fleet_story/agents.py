"""The agents: each reads its sensor whatever becomes of the hub, and forwards what it has read.

    python agents.py FOLDER [--agents 3] [--hub 127.0.0.1:8700] [--readings 0]

In real life each is a machine of its own; here they share a program, but nothing else: each has its outbox, its
breaker, its configuration. With `--readings` it ends when the hub has taken all of them, else it goes on until stopped.
"""

from __future__ import annotations

import argparse
import json
import os
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import otpy
from otpy import logs
from otpy.fleet import Beat, Heartbeat
from otpy.metrics import METRICS_TOPIC, MetricsPush
from otpy.resilience import Autonomy, Batch, Breaker, Configuration, Document, LaterError, Outbox, Sender

OK, LATER = 200, 503
TICK = "tick"


class Agent:
    """What one agent has: made where the program begins, kept by the actors of its tree."""

    def __init__(self, number: int, options: argparse.Namespace) -> None:
        self.name = f"a{number:03}"
        self.address, self.readings, pace = options.hub, options.readings, options.pace
        self.folder = options.folder / "agents" / self.name
        self.folder.mkdir(parents=True, exist_ok=True)
        pauses = otpy.Backoff(first=pace, most=20 * pace)
        self.breaker = Breaker("post", failures=3, cooldown=5 * pace, longest=20 * pace)
        self.outbox = Outbox(
            "outbox",
            self.folder / "readings.db",
            senders=[Sender(self.post, breaker=self.breaker, timeout=5.0)],
            topics=["temperature", METRICS_TOPIC],
            agent=self.name,
            backoff=pauses,
            ramp=20 * pace,
        )
        first = Document(0, {"every": 1.0, "too_hot": 70})  # for one that has never met its hub
        self.limits = Configuration(
            "limits", self.folder / "limits", fetch=self.fetch, default=first, every=60 * pace, backoff=pauses
        )
        lost_on = (OSError, HTTPException)
        self.hub = Autonomy("hub", connect=self.advice, catch_up=self.outbox.flush, lost_on=lost_on, backoff=pauses)
        self.pace = pace
        parts = {"autonomy": self.hub, "outbox": self.outbox, "breaker": self.breaker}  # it says how these are
        floor = {"floor": str(number % 4)}
        self.beats = Heartbeat("beats", send=self.beat, agent=self.name, labels=floor, period=10 * pace, **parts)

    def post(self, batch: Batch) -> int:
        return int(self.ask("/readings", batch.pack()))  # up to which row the hub has taken it

    def beat(self, beat: Beat) -> None:
        self.ask("/beats", json.dumps(beat.plain()).encode())

    def fetch(self, version: int | None) -> Document | None:
        found = json.loads(self.ask("/limits"))
        return None if version == found["version"] else Document(found["version"], found)

    def advice(self) -> str:
        return self.ask("/advice").decode()

    def ask(self, path: str, data: bytes | None = None) -> bytes:
        with closing(HTTPConnection(self.address, timeout=3.0)) as line:
            line.request("GET" if data is None else "POST", path, data, {"Agent": self.name})
            answer = line.getresponse()
            body = answer.read()
        if answer.status == LATER:  # the hub is well, and says when to come
            raise LaterError(float(answer.headers["Retry-After"]))
        if answer.status != OK:
            raise ConnectionError(f"the hub answers {answer.status} {answer.reason}")
        return body


class Sensor(otpy.GenServer):
    def init(self, agent: Agent) -> None:
        self.agent = agent
        self.book = self.use((agent.folder / "book").open("a+", buffering=1))  # what the story is proved by
        self.book.seek(0)
        self.number = max((int(line.split()[1]) for line in self.book), default=0)
        self.advice = "none yet" if self.restored is None else self.restored.data["advice"]
        self.is_leaving = False
        self.send_after(agent.pace * self.system.random.random(), TICK)

    def handle_info(self, message: object) -> None:
        if message == TICK and not self.is_done():
            self.read()
            self.send_after(self.agent.limits.current()["every"] * self.agent.pace, TICK)

    def read(self) -> None:
        agent, number = self.agent, self.number + 1
        self.book.write(f"read {number}\n")
        agent.outbox.put("temperature", {"number": number, "celsius": 20.0 + number % 7}, key=agent.name)
        self.book.write(f"kept {number}\n")  # `put` has returned: from here on it must not be lost
        self.number = number
        if number % 10 == 0:
            self.advice = agent.hub.ask(agent.advice, otherwise=lambda: "as before")

    def handle_drain(self, drain: otpy.Drain) -> None:
        self.is_leaving = True  # nothing more is read; what was read is sent before it ends

    def persist(self) -> dict[str, str]:
        return {"advice": self.advice}

    def is_done(self) -> bool:
        return self.is_leaving or 0 < self.agent.readings <= self.number

    @otpy.call
    def has_read(self) -> int:
        return self.number


class AgentTree(otpy.Supervisor):
    def init(self, agent: Agent) -> None:
        self.agent = agent

    def children(self) -> list[otpy.ChildSpec]:
        agent = self.agent
        parts = [part.child() for part in (agent.beats, agent.breaker, agent.outbox, agent.limits, agent.hub)]
        return [*parts, otpy.child(Sensor, agent).opts(id="sensor", name=f"{agent.name}.sensor")]


class Fleet(otpy.Supervisor):
    def init(self, agents: list[Agent]) -> None:
        self.agents = agents

    def children(self) -> list[otpy.ChildSpec]:
        trees = [otpy.child(AgentTree, agent).opts(id=agent.name) for agent in self.agents]
        trees.append(otpy.child(MetricsPush, self.agents[0].outbox, every=10 * self.agents[0].pace))
        return [*trees, otpy.child(leave_in_the_end, self.agents).opts(restart="transient")]


def leave_in_the_end(agents: list[Agent]) -> None:
    """Ends the program when each agent has made its readings and the hub has taken them."""
    (agents[0].folder.parents[1] / "agents.pid").write_text(f"{os.getpid()}\n")  # all of them run now
    system = otpy.current().system
    for agent in agents:
        while not 0 < agent.readings <= system.ref(f"{agent.name}.sensor").call(Sensor.has_read):
            otpy.sleep(agent.pace)
    waiting = sum(agent.outbox.look().rows for agent in agents)
    print(f"the agents have made their readings; {waiting} rows still wait for their turn at the hub", flush=True)
    for agent in agents:
        agent.outbox.flush()
    print(f"{len(agents)} agents have read {sum(agent.readings for agent in agents)} times, and the hub has all")
    system.request_stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--agents", type=int, default=3)
    parser.add_argument("--hub", default="127.0.0.1:8700")
    parser.add_argument("--readings", type=int, default=0, help="of each agent; 0: it goes on until it is stopped")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds, or so, between two readings")
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    agents = [Agent(number, options) for number in range(1, options.agents + 1)]
    logs.configure("logfmt")
    state = options.folder / "agents.state"
    raise SystemExit(otpy.main(Fleet, agents, name="agents", seed=options.seed, state=state, shutdown=60.0))
