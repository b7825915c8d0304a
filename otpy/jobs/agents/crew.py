"""A crew keeps so many agents: one that is gone is replaced, whatever it was that ended it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otpy.actors.dynamic_supervisor import DynamicSupervisor
from otpy.actors.gen_server import GenServer
from otpy.core.backoff import Backoff, delay
from otpy.core.decision import Continue, NoReply
from otpy.core.spec import child
from otpy.errors import SpecError, StartError
from otpy.events.jobs import CrewChanged
from otpy.jobs.agents.agent import Agent, AsyncAgent
from otpy.jobs.agents.desk import Desk
from otpy.runtime.draining import draining_of
from otpy.runtime.links import Down
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.core.spec import ChildSpec
    from otpy.jobs.setup import Crew, Setup
    from otpy.runtime.ref import Ref

__all__ = ["Foreman"]

PAUSES = Backoff(first=0.5, factor=2.0, most=60.0)
"""Between two starts that failed."""

FORGOTTEN = 120.0
"""Seconds without a failure after which the pauses begin anew."""

START = 30.0
"""Seconds that an agent has for its start: a module that hangs while it is imported must not keep its crew."""


class Foreman(GenServer):
    """Starts agents under a supervisor of its own until there are `size` and `spare`.

    They are temporary there: an agent that a job has ended says nothing of the machinery, and is replaced at once. One
    that does not start does: the next start comes after a pause, which doubles each time up to a minute. So the limit
    of work is its retries, that of the machinery these pauses; `ready`, `desired` and `failures` tell them apart.

    A foreman that is started again finds the agents that are there, and the numbers that it was given last.
    """

    trap_exit = True

    def init(self, setup: Setup, crew: Crew, scaled: dict[str, Crew]) -> Continue:
        """Look who is there; the others are started after that, so that one bad crew does not keep all from work.

        In `scaled`, which is there as long as the lead, it keeps the numbers that it is given while it runs.
        """
        self.scaled = scaled
        self.crew = crew = scaled.get(crew.name, crew)
        self.scheduler = self.system.ref(setup.actor(Desk, "scheduler"))
        kinds = {name: setup.kinds[name] for name in crew.kinds}
        self.spec = _spec(setup, crew, kinds)
        self.agents = self.system.ref(setup.actor(DynamicSupervisor, f"agents/{crew.name}")).within(None)
        self.alive: set[Ref[Any]] = set()
        self.desired = crew.size + crew.spare
        self.ready = 0
        self.failures = 0
        self.failed_at = float("-inf")
        self.problem: str | None = None
        self.is_pausing = False
        return Continue("fill")

    def handle_continue(self, term: object) -> None:  # noqa: ARG002 - there is one
        """Have all of them there."""
        for info in self.agents.call(DynamicSupervisor.which_children):
            if info.ref is not None:
                self._keep(info.ref)
        self._tell_crew(is_open=True)
        self._fill()

    @call
    def resize(self, size: int, spare: int | None = None) -> tuple[int, int] | NoReply:
        """Have so many from now on; returns how many are desired and ready.

        More are started at once. Of fewer, those that rest are stopped first, and others when they have done their job.

        Raises:
            SpecError: a number that cannot be.
        """
        crew = replace(self.crew, size=size, spare=self.crew.spare if spare is None else spare)
        problem = crew.problem()
        if problem is not None:
            assert self.caller is not None  # noqa: S101 - a call has one
            self.caller.refuse(SpecError(self.ref.path, problem))
            return NoReply()
        self.crew = self.scaled[crew.name] = crew
        self.desired = crew.size + crew.spare
        self._tell_crew(is_open=True)
        self.is_pausing = False
        self._fill()
        return self.desired, self.ready

    @cast
    def idled(self, why: str) -> None:
        """One has ended while it had nothing to do: no job can be blamed, so it counts as a start that failed."""
        if not self.is_pausing:
            self._failed(f"an agent ended at rest: {why}")

    def handle_info(self, message: Any) -> None:
        """One is gone, or a pause is over."""
        if isinstance(message, Down):
            self._gone(message.target, message.reason)
        elif message == "again":
            self.is_pausing = False
            self._fill()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """The agents are stopped next, or there is a new foreman soon: no further work until then."""
        self._tell_crew(is_open=False)

    def _fill(self) -> None:
        while len(self.alive) < self.desired and not (self.is_pausing or self._is_leaving()):
            try:
                agent = self.agents.call(DynamicSupervisor.start_child, self.spec)
            except StartError as error:
                self._failed(str(error))
            else:
                assert agent is not None  # noqa: S101 - an agent's init never ignores
                self._keep(agent)
        self._tell()

    def _is_leaving(self) -> bool:
        """Whether the program drains: then nothing begins any more, and who ends is not replaced."""
        return draining_of(self.system, self.ref) is not None

    def _keep(self, agent: Ref[Any]) -> None:
        self.alive.add(agent)
        self.monitor(agent)

    def _gone(self, agent: Any, reason: Reason) -> None:
        if agent in self.alive:
            self.alive.remove(agent)
            self._tell(str(reason))
            self._fill()

    def _failed(self, problem: str) -> None:
        now = self.system.clock.now()
        if now - self.failed_at > FORGOTTEN:
            self.failures = 0
        self.failed_at = now
        pause = delay(PAUSES, self.failures, self.system.random.random())
        self.failures += 1
        self.problem = problem
        self.is_pausing = True
        self.send_after(pause, "again")

    def _tell(self, why: str | None = None) -> None:
        """Say it when there are more of them, or fewer."""
        told, self.problem = self.problem or why, None
        if len(self.alive) != self.ready or told is not None:
            self.ready = len(self.alive)
            self.system.events.emit(
                CrewChanged(
                    path=self.ref.path,
                    crew=self.crew.name,
                    desired=self.desired,
                    ready=self.ready,
                    failures=self.failures,
                    why=told,
                )
            )

    def _tell_crew(self, *, is_open: bool) -> None:
        self.scheduler.cast(Desk.crew, self.crew, is_open)


def _spec(setup: Setup, crew: Crew, kinds: dict[str, Any]) -> ChildSpec:
    is_apart = crew.place == "process"
    cls: Any = AsyncAgent if crew.place == "loop" else Agent
    spec = child(cls, setup.name, crew.name, kinds, is_apart=is_apart, loan=setup.loan_seconds)
    spec = spec.opts(restart="temporary", place=crew.place, start_timeout=START)
    return spec.opts(max_memory_bytes=crew.max_memory_bytes) if is_apart else spec
