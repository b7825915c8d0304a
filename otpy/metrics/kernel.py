"""What is read of the kernel: its own numbers, and a census of all actors in one go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.jobs.candidate import Candidate
from otpy.metrics.services import SERVICES
from otpy.runtime.census import everyone

if TYPE_CHECKING:
    from otpy.metrics.reading import Sheet
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["read_kernel"]

SPECIAL: tuple[type[Any], ...] = (Candidate, *SERVICES)
"""Classes whose actors say more of themselves."""


def read_kernel(system: System, sheet: Sheet) -> None:
    """As the catalogue says. Sends nothing, and takes no lock."""
    counts = system.counts()
    sheet.set("otpy_actors", counts["actors"])
    sheet.set("otpy_zombies", counts["zombies"])
    sheet.set("otpy_threads", counts["threads"])
    sheet.set("otpy_run_queue", counts["run_queue"])
    sheet.set("otpy_in_flight", len(system.drains.flights))
    sheet.set("otpy_process_children", len(system.beyonds))
    sheet.set("otpy_start_time_seconds", system.started_at)
    _census(system, sheet)
    if system.latency is not None:
        sheet.distribute("otpy_call_seconds", system.latency)


def _census(system: System, sheet: Sheet) -> None:
    total = longest = busy = suspended = 0
    special: list[Ref[Any]] = []
    classes: dict[type[Any], bool] = {}  # asked once for each class: of an abstract one that takes a microsecond
    for ref in everyone(system):
        box = ref.mailbox
        waiting = len(box) if box is not None else 0
        total += waiting
        longest = max(longest, waiting)
        busy += ref.current is not None
        suspended += ref.more is not None and ref.more.suspended
        cls = ref.actor_class
        if cls not in classes:
            classes[cls] = issubclass(cls, SPECIAL)
        if classes[cls]:
            special.append(ref)
    sheet.set("otpy_mailbox_messages", total)
    sheet.set("otpy_mailbox_messages_max", longest)
    sheet.set("otpy_actors_busy", busy)
    sheet.set("otpy_actors_suspended", suspended)
    for name, ref in sorted(system.names.copy().items()):
        sheet.set("otpy_named_mailbox_messages", len(ref.mailbox or ()), name)
    for ref in special:
        _read_special(ref, sheet)


def _read_special(ref: Ref[Any], sheet: Sheet) -> None:
    actor = ref.actor
    if isinstance(actor, Candidate):
        if hasattr(actor, "is_leader"):  # its `init` is done
            sheet.set("otpy_leader", actor.is_leader, actor.terms.name)
            sheet.set("otpy_leader_epoch", actor.epoch, actor.terms.name)
            sheet.set("otpy_leader_transitions_total", 0, actor.terms.name)  # until one is counted
        return
    for cls, read in SERVICES.items():
        handle = actor.otpy_handle if isinstance(actor, cls) else None
        if handle is not None:
            read(handle, sheet)
