"""Floor 3: where an actor runs; places register themselves with the runtime.

`thread` is one file. `loop` has a home for each event loop, `loop_borrowed` for that of the user's program; a
`loop_worker` is a task that gives turns, a `loop_crew` the tasks of an actor with several handlers in flight, both sit
on a `loop_seat`; `loop_watch` looks for handlers that block, and `blocking` refuses calls that would. All of it but
what says otherwise runs on the loop's thread. `process` has a package and a map of its own.
"""

from __future__ import annotations

import otpy.places.process  # noqa: F401 - it registers itself
from otpy.places.loop import LoopHome
from otpy.places.thread import ThreadHome

__all__ = ["LoopHome", "ThreadHome"]
