"""What a program's actors, jobs, breakers and outboxes do, as metrics for Prometheus; needs the extra `metrics`."""

from __future__ import annotations

from otpy.metrics.catalogue import CATALOGUE, Entry
from otpy.metrics.collector import Metrics

__all__ = ["CATALOGUE", "Entry", "Metrics"]
