"""Asking the hub for a configuration, again and again, and seeing what it gives through to its use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.backoff import asked_by, delay, delay_as_asked
from otpy.core.text import exception_line, safe_repr
from otpy.core.value import value
from otpy.resilience.configuration.document import Document
from otpy.resilience.configuration.holding import problem_of
from otpy.resilience.errors import ConfigurationError, ConfigurationFileError
from otpy.runtime.draining import draining_of

if TYPE_CHECKING:
    from otpy.actors.gen_server import GenServer
    from otpy.resilience.configuration.age import Age
    from otpy.resilience.configuration.holding import Holding
    from otpy.resilience.configuration.plan import Plan
    from otpy.resilience.errand import Outcome
    from otpy.runtime.caller import Caller

__all__ = ["Fetching", "Next"]

ILL = 3
"""Fetches in a row that brought nothing, after which the configuration is degraded: a single one is usual."""
SPREAD = 0.1
"""The part of the time between two fetches that is drawn by chance: agents that started together do not fetch so."""
FIRST = 5.0
"""Seconds within which the first fetch after a start is made; when exactly is drawn by chance, too."""


@value
class Next:
    """It is time to fetch; a message of its actor to itself."""

    number: int


class Fetching:
    """Used in the turns of the actor that keeps the folder. One fetch is under way at a time."""

    def __init__(self, actor: GenServer, plan: Plan, holding: Holding, age: Age) -> None:
        """Of an actor."""
        self._actor, self._plan, self._holding, self._age = actor, plan, holding, age
        self._is_on = False
        self._number = 0  # of the timer that counts
        self._waiting: list[Caller] = []
        self.fetches = 0
        self.failures = 0
        """Fetches in a row that brought nothing."""
        self.problem: str | None = None
        """Why the last one did."""

    def begin(self) -> None:
        """The agent is up: from now on the hub is asked in turns."""
        self._rest(min(self._plan.every, FIRST) * self._actor.system.random.random())

    def rested(self, number: int) -> None:
        """A time to fetch has come."""
        if number == self._number and not self._is_leaving():
            self.fetch()

    def wait(self, caller: Caller) -> None:
        """Somebody wants to know how the next fetch ends; it is made now."""
        self._waiting.append(caller)
        self.fetch()

    def fetch(self) -> None:
        """Ask the hub, unless that is under way."""
        if self._is_on:
            return
        self._is_on = True
        self.fetches += 1
        self._holding.apply_again()
        self._holding.call("fetch", (self._holding.version,), self._fetched)

    def _fetched(self, outcome: Outcome) -> None:
        document = outcome.found
        if outcome.error is not None:
            self._end(f"fetch failed: {exception_line(outcome.error, 200)}", outcome.error)
        elif document is None:
            self._confirmed()
        elif not isinstance(document, Document):
            self._refuse(document, ConfigurationError(f"fetch returned {safe_repr(document)}, and no Document"))
        else:
            self._offered(document)

    def _offered(self, document: Document) -> None:
        holding = self._holding
        if self._is_leaving():  # what is new is for the next start
            self._end(None)
            return
        try:
            if not holding.is_news(document):
                self._confirmed()
                return
            made = holding.verified(document)
            if holding.has_canary():
                holding.count_canary(document.version)
        except ConfigurationFileError as error:
            self._disk(error)
        except ConfigurationError as error:
            self._refuse(document, error)
        else:
            if holding.has_canary():
                holding.call("canary", (made,), lambda outcome: self._tried(document, made, outcome))
            else:
                self._accept(document, made)

    def _tried(self, document: Document, made: Any, outcome: Outcome) -> None:  # Any: what `check` has made
        problem = problem_of(outcome)
        if problem is None:
            self._accept(document, made)
            return
        self._holding.uncount_canary(document.version)
        self._refuse(document, ConfigurationError(f"the canary refused it ({problem})"))

    def _accept(self, document: Document, made: Any) -> None:  # Any: as above
        try:
            self._holding.accept(document, made, self._used)
        except ConfigurationFileError as error:
            if self._holding.has_canary():
                self._holding.uncount_canary(document.version)
            self._disk(error)
        except ConfigurationError as error:
            self._refuse(document, error)

    def _used(self, problem: str | None) -> None:
        """It has been applied, or has failed."""
        self._end(problem)

    def _confirmed(self) -> None:
        if self._holding.version is None:
            self._end("the hub has no configuration for this agent")
            return
        self._age.confirm()
        self._end(None)

    def _disk(self, error: ConfigurationFileError) -> None:
        self._holding.ill("disk", error.problem)
        self._end(f"it cannot be kept: {error.problem}")

    def _refuse(self, document: object, error: ConfigurationError) -> None:
        self._holding.refuse(document, error)
        version = document.version if isinstance(document, Document) else "?"
        self._end(f"version {safe_repr(version)} was refused: {error}")

    def _end(self, problem: str | None, error: BaseException | None = None) -> None:
        self._is_on = False
        self.problem = problem
        if problem is None:
            self.failures = 0
            self._holding.well("hub")
        else:
            self.failures += 1
            if self.failures >= ILL:
                self._holding.ill("hub", problem)
        self._answer(problem)
        if not self._holding.is_starting:
            self._rest(self._pause(error))

    def _answer(self, problem: str | None) -> None:
        waiting, self._waiting = self._waiting, []
        for caller in waiting:
            if problem is None:
                caller.reply(self._holding.version)
            else:
                caller.refuse(ConfigurationError(f"configuration {self._plan.name!r}: {problem}"))

    def _pause(self, error: BaseException | None) -> float:
        """Seconds until the next one. A hub that answers, whatever it says, is asked as usual."""
        chance = self._actor.system.random.random()
        if error is None:
            return self._plan.every * (1 + SPREAD * (2 * chance - 1))
        asked = asked_by(error)
        if asked is not None and asked > 0:
            return min(delay_as_asked(self._plan.backoff, self.failures - 1, asked, chance), 86_400.0)
        return delay(self._plan.backoff, self.failures - 1, chance)

    def _is_leaving(self) -> bool:
        """Whether the program drains, and nothing new is begun."""
        return draining_of(self._actor.system, self._actor.ref) is not None

    def _rest(self, seconds: float) -> None:
        self._number += 1
        self._actor.send_after(seconds, Next(self._number))
