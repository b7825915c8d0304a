"""Floor 5: a fleet as its hub sees it, and what its agents say of themselves.

Public is what `__all__` lists. The hub's part is `handle`, half of it in `asked`, kept by `server`; over the control
socket `verbs` and `doctor` answer for it. Its books are `ledger`, a pure machine, with `books`, `labels`, `wheel`,
`judging` and `storm`; `looks` are what is told. The agents' part is `heartbeat`, kept by `heart`. A `beat` goes from
one to the other by whatever way the user has.
"""

from __future__ import annotations

from otpy.fleet.beat import Beat
from otpy.fleet.errors import BeatError, FleetError, FleetFullError
from otpy.fleet.handle import FleetView
from otpy.fleet.heartbeat import Heartbeat, HeartbeatLook
from otpy.fleet.looks import AgentLook, FleetLook, GroupLook
from otpy.fleet.plan import Watch

__all__ = [
    "AgentLook",
    "Beat",
    "BeatError",
    "FleetError",
    "FleetFullError",
    "FleetLook",
    "FleetView",
    "GroupLook",
    "Heartbeat",
    "HeartbeatLook",
    "Watch",
]
