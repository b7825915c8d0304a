"""What a program's actors, jobs, breakers and outboxes do, as metrics for Prometheus; needs the extra `metrics`."""

from __future__ import annotations

from otpy.metrics.agents import AgentMetrics
from otpy.metrics.catalogue import CATALOGUE, Entry
from otpy.metrics.collector import Metrics
from otpy.metrics.push import METRICS_TOPIC, MetricsPush
from otpy.metrics.snapshot import SnapshotError

__all__ = ["CATALOGUE", "METRICS_TOPIC", "AgentMetrics", "Entry", "Metrics", "MetricsPush", "SnapshotError"]
