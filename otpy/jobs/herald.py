"""The herald: tells who does something about it what a commit has made possible, once for all who shared it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.spec import Name
from otpy.jobs.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from otpy.jobs.model.news import News
    from otpy.runtime.named import NamedRef
    from otpy.runtime.system import System

__all__ = ["Herald"]


class Herald:
    """Tells the scheduler and the janitor; where there are none, other programs see to it."""

    def __init__(self, system: System, name: str) -> None:
        """Of the engine of this name."""
        self._scheduler: NamedRef[Scheduler] = system.ref(Name(f"{name}/scheduler", Scheduler))
        self._janitor: NamedRef[Any] = system.ref(f"{name}/janitor")
        self._lookout: NamedRef[Any] = system.ref(f"{name}/lookout")

    def __call__(self, news: News) -> None:
        """Committed it is, and the replies are given: what a round says that shared the commit comes before this."""
        if news.ready and (scheduler := self._scheduler.whereis()) is not None:
            scheduler.cast(Scheduler.hope, news.ready)
        if news.due is not None and (janitor := self._janitor.whereis()) is not None:
            janitor.tell(("due", news.due))

    def others(self) -> None:
        """Another program has made something ready; from any thread.

        The scheduler asks wherever there may be something, for to look first where that is would take as long again.
        What else may have been said the lookout finds out, a little later.
        """
        if (scheduler := self._scheduler.whereis()) is not None:
            scheduler.cast(Scheduler.called)
        if (lookout := self._lookout.whereis()) is not None:
            lookout.tell("called")
