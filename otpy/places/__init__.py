"""Floor 3: where an actor runs; places register themselves with the runtime."""

from __future__ import annotations

import otpy.places.process  # noqa: F401 - it registers itself
from otpy.places.loop import LoopHome
from otpy.places.thread import ThreadHome

__all__ = ["LoopHome", "ThreadHome"]
