"""The actor that brings an agent back to its hub: reach it, catch up, be normal again; and tells of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.actors.keeping import Keeping
from otpy.core.backoff import asked_by, delay, delay_as_asked
from otpy.core.text import exception_line
from otpy.core.value import value
from otpy.events.resilience import AutonomyChanged
from otpy.resilience.errand import Due, Errands
from otpy.runtime.draining import draining_of
from otpy.runtime.links import Down
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from otpy.resilience.autonomy.handle import Autonomy
    from otpy.resilience.errand import Outcome

__all__ = ["AutonomyServer"]

LONGEST = 86_400.0
"""Seconds that a hub can have an agent wait: beyond a day it is asked again, whatever it has said."""


@value
class Try:
    """A pause is over; a message of its actor to itself."""

    number: int


class AutonomyServer(GenServer):
    """Keeps one `Autonomy`; started by its `child()`."""

    def init(self, autonomy: Autonomy) -> None:
        """Go on from where it stands; the hub is to be reached unless it is."""
        self._autonomy = autonomy
        self.use(Keeping(self.ref, autonomy.keep, autonomy.release_keeper))
        self._errands = Errands(self, autonomy.staff, autonomy.functions(), self._land)
        self._phase: int | None = None
        """The one that an attempt, or a pause before it, belongs to."""
        self._number = 0
        self._after()

    @property
    def otpy_handle(self) -> Autonomy | None:
        """What it keeps; None before its `init`."""
        return self._autonomy if hasattr(self, "_autonomy") else None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the agent stands."""
        if not hasattr(self, "_autonomy"):
            return "Autonomy"
        words = self._autonomy.words() if self.otpy_trouble is None else "degraded"  # for how long says the trouble
        return f"Autonomy {words}"

    @property
    def otpy_trouble(self) -> str | None:
        """For how long it is degraded, and why, for the tree and for `otpy doctor`."""
        return self._autonomy.in_the_way() if hasattr(self, "_autonomy") else None

    @property
    def otpy_copes(self) -> bool:
        """To get along without the hub is what it is for."""
        return True

    @cast
    def look(self) -> None:
        """Something has changed."""
        self._after()

    @cast
    def landed(self, ticket: int, outcome: Outcome) -> None:
        """A function of the user's has come back."""
        self._errands.landed(ticket, outcome)
        self._after()

    def handle_info(self, message: Any) -> None:
        """A time has come, or who calls a function has ended."""
        match message:
            case Try(number=number):
                if number == self._number and draining_of(self.system, self.ref) is None:
                    self._try()
            case Due():
                self._errands.expired(message)
            case Down(target=target):
                self._errands.lost(target)
            case _:
                self.unknown(message)
        self._after()

    def _land(self, ticket: int, outcome: Outcome) -> None:
        """Called in the thread of whoever has called the function."""
        self.ref.cast(AutonomyServer.landed, ticket, outcome)

    def _try(self) -> None:
        phase = self._autonomy.line.phase
        self._phase = phase
        self._errands.start("connect", self._autonomy.timeout, (), lambda outcome: self._connected(phase, outcome))

    def _connected(self, phase: int, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._failed(phase, outcome.error)
            return
        if not self._autonomy.change(lambda line, now: line.connect(phase, now)):
            return
        phase = self._phase = phase + 1
        if self._errands.has("catch_up"):
            timeout = self._autonomy.catch_up_timeout
            self._errands.start("catch_up", timeout, (), lambda outcome: self._caught_up(phase, outcome))
        else:
            self._caught_up(phase, outcome)

    def _caught_up(self, phase: int, outcome: Outcome) -> None:
        if outcome.error is not None:
            self._failed(phase, outcome.error)
        else:
            self._autonomy.change(lambda line, now: line.catch_up(phase, now))

    def _failed(self, phase: int, error: Exception) -> None:
        why = exception_line(error, 200)
        self._autonomy.change(lambda line, now: line.fail(phase, why, now))
        self._rest(asked_by(error))

    def _rest(self, asked: float | None) -> None:
        line, backoff, chance = self._autonomy.line, self._autonomy.backoff, self.system.random.random()
        if line.hub != "down":
            return
        tries = max(0, line.attempts - 1)
        is_asked = asked is not None and asked > 0
        pause = delay_as_asked(backoff, tries, asked or 0.0, chance) if is_asked else delay(backoff, tries, chance)
        self._phase = line.phase
        self._number += 1
        self.send_after(min(pause, LONGEST), Try(self._number))

    def _after(self) -> None:
        """Whatever has changed: tell of it, and see to it that somebody is bringing the agent back."""
        line = self._autonomy.line
        if line.hub == "down" and self._phase != line.phase:
            self._rest(None)
        while line.changes:
            change = line.changes.popleft()
            event = AutonomyChanged(
                path=self.ref.path,
                autonomy=self._autonomy.name,
                before=change.before,
                after=change.after,
                why=change.why,
                seconds=change.seconds,
            )
            self.system.events.emit(event)
        look = self._autonomy.look()  # at hand for whoever asks the inspector
        self.state, self.why, self.attempts, self.held = look.state, look.why, look.attempts, look.held
