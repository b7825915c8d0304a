"""How an actor on a loop ends: as in `death`, where what it does last may take an `await`.

Handlers that are still in flight beside its turn end first, then its `terminate` runs, and then what it has entered is
closed.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from otpy.core.late import is_cancelled
from otpy.core.reason import Crashed, Reason
from otpy.errors import ActorExit
from otpy.runtime import death
from otpy.runtime.crew import crew_of
from otpy.runtime.extras import AsyncResource, resource_word
from otpy.runtime.mailbox import ready
from otpy.runtime.seat import here
from otpy.runtime.turn import after_turn

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref

__all__ = ["after_async_turn", "async_close", "async_end", "async_obey", "async_terminate", "farewell"]

log = logging.getLogger("otpy")


async def async_terminate(ref: Ref[Any], reason: Reason) -> Reason:
    """As `death.terminate`, which runs the first step of it."""
    crew = crew_of(ref)
    if crew is not None:
        await crew.make_way()
        told = ref.reason or ref.extras().pending
        if told is not None:
            return told
    work: list[Any] = []
    reason = death.terminate(ref, reason, work.append)
    if not work:
        return reason
    try:
        await work[0]
    except ActorExit as way_out:
        return way_out.reason
    except BaseException as error:
        pending = ref.more.pending if ref.more is not None else None
        if is_cancelled(error) and pending is not None:
            return pending
        return Crashed.of(error, death.BOX)
    return reason


async def async_end(ref: Ref[Any], reason: Reason) -> None:
    """As `death.end`."""
    death.report_crash(ref, reason)
    await async_close(ref)
    death.finish(ref, reason)


async def async_obey(ref: Ref[Any]) -> None:
    """As `death.obey`."""
    more = ref.extras()
    if more.pending is None or ref.reason is not None:
        return
    ref.current = ref.current or "exit"
    crew = crew_of(ref)
    if crew is not None:
        await crew.make_way()
    pending, sender = more.pending, more.sender
    if pending is not None and ref.reason is None:
        more.pending = more.sender = None  # as in `death.obey`
        await async_close(ref)
        death.finish(ref, pending, cause=sender)


async def farewell(ref: Ref[Any]) -> None:
    """Leave the code of an actor that is dead already: what it has in flight, and what it has entered."""
    try:
        ref.current = ref.current or "close"
        worker = here().worker
        if worker is not None:
            worker.know(ref.reason)  # what is closed because of a kill is not cancelled by it
        crew = crew_of(ref)
        if crew is not None:
            await crew.make_way()
        await async_close(ref)
    except GeneratorExit:
        raise
    except BaseException:
        log.exception("%s: its end was cut short", ref.path)


def after_async_turn(ref: Ref[Any]) -> None:
    """As `turn.after_turn`; who was killed at the very end of its turn, and takes its leave yet, has another one."""
    if ref.reason is not None and ref.more is not None and (ref.more.resources or crew_of(ref) is not None):
        ready(ref)
    else:
        after_turn(ref)


async def async_close(ref: Ref[Any]) -> None:
    """As `death.close_resources`, also for what has to be awaited; one that is cancelled keeps none of the others."""
    more = ref.more
    while more is not None and more.resources:
        resource = more.resources[-1]
        if not isinstance(resource, AsyncResource):
            death.close_last(ref, more.resources)
            continue
        more.resources.pop()
        try:
            await resource.manager.__aexit__(None, None, None)
        except GeneratorExit:
            raise
        except BaseException:
            log.exception("%s: closing %s failed", ref.path, resource_word(resource))
