"""`AgentMetrics`: where the metrics of many agents come together, as one exposition with a label more."""

from __future__ import annotations

import time
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.metrics.catalogue import FLEET
from otpy.metrics.export import client, families, text_of
from otpy.metrics.reading import MOST_TEXT
from otpy.metrics.snapshot import SnapshotError, reading_of
from otpy.resilience.errors import PayloadError
from otpy.resilience.outbox.batch import Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.metrics.reading import Reading
    from otpy.resilience.outbox.batch import Batch

__all__ = ["AgentMetrics"]


class _Last(NamedTuple):
    """What an agent has said last."""

    at: float
    reading: Reading


class AgentMetrics:
    """Takes the snapshots that `MetricsPush` has sent, and gives all out as Prometheus wants them, labelled `agent`.

        fleet = AgentMetrics()
        receipt = fleet.receive(batch)  # of the topic `metrics`, in whatever takes batches
        content_type, body = fleet.exposition()

    Of each agent the last snapshot counts. One that has said nothing for `keep` seconds is forgotten, so that a graph
    ends where its agent did. Any thread may use it. It needs the extra `metrics`.

    Args:
        keep: seconds.
        most: agents at a time; those beyond are refused, and counted.
        clock: where time comes from; that of this machine unless given.

    Raises:
        SpecError: an option that cannot be.
        ImportError: `prometheus-client` is not there.
    """

    def __init__(self, *, keep: float = 300.0, most: int = 1_000, clock: Callable[[], float] = time.monotonic) -> None:
        """Know of nobody."""
        if not (is_number(keep) and keep > 0):
            raise SpecError("AgentMetrics", f"keep={safe_repr(keep)}: seconds > 0")
        if type(most) is not int or most < 1:
            raise SpecError("AgentMetrics", f"most={safe_repr(most)}: a whole number >= 1")
        self.registry: Any = client().CollectorRegistry(auto_describe=False)
        self._keep, self._most, self._clock = keep, most, clock
        self._lock = Lock()  # guards what follows
        self._last: dict[str, _Last] = {}
        self._refused = 0
        self.registry.register(self)

    def receive(self, batch: Batch) -> Receipt | None:
        """Take a batch of snapshots: what a sender may return, None when all of it was taken.

        Rows that are no snapshots are refused for good, as all are of an agent beyond the bound: they are not sent
        again.
        """
        refused = []
        for row in batch.rows:
            try:
                is_taken = self.take(batch.agent, row.payload)
            except (SnapshotError, PayloadError):
                is_taken = False
            if not is_taken:
                refused.append(row.sequence)
        if not refused:
            return None
        with self._lock:
            self._refused += len(refused)
        return Receipt(refused=tuple(refused))

    def take(self, agent: str, payload: object) -> bool:
        """Take one snapshot, as it was put into the outbox; False when there are too many agents.

        Raises:
            SnapshotError: it is none. A ValueError; anybody may have sent it, so each part of it is looked at.
        """
        if not isinstance(agent, str) or not 0 < len(agent) <= MOST_TEXT:
            raise SnapshotError(f"agent {safe_repr(agent)}: a text of 1 to {MOST_TEXT} characters")
        reading = reading_of(payload)
        with self._lock:
            self._forget()
            if agent not in self._last and len(self._last) >= self._most:
                return False
            self._last[agent] = _Last(self._clock(), reading)
        return True

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """As `Metrics.exposition`, of all agents."""
        return text_of(self.registry, accept)

    def collect(self) -> Iterator[Any]:  # Any: families of prometheus-client
        """As `Metrics.collect`, of all agents."""
        with self._lock:
            self._forget()
            last, refused, now = dict(self._last), self._refused, self._clock()
        merged: Reading = {}
        for agent, (_, reading) in sorted(last.items()):
            for name, values in reading.items():
                merged.setdefault(name, {}).update({(agent, *labels): value for labels, value in values.items()})
        own: Reading = {
            "otpy_agents": {(): float(len(last))},
            "otpy_agent_age_seconds": {(agent,): max(0.0, now - at) for agent, (at, _) in last.items()},
            "otpy_agent_snapshots_refused_total": {(): float(refused)},
        }
        yield from families(merged, more=("agent",))
        yield from families(own, entries=FLEET)

    def _forget(self) -> None:
        over = self._clock() - self._keep
        for agent in [agent for agent, last in self._last.items() if last.at < over]:
            del self._last[agent]
