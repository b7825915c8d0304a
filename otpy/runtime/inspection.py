"""What the control floor may ask of a system: records, stacks, and the verbs that change something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.errors import ChildStateError, NoSuchActorError
from otpy.runtime.lifecycle import kill
from otpy.runtime.records import children_of, record_of, records_below, stopped_record
from otpy.runtime.stacks import seat_of, stack_of

if TYPE_CHECKING:
    from otpy.core.record import ActorRecord
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Inspection"]


class Inspection:
    """Mixed into `System`; any thread may call these. The reading half waits for nobody."""

    def records(self: System, path: str | None = None, limit: int = 200) -> list[ActorRecord]:
        """The actors at and below a path, depth first in start order; at most `limit` children of each are listed."""
        if path is not None and path != self.name:
            return [self._record_at(path), *self._below(path, limit)]
        found: list[ActorRecord] = []
        roots = [self.root] if self.root is not None and self.root.reason is None else []
        for top in [*roots, *(ref for ref in list(self.tops.values()) if ref is not self.root)]:
            found.extend(records_below(self, top, limit))
        return found

    def record(self: System, path: str) -> ActorRecord:
        """One actor. Raises NoSuchActorError."""
        return self._record_at(path)

    def zombies(self: System) -> list[ActorRecord]:
        """Killed actors whose code still runs."""
        return [record_of(self, ref) for ref in list(self.undead)]

    def stack(self: System, path: str) -> str | None:
        """The Python stack of a running actor; None when it rests."""
        ref = self.find(path)
        ref = ref or next((zombie for zombie in list(self.undead) if zombie.path == path), None)
        if ref is None:
            raise self.missing(path)
        seat = seat_of(self, ref)
        return None if seat is None else stack_of(seat)

    def counts(self: System) -> dict[str, int]:
        """How many actors, zombies, threads and waiting turns there are."""
        return {
            "actors": self.alive,
            "zombies": len(self.undead),
            "threads": len(self.pool.workers) + len(self.threads),
            "run_queue": len(self.pool.queue),
        }

    def terminate_child(self: System, path: str) -> None:
        """Have the supervisor stop a child and keep its spec; returns when it has ended."""
        parent, argument = self._below_supervisor(path)
        parent.within(None).call(parent.actor_class.terminate_child, argument)

    def restart_child(self: System, path: str) -> None:
        """Have the supervisor stop a child, if it runs, and start it again; returns when its `init` is done."""
        parent, argument = self._below_supervisor(path)
        within = parent.within(None)
        if not isinstance(argument, str):
            within.call(parent.actor_class.restart_child, argument)
            return
        within.call(parent.actor_class.terminate_child, argument)
        within.call(parent.actor_class.restart_child, argument)

    def kill(self: System, path: str) -> None:
        """Kill one actor; its supervisor acts on it. Raises NoSuchActorError."""
        ref = self.find(path)
        if ref is None:
            raise self.missing(path)
        kill(ref)

    def _record_at(self: System, path: str) -> ActorRecord:
        ref = self.find(path)
        if ref is not None and ref.parent is None:
            return record_of(self, ref)
        head, _, ident = path.rpartition("/")
        parent = self.find(head) if head else None
        for child, entry in children_of(parent) if parent is not None else ():
            if child is not None and str(child.id) == ident:
                return record_of(self, child, entry)
            if child is None and entry[1] == ident:
                return stopped_record(*entry)
        zombie = next((zombie for zombie in list(self.undead) if zombie.path == path), None)
        if zombie is None:
            raise self.missing(path)
        return record_of(self, zombie)

    def _below(self: System, path: str, limit: int) -> list[ActorRecord]:
        ref = self.find(path)
        return [] if ref is None else list(records_below(self, ref, limit))[1:]

    def _below_supervisor(self: System, path: str) -> tuple[Ref[Any], Any]:
        """The supervisor of a path, and what its verbs want: an id, or the ref of a dynamic child."""
        head, _, ident = path.rpartition("/")
        parent = self.find(head) if head else None
        ref = self.find(path)
        if parent is None and ref is None:
            raise self.missing(path)
        if parent is None or not parent.actor_class.is_supervisor:
            raise ChildStateError(path, "no child of a supervisor", "kill it, or stop the whole program")
        if parent.actor_class.names_children:
            return parent, ident
        if ref is None:
            raise NoSuchActorError(path, "it has no process")
        return parent, ref
