"""Floor 3: where an actor runs; places register themselves with the runtime."""

from __future__ import annotations

from otpy.places.loop import LoopHome
from otpy.places.thread import ThreadHome

__all__ = ["LoopHome", "ThreadHome"]
