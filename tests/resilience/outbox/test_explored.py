"""An outbox under many orders of events: senders hang, fail and lie, actors are killed, and the law holds in each."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import CallError
from otpy.resilience import Outbox, Sender, received
from otpy.testing import explore

if TYPE_CHECKING:
    from otpy.resilience import Batch
    from otpy.testing import VirtualSystem

pytestmark = pytest.mark.any_python

SEEDS = 40
KEYS = ("a", "b", "c")


class Network:
    """A hub in memory, and the two ways to it, each of which may do with a batch what networks do."""

    def __init__(self, system: VirtualSystem) -> None:
        self.system = system
        self.db = sqlite3.connect(":memory:", check_same_thread=False)
        self.db.execute("create table reading (key text, value integer)")
        self.db.commit()
        self.is_ill = True

    def plain(self, batch: Batch) -> None:
        chance = self.system.random.random
        mood = chance() if self.is_ill else 1.0
        if mood < 0.2:
            otpy.sleep(chance() * 20.0)  # longer than it may, now and then; and then it may arrive all the same
        if mood < 0.4:
            raise ConnectionError
        self.take(batch)
        if mood < 0.6:
            raise ConnectionError

    async def awaited(self, batch: Batch) -> int:
        chance = self.system.random.random
        mood = chance() if self.is_ill else 1.0
        if mood < 0.3:
            await otpy.asleep(chance() * 20.0)
        if mood < 0.5:
            raise ConnectionError
        self.take(batch)
        return batch.rows[0].sequence if mood < 0.7 else batch.last

    def take(self, batch: Batch) -> None:
        with received(self.db, batch) as fresh:
            self.db.executemany("insert into reading values (?, ?)", [(row.key, row.payload) for row in fresh])


class Field(otpy.Supervisor):
    max_restarts = 1_000_000

    def init(self, outbox: Outbox) -> None:
        self._outbox = outbox

    def children(self) -> list[otpy.ChildSpec]:
        return [self._outbox.child()]


def play(system: VirtualSystem) -> None:
    """Some minutes of trouble, then all is well: what was put is there, once, in its order."""
    network = Network(system)
    with tempfile.TemporaryDirectory() as folder, closing(network.db):
        outbox = Outbox(
            "o",
            Path(folder) / "o.db",
            senders=[Sender(network.plain, timeout=8.0), Sender(network.awaited, timeout=8.0)],
            topics=["t"],
            batch=3,
            ramp=5.0,
            profile="fast",
        )
        system.start_root(otpy.child(Field, outbox))
        put: list[tuple[str, int]] = []
        for number in range(24):
            key = KEYS[number % 3]
            try:
                outbox.put("t", number, key=key)
                put.append((key, number))
            except CallError:  # its actor was just killed
                pass
            otpy.sleep(system.random.random() * 6.0)
            if system.random.random() < 0.15:
                victim = system.random.choice(["plain-sender", "awaited-sender", "plain"])
                system.kill(f"{system.name}/o/{victim}")
                otpy.sleep(3.0)  # more than three in five seconds would end the whole
        network.is_ill = False
        otpy.sleep(600.0)
        rows = network.db.execute("select key, value from reading").fetchall()
        assert outbox.look().rows == 0
        assert sorted(rows) == sorted(put)
        for key in KEYS:
            values = [value for own, value in rows if own == key]
            assert values == sorted(values)


def test_in_every_order_what_was_put_arrives_once_and_in_its_order() -> None:
    explore(play, seeds=SEEDS)


@pytest.mark.stress
def test_in_a_thousand_orders_too() -> None:
    explore(play, first=SEEDS, seeds=1_000)
