"""What a run must not leave behind: the standard invariants of every exploration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.testing.trace import what_for, who

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.runtime.ref import Ref
    from otpy.testing.system import SeededSystem

__all__ = ["leftovers"]


def leftovers(system: SeededSystem) -> list[str]:
    """What is left of a system that has stopped and come to rest, as sentences; nothing should be."""
    return [*_in_tables(system), *_of_actors(system.dead), *_in_pool(system), *system.left_tasks()]


def _in_tables(system: SeededSystem) -> Iterator[str]:
    yield from (f"{ref.path} is alive" for ref in system.living())
    if system.alive and not system.living():
        yield f"{system.alive} actors are counted as alive"
    yield from (f"the name {name!r} is taken by {ref.path}" for name, ref in system.names.items())
    yield from (f"{path} is listed as running" for path in system.tops)
    yield from (f"{ref.path} is a zombie" for ref in sorted(system.undead, key=lambda ref: ref.number))
    yield from (f"a timer is set: {timer}" for timer in system.late_timers)


def _of_actors(refs: list[Ref[Any]]) -> Iterator[str]:
    for ref in refs:
        more = ref.more
        timers, watches, callers = more.tables() if more is not None else ((), (), ())
        kept = {
            "has links": ref.links,
            "is monitored": ref.monitors,
            "has messages": ref.mailbox,
            "holds resources": more is not None and more.resources,
            "has timers": timers,
            "watches others": watches,
            "owes replies": any(caller.claim for caller in callers),
            "waits": ref.waiting is not None,
            "could get another turn": ref.tok,
            "keeps its state": ref.actor is not None,
        }
        yield from (f"{ref.path} #{ref.number} {what}" for what, is_so in kept.items() if is_so)


def _in_pool(system: SeededSystem) -> Iterator[str]:
    pool = system.pool
    if pool.queue:
        yield f"{len(pool.queue)} turns are waiting"
    yield from (f"{who(slot)} still waits{what_for(slot)}" for slot in pool.waiting())
    stuck = [worker for worker in pool.workers if worker.ref is not None]
    yield from (f"{worker.thread_name} still runs {worker.ref.path}" for worker in stuck if worker.ref is not None)
