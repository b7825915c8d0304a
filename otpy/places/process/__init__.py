"""The place `process`: an actor in an OS process of its own, under a port actor in the tree of its parent.

Only its name is known before the first such child is to start: most programs have none, and pay for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.home import BOXES, PLACES, STAND_INS

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec, Options
    from otpy.runtime.actor import Actor
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__: list[str] = []


def _home(system: System, ref: Ref[Any], _: str | None) -> Home:
    from otpy.places.process.port import home_of  # noqa: PLC0415 - see above

    return home_of(system, ref)


def _stand_in(system: System, cls: type[Actor], spec: ChildSpec) -> type[Actor]:
    from otpy.places.process.port import port_for  # noqa: PLC0415 - see above

    return port_for(system, cls, spec)


def _box(ref: Ref[Any], options: Options) -> Any:  # Any: as BOXES
    from otpy.places.process.port import box_for  # noqa: PLC0415 - see above

    return box_for(ref, options)


PLACES["process"] = _home
BOXES["process"] = _box
STAND_INS["process"] = _stand_in
