"""The states of one program: which incarnation is given which, and who may still write."""

from __future__ import annotations

import itertools
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otpy.core.clock import virtual_wall, wall_clock
from otpy.disk.owned import set_aside
from otpy.errors import StateError, StateFileError
from otpy.events.jobs import StoreFailed
from otpy.events.state import StateFileSetAside, StateRestored, StateSetAside
from otpy.runtime.restoring import Restored, Snapshot
from otpy.state.file import Row, States
from otpy.state.packing import pack_state, unpack_state
from otpy.state.plan import StateFile

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from otpy.events.event import Event
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["StateStore", "open_states"]

TRIES = 2
"""Starts that may fail with a state; then it is set aside."""

Number = tuple[int, ...]


def open_states(system: System, where: StateFile | Path | str) -> StateStore:
    """Have a system keep states there, until it is closed; before anything has started in it.

    Raises:
        StateFileError: the file cannot be used.
        SpecError: that is no file.
    """
    plan = where if isinstance(where, StateFile) else StateFile(where)
    path = str(plan.path)
    try:
        states = States(path)
    except StateFileError as error:
        if error.failure != "broken" or plan.damaged != "set_aside":
            raise
        aside = set_aside(path)
        system.events.emit(StateFileSetAside(path=system.name, file=path, aside=aside, problem=error.problem))
        states = States(path)
    store = system.states = StateStore(system, states, plan.max_bytes)
    return store


class StateStore:
    """As `KeptStates`. One lock orders all that is done: what is written before a look is seen by it."""

    def __init__(self, system: System, states: States, max_bytes: int) -> None:
        """Know what there is; all of it may be given to those who begin."""
        self._system, self._states, self.max_bytes = system, states, max_bytes
        self._wall = virtual_wall(system.clock) if system.is_virtual else wall_clock
        self._turns = itertools.count(1)
        self._lock = threading.Lock()
        self._is_closed = False
        with states.reading() as tables:
            self._rows = tables.rows()
        self._offered = set(self._rows)  # nobody in this program has begun with them
        self._newest: dict[str, tuple[Number, int]] = {}  # by path, the last incarnation, and its last snapshot
        self._taken: dict[str, Number] = {}  # who has begun with one, and it is not known yet how

    def snapshot(self, ref: Ref[Any], data: object) -> Snapshot:
        """As `KeptStates.snapshot`."""
        packed = pack_state(ref.path, data, self.max_bytes)
        return Snapshot(path=ref.path, number=(ref.number,), turn=next(self._turns), data=packed, ref=ref)

    def save(self, snapshots: Iterable[Snapshot], *, is_final: bool) -> dict[str, StateError]:
        """As `KeptStates.save`."""
        refused: dict[str, StateError] = {}
        written: dict[str, tuple[Row, Snapshot]] = {}
        with self._lock:
            self._refuse_if_closed()
            with self._states.transaction() as tables:
                for one in snapshots:
                    problem = self._problem(one)
                    if problem is None and not self._is_overtaken(one):
                        key = self._key(one.path)
                        row = Row(saved_at=self._wall(), is_fresh=is_final, tries=self._tries(key))
                        if tables.save(key, one.data, row, self._who(one.number)):
                            written[key] = row, one
                        else:
                            problem = "a later incarnation has written its state"
                    if problem is not None:
                        refused[one.path] = StateError(f"{one.path}: {problem}")
            for key, (row, one) in written.items():
                self._rows[key], self._newest[key] = row, (one.number, one.turn)
            if is_final:
                self._offered |= written.keys()
        return refused

    def take(self, path: str, number: Number) -> Restored | None:
        """As `KeptStates.take`."""
        key = self._key(path)
        event: Event | None = None
        restored = None
        with self._lock:
            self._newest[key] = max(self._newest.get(key, (number, 0)), (number, 0))
            row = self._rows.get(key)
            if row is None or key not in self._offered or self._is_closed:
                return None
            if row.tries >= TRIES:
                with self._states.transaction() as tables:
                    tables.set_aside(key, self._wall())
                del self._rows[key]
                event = StateSetAside(path=path, saved_at=row.saved_at / 1_000, tries=row.tries)
            else:
                restored = self._begin(path, row, number)
                event = StateRestored(path=path, saved_at=restored.saved_at, is_fresh=restored.is_fresh)
        self._system.events.emit(event)
        return restored

    def settle(self, path: str, number: Number, *, is_begun: bool, is_excused: bool) -> None:
        """As `KeptStates.settle`."""
        key = self._key(path)
        with self._lock:
            if self._taken.get(key) != number or self._is_closed:
                return
            del self._taken[key]
            if not is_begun and not is_excused:
                return
            row = self._rows[key]
            tries = 0 if is_begun else row.tries - 1
            row = self._rows[key] = replace(row, tries=tries, is_fresh=row.is_fresh and not is_begun)
            if is_begun:
                self._offered.discard(key)
            try:
                with self._states.transaction(is_brief=True) as tables:
                    tables.note(key, row)
            except StateFileError as error:  # it counts as a start that has not ended; the next one may set it right
                problem = error
            else:
                return
        file, kind = self._states.path, type(problem).__name__
        self._system.events.emit(StoreFailed(path=path, store=file, error=kind, problem=problem.problem))

    def age(self, path: str) -> float | None:
        """As `KeptStates.age`."""
        row = self._rows.get(self._key(path))
        return None if row is None else max(0.0, (self._wall() - row.saved_at) / 1_000)

    def close(self) -> None:
        """As `KeptStates.close`."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._states.close()

    def _begin(self, path: str, row: Row, number: Number) -> Restored:
        """Count a start with a state, before it can crash anything, and read it."""
        key = self._key(path)
        with self._states.transaction(is_brief=True) as tables:
            data = tables.read(key)
            tables.begin(key, row.tries + 1, self._who(number))
        self._rows[key] = replace(row, tries=row.tries + 1)
        self._taken[key] = number
        found = unpack_state(self._states.path, path, data)
        return Restored(data=found, saved_at=row.saved_at / 1_000, is_fresh=row.is_fresh)

    def _problem(self, one: Snapshot) -> str | None:
        if one.ref.reason is not None:
            return f"it has ended ({one.ref.reason}): its state was not written"
        newest = self._newest.get(self._key(one.path))
        if newest is not None and one.number < newest[0]:
            return "a later incarnation runs: its state was not written"
        return None

    def _is_overtaken(self, one: Snapshot) -> bool:
        """Whether a later snapshot of the same incarnation is written already."""
        newest = self._newest.get(self._key(one.path))
        return newest is not None and newest[0] == one.number and one.turn < newest[1]

    def _tries(self, key: str) -> int:
        """What the state's starts count for one that takes its place: an `init` that goes on has not succeeded yet."""
        return self._rows[key].tries if key in self._taken else 0

    def _who(self, number: Number) -> tuple[int, int]:
        return (self._states.number, number[0])

    def _key(self, path: str) -> str:
        """A path without the system's own name: a second `shop` is called `shop-2`."""
        return path.removeprefix(self._system.name).removeprefix("/")

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise StateFileError(self._states.path, "the program has closed it")
