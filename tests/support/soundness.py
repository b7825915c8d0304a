"""What must be true of a system between any two turns, and when it has come to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.caller import Caller
from otpy.runtime.links import linked
from support.ledger import ledger_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import otpy
    from otpy.testing import VirtualSystem
    from otpy.testing.system import SeededSystem

    Ref = otpy.Ref[Any]

__all__ = ["check_rest", "sound"]

GRACE = 1.0
"""Seconds in which a handler that was cancelled has ended, whatever it does about that."""


def sound(system: Any) -> None:
    """An invariant for `explore`: between any two turns."""
    ledger = ledger_of(system)
    ledger.note_deaths()
    faults = [*_of_tables(system), *_of_waits(system), *_of_orders(system, ledger.orders), *ledger.faults]
    if faults:
        raise AssertionError("; ".join(faults[:5]))


def _of_tables(system: SeededSystem) -> Iterator[str]:
    living, names = system.living(), system.names
    if len(living) != system.alive:
        yield f"{system.alive} actors live, and {len(living)} can be found"
    for name, ref in names.items():
        if ref.reason is not None or ref.name != name:
            yield f"the name {name} is held by {ref}: {ref.reason}, {ref.name}"
    for ref in living:  # it is walked some forty thousand times, so what most of them have is looked at right here
        links, more, parent = ref.links, ref.more, ref.parent
        if ref.name is not None and names.get(ref.name) is not ref:
            yield f"{ref} has a name that leads elsewhere: {ref.name}"
        if links is not None and not _is_tied(links, ref):
            yield f"{ref} is linked to one that is not linked to it, of {linked(links)}"
        if ref.monitors or (more is not None and more._watches):
            yield from _of_watches(ref)
        if parent is not None and parent.reason is not None and ref not in system.orphans:
            yield f"{ref} is an orphan that nobody knows of"


def _is_tied(links: Ref | set[Ref], ref: Ref) -> bool:
    """Whether all to whom it is linked live, and are linked to it."""
    for peer in links if links.__class__ is set else (links,):
        back = peer.links
        if peer.reason is not None or not (back is ref or (back.__class__ is set and ref in back)):
            return False
    return True


def _of_watches(ref: Ref) -> Iterator[str]:
    for monitor in ref.monitors or ():
        watcher = monitor.watcher
        if watcher is not None and (watcher.reason is not None or monitor not in watcher.extras().watches):
            yield f"{ref} is watched by {watcher}, which does not know"
    for monitor in ref.more.watches if ref.more is not None else ():
        if monitor not in (monitor.target_ref.monitors or ()):
            yield f"{ref} watches {monitor.target}, which does not know"


def _of_waits(system: SeededSystem) -> Iterator[str]:
    edges = [worker.ref.waiting for worker in _on_loop(system) if worker.ref is not None]
    for slot in (*system.pool.waiting(), *edges):
        if isinstance(slot, Caller) and slot.claim and slot.target.reason is not None:
            yield f"{slot.seat.ref} waits for a dead {slot.target}"


def _of_orders(system: SeededSystem, orders: dict[Ref, float]) -> Iterator[str]:
    """Who is told to die while it awaits something ends, apart from what it takes its time for."""
    now = system.clock.now()
    for worker in _on_loop(system):
        ref = worker.ref
        if ref is None or (ref.reason is None and (ref.more is None or ref.more.pending is None)):
            continue
        if now - orders.setdefault(ref, now) > GRACE:
            yield f"{ref} was told to die at {orders[ref]:.3f} and still awaits something at {now:.3f}"


def _on_loop(system: SeededSystem) -> Iterable[Any]:
    return () if system.loop_home is None else system.loop_home.suspended


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
