"""The errors of `otpy.fleet`.

OtpyError
└── FleetError            something of a fleet cannot be used
    ├── BeatError (ValueError)  what has come is no heartbeat
    └── FleetFullError    a hub has as many agents as it may
"""

from __future__ import annotations

from otpy.errors import OtpyError

__all__ = ["BeatError", "FleetError", "FleetFullError"]


class FleetError(OtpyError):
    """Something of a fleet cannot be used; the parent of all errors here."""


class BeatError(FleetError, ValueError):
    """What has come is no heartbeat: something of it is missing, too long, or no plain data. Nothing of it is kept."""


class FleetFullError(FleetError):
    """A hub cannot expect more agents than it may know; make `most` larger."""

    def __init__(self, fleet: str, most: int) -> None:
        """Of which fleet, and how many that are."""
        self.fleet, self.most = fleet, most
        super().__init__(f"fleet {fleet!r} knows {most} agents, and may know no more")
