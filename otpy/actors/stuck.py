"""Children whose killed code never came to its end: the next incarnation runs in a process, which can be killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.flow import Flow, Flowing, Wait, deliver_answer
from otpy.events.supervision import ChildMoved
from otpy.runtime.death import LAST_BREATH
from otpy.runtime.mailbox import put

if TYPE_CHECKING:
    from otpy.actors.children import Entry
    from otpy.runtime.ref import Ref

__all__ = ["Moving"]


class Moving(Flowing):
    """The part of a supervisor that moves stuck children into processes."""

    _me: Ref[Any]
    _path: str

    def move_if_stuck(self, entry: Entry, ref: Ref[Any]) -> Flow[None]:
        """Have a child with `on_stuck` start in a process from now on, if the code of its dead incarnation still runs.

        It is given the time in which code that waited inside otpy leaves. The spec is changed for good, as long as this
        supervisor lives: what got stuck once may do so again.
        """
        if entry.spec.options.on_stuck is None or ref not in self.system.undead or self._me.extras().stopping:
            return
        wait = self._me.waiting = Wait(ref)
        self.system.timers.after(LAST_BREATH, put, self.ref, (deliver_answer, wait, None))
        yield wait
        self._me.waiting = None
        if ref not in self.system.undead:
            return
        entry.spec = entry.spec.opts(place="process", loop=None, on_stuck=None)
        self.system.history.decide(self._me, ref.id, "moved", "process")
        self.system.events.emit(ChildMoved(path=f"{self._path}/{ref.id}", place="process"))
