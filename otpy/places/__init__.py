"""Floor 3: where an actor runs; places register themselves with the runtime.

`thread` is one file. `loop` has a home for each event loop, `loop_borrowed` for that of the user's program; a
`loop_worker` is a task that gives turns, a `loop_crew` the tasks of an actor with several handlers in flight, both sit
on a `loop_seat`; `loop_watch` looks for handlers that block, and `blocking` refuses calls that would. All of it but
what says otherwise runs on the loop's thread. `process` has a package and a map of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import otpy.places.process
import otpy.places.thread  # noqa: F401 - they register themselves
from otpy.runtime.home import PLACES

if TYPE_CHECKING:
    from otpy.runtime.home import Home
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__: list[str] = []


def _loop(system: System, _: Ref[Any], name: str | None) -> Home:
    from otpy.places.loop import home_of  # noqa: PLC0415 - and with it asyncio, for who has an actor there

    return home_of(system, name)


PLACES["loop"] = _loop
