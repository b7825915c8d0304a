"""The test kit: time that moves when told, gates, probes, recorders, and whole trees run from a seed."""

from __future__ import annotations

from otpy.core.rehearsal import Late, Rehearsal
from otpy.testing.clock import VirtualClock
from otpy.testing.drains import Drained, drained, rehearse_drain
from otpy.testing.errors import ExplorationError, RealWorldError, StalledError
from otpy.testing.explore import explore, replay
from otpy.testing.gate import Gate
from otpy.testing.probe import Probe
from otpy.testing.recorder import Recorder
from otpy.testing.system import VirtualSystem
from otpy.testing.trace import Step

__all__ = [
    "Drained",
    "ExplorationError",
    "Gate",
    "Late",
    "Probe",
    "RealWorldError",
    "Recorder",
    "Rehearsal",
    "StalledError",
    "Step",
    "VirtualClock",
    "VirtualSystem",
    "drained",
    "explore",
    "rehearse_drain",
    "replay",
]
