"""The place `process`: an actor in an OS process of its own, under a port actor in the tree of its parent.

Only its name is known before the first such child is to start: most programs have none, and pay for none.

Three kinds of processes run this code; who changes a file should know in which of them it runs.

In the parent: `port`, the actor that stands in the tree; `ports`, all children of a system, with `listener`, their one
thread; `child`, one of them, with what it asks of the tree (`ties`), the view into it (`view`), its signs of life
(`pulse`), its limits (`limits`); `lead`, callers that read their answers themselves; `circles`; `output`; `spares`;
`memory_killer`; and `helm`, from which the helper is steered.

In the helper, which has one thread and forks all children: `helper`.

In a child: `inside`; its main thread, `main_home` or, for an actor on an event loop, `loop_main`; `bonds`, which asks
what `ties` answers; `answers`, to what `view` asks; `copies`, for handlers that fork.

At both ends of the pipe: `line` and `say`, what goes over it and how; `codec`, `refs` and `plain`, values, actors and
records as bytes; `far` and `far_home`, an actor of the other side as it is seen here; `incoming`, what comes from it;
`bounded`, both halves of a mailbox with a limit; `origin`, where the code is found.

Locks are taken in this order: that of `Ports`, that of a `FarBox`, that of a `Line`, that of the `Listener`. All others
are held for a few steps that take no lock.
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
