"""What must be true of a system between any two turns, and when it has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.caller import Caller
from otpy.runtime.links import linked
from support.ledger import ledger_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import otpy
    from otpy.testing import VirtualSystem
    from otpy.testing.system import SeededSystem

    Ref = otpy.Ref[Any]

__all__ = ["check_rest", "sound"]

GRACE = 1.0
"""Seconds in which a handler that was cancelled has ended, whatever it does about that."""


def sound(system: Any) -> None:
    """An invariant for `explore`: between any two turns."""
    ledger_of(system).note_deaths()
    faults = [*_of_tables(system), *_of_waits(system), *_of_orders(system), *ledger_of(system).faults]
    if faults:
        raise AssertionError("; ".join(faults[:5]))


def _of_tables(system: SeededSystem) -> Iterator[str]:
    living = system.living()
    if len(living) != system.alive:
        yield f"{system.alive} actors live, and {len(living)} can be found"
    for name, ref in system.names.items():
        if ref.reason is not None or ref.name != name:
            yield f"the name {name} is held by {ref}: {ref.reason}, {ref.name}"
    for ref in living:
        if ref.name is not None and system.names.get(ref.name) is not ref:
            yield f"{ref} has a name that leads elsewhere: {ref.name}"
        if ref.links is not None or ref.monitors or ref.more is not None:
            yield from _of_ties(ref)
        if ref.parent is not None and ref.parent.reason is not None and ref not in system.orphans:
            yield f"{ref} is an orphan that nobody knows of"


def _of_ties(ref: Ref) -> Iterator[str]:
    for peer in linked(ref.links):
        if peer.reason is not None or not _leads_to(peer.links, ref):
            yield f"{ref} is linked to {peer}, which is not linked to it"
    for monitor in ref.monitors or ():
        watcher = monitor.watcher
        if watcher is not None and (watcher.reason is not None or monitor not in watcher.extras().watches):
            yield f"{ref} is watched by {watcher}, which does not know"
    for monitor in ref.more.watches if ref.more is not None else ():
        if monitor not in (monitor.target_ref.monitors or ()):
            yield f"{ref} watches {monitor.target}, which does not know"


def _leads_to(links: Ref | set[Ref] | None, ref: Ref) -> bool:
    """As `ref in linked(links)`, without a list of the hundreds who are linked to a supervisor."""
    return links is ref or (isinstance(links, set) and ref in links)


def _of_waits(system: SeededSystem) -> Iterator[str]:
    on_loop = [] if system.loop_home is None else system.loop_home.suspended
    edges = [worker.ref.waiting for worker in on_loop if worker.ref is not None]
    for slot in (*system.pool.waiting(), *edges):
        if isinstance(slot, Caller) and slot.claim and slot.target.reason is not None:
            yield f"{slot.seat.ref} waits for a dead {slot.target}"


def _of_orders(system: SeededSystem) -> Iterator[str]:
    """Who is told to die while it awaits something ends, apart from what it takes its time for."""
    orders, now = ledger_of(system).orders, system.clock.now()
    on_loop = [] if system.loop_home is None else system.loop_home.suspended
    for ref in (worker.ref for worker in on_loop):
        if ref is None or (ref.reason is None and (ref.more is None or ref.more.pending is None)):
            continue
        if now - orders.setdefault(ref, now) > GRACE:
            yield f"{ref} was told to die at {orders[ref]:.3f} and still awaits something at {now:.3f}"


def check_rest(system: VirtualSystem) -> None:
    """Supervisors that have nothing to do keep exactly those that live below them, and have brought back all they must.

    Raises:
        AssertionError: one does not.
    """
    living = system.living()  # type: ignore[attr-defined]  # a seeded one has it
    faults = [fault for ref in living if _is_free(ref) for fault in _of_keeper(system, ref, living)]
    timers = [timer for timer in system.timers.pending() if timer.args and getattr(timer.args[0], "reason", None)]
    faults += [f"a timer of a dead actor is set: {timer.args[0]}" for timer in timers if timer.owner is not None]
    resting = [ref for ref in living if ref.tok and not ref.mailbox and not ref.actor_class.is_supervisor]
    faults += [f"{ref} rests, and waits for something" for ref in resting if ref.waiting is not None]
    assert faults == [], "; ".join(faults[:5])


def _is_free(ref: Ref) -> bool:
    if not ref.actor_class.is_supervisor or ref.actor is None:
        return False
    return ref.actor._flow is None and not ref.mailbox and not ref.is_suspended() and not ref.is_starting()


def _of_keeper(system: VirtualSystem, ref: Ref, living: list[Ref]) -> Iterator[str]:
    entries = ref.actor._table.by_id
    waits = any(entry.due is not None for entry in entries.values())  # for a back-off, perhaps with its whole group
    for ident, entry in entries.items():
        if entry.restarting and not waits:
            yield f"{ref} still tries to restart {ident}"
        if entry.ref is not None and (entry.ref.reason is not None or entry.ref.parent is not ref):
            yield f"{ref} keeps a dead {entry.ref}"
        is_missed = entry.ref is None and entry.spec.options.restart == "permanent" and entry.starts > 0
        is_missed = is_missed and not waits and not entry.given_up
        ledger = ledger_of(system)
        if is_missed and ref not in ledger.touched and f"{ref.path}/{ident}" not in ledger.ignored:
            yield f"{ref} has not brought back {ident}"
    for child in living:
        if child.parent is ref and (entries.get(child.id) is None or entries[child.id].ref is not child):
            yield f"{child} lives, and {ref} does not keep it"
