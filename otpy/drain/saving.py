"""The phase `checkpoint`: those that persist something are asked for it, and all of it is written in one commit."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from otpy.core.text import exception_line
from otpy.drain.plan import ANSWERS, Phase
from otpy.drain.stages import Asking
from otpy.events.draining import DrainFailed

if TYPE_CHECKING:
    from otpy.drain.course import Course
    from otpy.runtime.restoring import Snapshot

__all__ = ["Saving"]


class Saving(Asking):
    """Has states returned and written."""

    phase = Phase.CHECKPOINT
    hook = "persist"

    def __init__(self, course: Course) -> None:
        """Have asked nobody."""
        super().__init__(course)
        self._outcome: list[str | None] = []
        self._is_writing = False
        self._until = 0.0

    def begin(self) -> None:
        """Ask for states, if there is a place to keep them."""
        now = self.system.clock.now()
        self._until = now + (self._end() - now) * ANSWERS
        if self.system.states is not None:
            super().begin()

    def has_saved(self, *, is_late: bool, is_tick: bool) -> bool:
        """Whether all that has been returned is written, or the time for it is over."""
        is_up = is_late or self.system.clock.now() >= self._until
        if not self._is_writing and (is_up or self.are_done()):
            self._write()
        elif not self._is_writing and is_tick:
            self.far.look()
        if not is_late and not (self._outcome and self.far.are(lambda _: True)):
            return False
        self.note_ended()
        problem = self._outcome[0] if self._outcome else "its time was over before the states were written"
        if problem is not None:
            self.failed.append(DrainFailed(path=self.course.path, phase=self.phase, problem=problem))
        self.course.undone += [f"{one.path}: its state was not saved" for one in (*self.failed, *self.late)]
        return True

    def _write(self) -> None:
        self._is_writing = True
        self.note_late()
        states = [drain.result for drain in self.near.asked.values() if drain.result is not None]
        self.far.save()
        if not states:
            self._outcome.append(None)
        elif self.system.is_virtual:  # nobody would wait for another thread
            self._keep(states)
        else:
            threading.Thread(target=self._keep, args=(states,), name="otpy-drain-save", daemon=True).start()

    def _keep(self, states: list[Snapshot]) -> None:
        store = self.system.states
        try:
            refused = {} if store is None else store.save(states, is_final=True)
        except Exception as error:  # noqa: BLE001 - the drain goes on, and says so
            self._outcome.append(exception_line(error))
        else:
            self.failed += [
                DrainFailed(path=path, phase=self.phase, problem=str(error)) for path, error in refused.items()
            ]
            self._outcome.append(None)
        self.course.wake()
