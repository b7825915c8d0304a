"""What the control floor may ask of a system: records, stacks, and the verbs that change something."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from otpy.core.record import MailboxRecord, StateRecord
from otpy.errors import ActorBusyError, ChildStateError, NoSuchActorError
from otpy.runtime.beyond import LOOK_TIME, look_at, look_beyond, stands_for
from otpy.runtime.crew import crew_of
from otpy.runtime.death import kill
from otpy.runtime.look import GONE, LATE, ask_in_turn, mailbox_of, state_of
from otpy.runtime.recall import exits_of
from otpy.runtime.records import Child, child_record, children_of, record_of, records_below
from otpy.runtime.stacks import doing, stacks_of
from otpy.runtime.suspension import set_suspended

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.core.exits import ExitRecord
    from otpy.core.record import ActorRecord
    from otpy.runtime.beyond import Beyond, Seen
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Inspection"]

NOTHING: Mapping[Ref[Any], Seen] = MappingProxyType({})


class Inspection:
    """Mixed into `System`; any thread may call these. The reading half waits for nobody."""

    @property
    def _system(self) -> System:
        return cast("System", self)

    def asks_processes(self) -> bool:
        """Whether whoever looks may have to wait for the answer of another process."""
        return bool(self._system.beyonds)

    def records(self, path: str | None = None, limit: int = 200, *, within: float | None = None) -> list[ActorRecord]:
        """The actors at and below a path, depth first in start order; at most `limit` children of each are listed.

        Process children are asked for what is inside of them, for `within` real seconds all together, half a second
        unless given. One that has not answered by then is listed as `silent`.
        """
        within = LOOK_TIME if within is None else within
        inner = stands_for(self._system, path, below=True) if path is not None else None
        if inner is not None and path is not None:
            return self._inside(inner, path, limit, within)
        seen = look_beyond(self._system, path, limit, within) if self._system.beyonds else {}
        if path is not None and path != self._system.name:
            return [self._record_at(path, seen), *self._below(path, limit, seen)]
        found: list[ActorRecord] = []
        roots = [self._system.root] if self._system.root is not None and self._system.root.reason is None else []
        for top in [*roots, *(ref for ref in list(self._system.tops.values()) if ref is not self._system.root)]:
            found.extend(records_below(self._system, top, limit, seen))
        return found

    def record(self, path: str) -> ActorRecord:
        """One actor. Raises NoSuchActorError."""
        inner = stands_for(self._system, path, below=True)
        if inner is not None:
            return self._inside(inner, path, 0, LOOK_TIME)[0]
        return self._record_at(path, look_at(self._system, self._system.find(path), LOOK_TIME))

    def exits(self, path: str | None = None, limit: int = 20) -> list[ExitRecord]:
        """The latest exits of a path, of what is above and below it, and those that took it along; the latest first.

        Kept are 200 exits each of four kinds: by their own fault, taken along by such a one, in peace but started
        again, in peace for good. Stops that a supervisor ordered are not kept. Without a path: all.

        Raises:
            NoSuchActorError: nobody is there, and no exit is remembered.
        """
        found = exits_of(self._system, path, limit)
        if path is not None and not any(record.relation != "above" for record in found):
            self._record_at(path)  # whom nothing is known of must at least exist
        return found

    def zombies(self) -> list[ActorRecord]:
        """Killed actors whose code still runs."""
        return [record_of(self._system, ref) for ref in list(self._system.undead)]

    def stack(self, path: str) -> str | None:
        """The Python stack of a running actor, of several handlers each; None when it rests or has no process."""
        inner = stands_for(self._system, path)
        if inner is not None:
            return inner.stack(path)
        ref = self._system.find(path) or self._zombie_at(path)
        if ref is None:
            self._record_at(path)  # raises, unless somebody keeps it without a process
            return None
        return stacks_of(self._system, ref)

    def counts(self) -> dict[str, int]:
        """How many actors, zombies, threads and waiting turns there are."""
        return {
            "actors": self._system.alive,
            "zombies": len(self._system.undead),
            "threads": len(self._system.pool.workers) + len(self._system.threads),
            "run_queue": len(self._system.pool.queue),
        }

    def ending(self) -> tuple[str, float | None] | None:
        """Who has told the program to stop, in words, and the seconds in which it must have; None: nobody has.

        No seconds are told where it may take as long as it likes.
        """
        draining = self._system.draining
        if draining is None:
            return None
        left = draining.deadline - self._system.clock.now()
        return draining.reason, None if left == math.inf else max(0.0, left)

    def terminate_child(self, path: str) -> None:
        """Have the supervisor stop a child and keep its spec; returns when it has ended.

        Raises:
            NoSuchActorError: nobody is there.
            ChildStateError: it is no child of a supervisor, or that is suspended.
        """
        inner = stands_for(self._system, path, below=True)
        if inner is not None:
            inner.carry_out("terminate_child", path, None)
            return
        parent, argument = self._below_supervisor(path)
        parent.within(None).call(parent.actor_class.terminate_child, argument)

    def restart_child(self, path: str) -> None:
        """Have the supervisor stop a child, if it runs, and start it again; returns when its `init` is done.

        Raises:
            NoSuchActorError: nobody is there.
            ChildStateError: it is no child of a supervisor, or that is suspended.
            StartError: it did not start; it stays stopped.
        """
        inner = stands_for(self._system, path, below=True)
        if inner is not None:
            inner.carry_out("restart_child", path, None)
            return
        parent, argument = self._below_supervisor(path)
        cls = parent.actor_class
        parent.within(None).call(cls.renew_child if cls.names_children else cls.restart_child, argument)

    def kill(self, path: str) -> None:
        """Kill one actor; its supervisor acts on it. Raises NoSuchActorError."""
        inner = stands_for(self._system, path, below=True)
        if inner is None:
            kill(self._living(path))
        else:
            try:
                inner.carry_out("kill", path, LOOK_TIME)
            except NoSuchActorError:
                if stands_for(self._system, path, below=True) is inner:
                    raise
                # its whole process has gone with it, and could not say so any more

    def suspend(self, path: str, *, timeout: float = 5.0, seconds: float | None = None) -> None:
        """Have an actor handle no messages until it is resumed; they wait in its mailbox. OTP: sys:suspend/1.

        Returns when it has finished the message it is in. Twice is once. A kill, an exit signal that it does not trap,
        its parent's exit and a wish to stop it still end it.

        Args:
            path: which one.
            timeout: real seconds in which it must have finished its message.
            seconds: after so many on the system's clock it is resumed by itself; None, or a second suspension, never.

        Raises:
            NoSuchActorError: nobody is there.
            ActorBusyError: it is in a message for longer than `timeout`; it will still be suspended.
        """
        self._set_suspended(path, "suspend", timeout, is_suspended=True, seconds=seconds)

    def resume(self, path: str, *, timeout: float = 5.0) -> None:
        """Have an actor go on with its messages. Twice is once. Raises as `suspend` does. OTP: sys:resume/1."""
        self._set_suspended(path, "resume", timeout, is_suspended=False)

    def _set_suspended(
        self, path: str, verb: str, timeout: float, *, is_suspended: bool, seconds: float | None = None
    ) -> None:
        inner = stands_for(self._system, path)
        if inner is not None:
            inner.carry_out(verb, path, timeout, timeout, *((seconds,) if is_suspended else ()))
            return
        ref = self._living(path)

        def change(own: Ref[Any]) -> object:
            set_suspended(own, is_suspended=is_suspended, seconds=seconds)
            crew = crew_of(own)
            return crew.drain() if crew is not None and is_suspended else None

        answer = ask_in_turn(ref, change, timeout)
        if answer is GONE:
            raise self._system.missing(path)
        if answer is LATE:
            raise ActorBusyError(path, verb, timeout, doing(self._system, ref))

    def state(self, path: str, *, timeout: float = 2.5) -> StateRecord:
        """What an actor holds: its public attributes, told in its own turn before its next message.

        Secrets are hidden as in crash reports, and nobody's `__repr__` runs. One that is in a message for longer than
        `timeout` (real seconds) is not waited for: then the record says what it is busy with, and where.
        OTP: sys:get_state/1.

        Raises:
            NoSuchActorError: nobody is there.
        """
        inner = stands_for(self._system, path)
        if inner is not None:
            return inner.state(path, timeout)
        record = self._record_at(path)
        ref = self._system.find(path)
        if ref is not None:
            return state_of(ref, record.status, timeout)
        if record.number == 0:
            return StateRecord(path=path, status=record.status, problem=f"it has no process: it is {record.status}")
        problem = "it was killed, and its thread has not come back yet: nobody may look into it"
        return StateRecord(path=path, status=record.status, problem=problem, stack=self.stack(path))

    def mailbox(self, path: str, limit: int = 20) -> MailboxRecord:
        """How many messages wait, and the kinds of the first ones, never what they hold; asks no actor.

        Raises:
            NoSuchActorError: nobody is there.
        """
        inner = stands_for(self._system, path)
        if inner is not None:
            return inner.mailbox(path, limit)
        record = self._record_at(path)
        ref = self._system.find(path)
        if ref is None:
            return MailboxRecord(path=path, status=record.status, length=0)
        return mailbox_of(ref, record.status, limit)

    def doing(self, path: str) -> str:
        """What an actor does at this moment, as one line: for how long, in which message, waiting for whom, where."""
        inner = stands_for(self._system, path)
        return doing(self._system, self._living(path)) if inner is None else inner.doing(path)

    def _living(self, path: str) -> Ref[Any]:
        ref = self._system.find(path)
        if ref is None:
            raise self._system.missing(path)
        return ref

    def _inside(self, inner: Beyond, path: str, limit: int, within: float) -> list[ActorRecord]:
        """What is below an actor that runs elsewhere."""
        seen = inner.begin(path, limit, within)(within)
        if seen.own is None:
            raise ChildStateError(path, "silent", "its process does not answer; look at the one above it")
        return [seen.own, *seen.below]

    def _record_at(self, path: str, beyond: Mapping[Ref[Any], Seen] = NOTHING) -> ActorRecord:
        ref = self._system.find(path)
        seen = None if ref is None else beyond.get(ref)
        if ref is not None and (ref.parent is None or ref is self._system.root):
            return child_record(self._system, Child(path, str(ref.id), ref, None), seen)
        head, _, ident = path.rpartition("/")
        parent = self._system.find(head) if head else None
        for child in children_of(parent) if parent is not None else ():
            if child.id == ident:
                return child_record(self._system, child, seen)
        zombie = self._zombie_at(path)
        if zombie is None:
            raise self._system.missing(path)
        return record_of(self._system, zombie)

    def _zombie_at(self, path: str) -> Ref[Any] | None:
        return next((zombie for zombie in list(self._system.undead) if zombie.path == path), None)

    def _below(self, path: str, limit: int, seen: Mapping[Ref[Any], Seen]) -> list[ActorRecord]:
        ref = self._system.find(path)
        return [] if ref is None else list(records_below(self._system, ref, limit, seen))[1:]

    def _below_supervisor(self, path: str) -> tuple[Ref[Any], Any]:
        """The supervisor of a path, and what its verbs want: an id, or the ref of a dynamic child."""
        head, _, ident = path.rpartition("/")
        parent = self._system.find(head) if head else None
        ref = self._system.find(path)
        if parent is None and ref is None:
            raise self._system.missing(path)
        if parent is None or not parent.actor_class.is_supervisor:
            raise ChildStateError(path, "no child of a supervisor", "kill it, or stop the whole program")
        if parent.is_suspended():  # who asks would wait until somebody resumes it
            mend = f"what becomes of {path} is its supervisor's business: otpy resume {parent.path}"
            raise ChildStateError(parent.path, "suspended", mend)
        if parent.actor_class.names_children:
            return parent, ident
        if ref is None and not ident.isdecimal():
            raise NoSuchActorError(path, "the children of a dynamic supervisor have numbers")
        return parent, int(ident) if ref is None else ref  # it may wait for its restart, or have been given up
