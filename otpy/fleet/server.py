"""The actor that keeps a `FleetView`: once a second it sees who is missed, and tells of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.actors.keeping import Keeping
from otpy.core.value import value
from otpy.fleet.ledger import TICK

if TYPE_CHECKING:
    from otpy.fleet.handle import FleetView
    from otpy.runtime.system import System

__all__ = ["FleetServer", "views_of"]

SUFFIX = "/fleet"
"""After the name of the view, this is the name of its actor."""


@value
class Tick:
    """A second is over; a message of its actor to itself."""


class FleetServer(GenServer):
    """Keeps one `FleetView`; started by its `child()`."""

    def init(self, view: FleetView) -> None:
        """Go on with what is in its books."""
        self.view = view
        self.register(f"{view.name}{SUFFIX}")
        self.use(Keeping(self.ref, view.keep, view.release))
        self.send_interval(TICK, Tick())

    @property
    def otpy_handle(self) -> FleetView | None:
        """What it keeps; None before its `init`."""
        return self.view if hasattr(self, "view") else None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the fleet stands."""
        return f"FleetView {self.view.words()}" if hasattr(self, "view") else "FleetView"

    def handle_info(self, message: Any) -> None:
        """Time has passed."""
        if isinstance(message, Tick):
            for event in self.view.tick(self.ref.path):
                self.system.events.emit(event)
        else:
            self.unknown(message)


def views_of(system: System) -> list[tuple[str, FleetView]]:
    """The views that are kept in a system, each with the path of its actor, by name."""
    refs = [ref for name, ref in sorted(system.names.copy().items()) if name.endswith(SUFFIX)]
    actors = [(ref.path, ref.actor) for ref in refs]  # read once: one that ends lets go of it in its own thread
    return [(path, actor.view) for path, actor in actors if isinstance(actor, FleetServer)]
