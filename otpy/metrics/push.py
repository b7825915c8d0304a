"""`MetricsPush`: an actor that puts its program's metrics into an outbox, for agents that nobody can scrape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from otpy.actors.gen_server import GenServer
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import CallError, SpecError
from otpy.metrics.collector import Metrics
from otpy.metrics.snapshot import snapshot_of
from otpy.resilience.errors import NoSuchTopicError, OutboxError
from otpy.resilience.outbox.topic import Topic

if TYPE_CHECKING:
    from otpy.resilience.outbox.handle import Outbox
    from otpy.runtime.drain import Drain

__all__ = ["METRICS_TOPIC", "MetricsPush"]

METRICS_TOPIC: Final = Topic("metrics", rows=1_000, size_bytes=16 << 20, overflow="sample")
"""A topic for it: when the receiver is away what waits gets coarser instead of shorter."""

LEAST, MOST = 1_000, 1 << 20
"""Bytes of one snapshot: less says nothing, and more does not go into an outbox."""


class MetricsPush(GenServer):
    """Puts a snapshot into an outbox again and again, and a last one when the program drains.

        outbox = Outbox("hub", "hub.db", senders=[post], topics=["readings", METRICS_TOPIC])
        children = [outbox.child(), otpy.child(MetricsPush, outbox, every=30.0)]

    At the receiver `AgentMetrics` makes one exposition of those of all agents. What the outbox does not take, for it is
    full or its disk is, is left out and counted: the next one says all that matters, for counters go on.
    It needs the extra `metrics`.
    """

    def init(
        self,
        outbox: Outbox,
        *,
        every: float = 30.0,
        topic: str = METRICS_TOPIC.name,
        most_bytes: int = 64 << 10,
        metrics: Metrics | None = None,
    ) -> None:
        """Begin, with a snapshot at once.

        Args:
            outbox: has the topic, and an actor that keeps it.
            every: seconds between two snapshots, by the system's clock.
            topic: where they go.
            most_bytes: how large one is at most; the metrics with the most series are left out of one that would be
                larger.
            metrics: what is put there; that of its own system unless given.

        Raises:
            SpecError: an option that cannot be, or the outbox has no such topic.
            ImportError: `prometheus-client` is not there.
        """
        if not (is_number(every) and 0 < every < math.inf):
            raise SpecError("MetricsPush", f"every={safe_repr(every)}: seconds > 0")
        if type(most_bytes) is not int or not LEAST <= most_bytes <= MOST:
            raise SpecError("MetricsPush", f"most_bytes={safe_repr(most_bytes)}: a whole number from {LEAST} to {MOST}")
        if topic not in outbox.plan.topics:
            problem = str(NoSuchTopicError(outbox.name, topic, outbox.plan.topics))
            raise SpecError("MetricsPush", f"topic={safe_repr(topic)}: {problem}")
        self._outbox, self._topic, self._most_bytes = outbox, topic, most_bytes
        self._metrics = self.use(Metrics(self.system)) if metrics is None else metrics
        self.send_interval(every, "push")
        self.ref.tell("push")

    def handle_info(self, message: object) -> None:
        """The time has come."""
        if message == "push":
            self._push()

    def handle_flush(self, drain: Drain) -> None:  # noqa: ARG002 - whatever the reason
        """The last one of this program: how it has drained so far."""
        self._push()

    def _push(self) -> None:
        plain, left = snapshot_of(self._metrics.read(), self._most_bytes)
        if left:
            self._metrics.count("otpy_push_left_out_total", by=left)
        try:
            self._outbox.put(self._topic, plain)
        except (OutboxError, CallError):
            self._metrics.count("otpy_push_failures_total")
