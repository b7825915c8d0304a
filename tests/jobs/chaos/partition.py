"""Hosts that are cut off from the server beyond their lease, one after the other, while the others go on."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, get_args

from otpy.jobs.store.postgres import session

from .host import lease_of, live
from .network import SERVER, Network, Ways
from .plan import Where
from .stage import Stage
from .troubles import HOSTS

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.postgres import Server

    from .plan import Life
    from .steps import Step

__all__ = ["RIGHTS", "SETTINGS", "Cut", "Partition", "silent"]

SETTINGS = f"listen_addresses = '{SERVER}'\n"
RIGHTS = "host all all 10.99.0.0/16 trust\n"
PATIENCE = 30.0
"""Seconds in which the others must go on, and who was cut off be heard of again."""
WROTE = "select count(*) from chaos where at > %s and who like %s"
WENT_ON = """
select count(*) from chaos where at > %s and who not like %s and what = 'job' and old->>'state' = 'running'
    and new->>'state' <> 'running'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One. Times are milliseconds of the store's clock."""

    host: int
    ways: Ways
    led: bool
    """Whether it was about who led."""
    since: int
    until: int = 0


class Partition(Stage):
    """The server and each host are in namespaces of their own; this process is in the server's."""

    def __init__(self, seed: int, seconds: float, folder: Path, server: Server, network: Network) -> None:
        """On a server that is begun in the namespace of this network."""
        super().__init__(seed, seconds, folder, server)
        self.where = Where("full", "pool", apart=0, long=0.2, without=("loop", "leave"))
        self.network = network
        self.cuts: list[Cut] = []

    def live(self, host: int, life: Life) -> int:
        """On its host."""
        self.network.enter(host)
        url = f"postgresql://otpy@{SERVER}/postgres?options=-csearch_path%3Dpublic"
        return live(self.folder, life, self.where, url, lease_of(host))

    def trouble(self) -> None:
        """Cut off the leader and others in turn, in each way; until the time is over, and each way has been."""
        chance = random.Random(self.seed)
        ways = [*get_args(Ways)]
        chance.shuffle(ways)
        self._hear_of(range(1, HOSTS + 1), 0)
        for number, way in enumerate(cycle(ways)):
            if (number >= len(ways) and time.monotonic() - self.began > self.seconds) or self.found:
                return
            self.wait(chance.uniform(0.2, 1.0))
            leader = self.leader()
            others = [host for host in range(1, HOSTS + 1) if host != leader]
            self._cut(chance.choice(others) if number % 2 or leader is None else leader, way, leader)

    def calm(self) -> None:
        """All has been healed."""

    def _cut(self, host: int, ways: Ways, leader: int | None) -> None:
        """Beyond its lease, until others have gone on; then until it is heard of again."""
        self.told[f"cuts {ways}" + (" of the leader" if host == leader else "")] += 1
        self.network.cut(host, ways)
        cut = Cut(host=host, ways=ways, led=host == leader, since=self._now())
        self.wait(1.5 * lease_of(host))
        self._see(
            WENT_ON,
            cut.since + round(lease_of(host) * 1_000),
            f"h{host}-%",
            f"while host {host} was cut off nobody went on",
        )
        self.cuts.append(replace(cut, until=self._now()))
        self.network.heal(host, ways)
        self._hear_of([host], self.cuts[-1].until)

    def _hear_of(self, hosts: range | list[int], since: int) -> None:
        for host in hosts:
            self._see(WROTE, since, f"h{host}-%", f"host {host} is not heard of, cut off or not")

    def _see(self, text: str, since: int, who: str, problem: str) -> None:
        """Wait until the store has something of somebody."""
        until = time.monotonic() + PATIENCE
        while self.sql(text, since, who) == [(0,)]:
            if time.monotonic() > until:
                self.found.append(f"I10: {problem} for {PATIENCE:g} s")
                return
            self.wait(0.1)

    def _now(self) -> int:
        ((now,),) = self.sql(f"select {session.CLOCK}")
        return int(now)

    def judge(self, steps: list[Step]) -> list[str]:
        """Who was cut off has written nothing meanwhile."""
        return silent(steps, self.cuts)


def silent(steps: list[Step], cuts: list[Cut]) -> list[str]:
    """Whatever a host wrote while it was cut off, one way or both: a commit takes an answer to what was said before."""
    return [
        f"host {cut.host} was cut off ({cut.ways}) from {cut.since} to {cut.until}, and wrote {step}"
        for cut in cuts
        for step in steps
        if step.who.startswith(f"h{cut.host}-") and cut.since < step.at < cut.until
    ]
