"""The actor that keeps a configuration: it has the folder, the trial of what is new, and the age of what is in use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar

from otpy.actors.gen_server import GenServer
from otpy.actors.keeping import Keeping
from otpy.core.decision import Fail, NoReply, Stop
from otpy.core.reason import Exit, Shutdown, is_clean
from otpy.core.value import value
from otpy.resilience.configuration.age import Age
from otpy.resilience.configuration.fetching import Fetching, Next
from otpy.resilience.configuration.holding import Holding, problem_of
from otpy.resilience.errand import Due, Errands
from otpy.resilience.errors import ConfigurationFileError
from otpy.runtime.extras import limit_above
from otpy.runtime.links import Down
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from otpy.core.reason import Reason
    from otpy.resilience.configuration.handle import Configuration
    from otpy.resilience.errand import Outcome

__all__ = ["Keeper"]

LATER = NoReply()
"""The reply comes with the end of the fetch."""

SLACK = 3_600.0
"""Seconds by which the age on the disk may be too high: each write wears out flash. At most a tenth of `max_age`."""

LOOK = 60.0
"""Seconds between two looks whether the age has to be written, or is too high."""

_LOOK = object()


@value
class Survived:
    """The start-up with a version is over."""

    version: int


@value
class Health:
    """It is time to ask for the health of a version that is on trial."""

    version: int


class Keeper(GenServer):
    """Keeps one `Configuration`; started by its `child()`, on a thread of its own, for a disk may be slow."""

    place: ClassVar[str] = "thread"
    trap_exit = True

    def init(self, configuration: Configuration[Any]) -> Fail | None:
        """Load what is kept; where nothing is, ask the hub."""
        self._configuration, self._plan = configuration, configuration.plan
        try:
            folder = self.use(Keeping(self.ref, configuration.keep, configuration.release))
        except ConfigurationFileError as error:  # no fault of this actor: a sentence, and no crash report
            return Fail(Shutdown(str(error)))
        self._age = Age(configuration.moments(self.system.clock), folder.record.stamp)
        configuration.standing.age = self._age.now
        self._errands = Errands(self, configuration.staff, self._plan.functions(), self._land)
        self._holding = Holding(self, configuration, folder, self._age, self._errands, self._on_trial)
        self._fetching = Fetching(self, self._plan, self._holding, self._age)
        self._prove_at = math.inf
        problem = self._begun()
        if problem is not None:
            self._holding.publish_none()
            return Fail(Shutdown(f"configuration {self._plan.name!r}: {problem}"))
        self._holding.is_starting, configuration.has_started = False, True
        self._mind_age()
        self._look()
        self._fetching.begin()
        self._show()
        return None

    @property
    def otpy_handle(self) -> Configuration[Any] | None:
        """What it keeps; None before its `init`."""
        return self._configuration if hasattr(self, "_configuration") else None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows how the configuration stands."""
        return f"Configuration {self._configuration.words()}" if hasattr(self, "_configuration") else "Configuration"

    @property
    def otpy_trouble(self) -> str | None:
        """What is the matter with it, for the tree and for `otpy doctor`."""
        return self._configuration.in_the_way() if hasattr(self, "_configuration") else None

    @property
    def otpy_copes(self) -> bool:
        """Whether it gets along with that by itself: the hub is away, and what is kept serves."""
        return self._configuration.standing.is_hub_alone if hasattr(self, "_configuration") else False

    @call
    def refresh(self) -> Any:  # Any: the version, later
        """Fetch now."""
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        self._fetching.wait(caller)
        self._show()
        return LATER

    @call
    def reject(self, why: str, version: int | None) -> None:
        """Go back to the one before."""
        current = self._holding.version
        if current is not None and version in (None, current):
            self._holding.fail(current, why)
        self._show()

    @cast
    def landed(self, ticket: int, outcome: Outcome) -> object:
        """A function of the user's has come back."""
        self._errands.landed(ticket, outcome)
        return self._after()

    def handle_info(self, message: Any) -> object:
        """A time has come, or who calls a function has ended."""
        match message:
            case Next(number=number):
                self._fetching.rested(number)
            case Due():
                self._errands.expired(message)
            case Down(target=target):
                self._errands.lost(target)
            case Survived(version=version):
                self._holding.survived(version)
            case Health(version=version):
                self._ask_health(version)
            case _ if message is _LOOK:
                self._look()
            case _:
                self.unknown(message)
        return self._after()

    def terminate(self, reason: Reason) -> None:
        """Whatever is on trial has crashed nothing when this is no failure's doing."""
        self._holding.leave(is_orderly=self._is_orderly(reason))

    # Start and end.

    def _begun(self) -> str | None:
        """Take up what there is; why that is not possible."""
        has_one = self._holding.begin()
        if has_one and not self._must_end():
            return None
        if has_one and self._configuration.has_started:
            return "it is too old"  # what uses it still runs, and does not wait for a hub
        self._fetching.fetch()
        if self._holding.version is None:
            return f"there is none that can be used: {self._fetching.problem}"
        return f"it is too old, and {self._fetching.problem}" if self._must_end() else None

    def _is_orderly(self, reason: Reason) -> bool:
        """Whether the program, or this part of it, was told to stop: not by what fails, or has not come up."""
        if self.system.is_told:
            return True
        above = self.ref.parent
        while above is not None:
            if above.is_starting():
                return False
            above = above.parent
        return is_clean(reason) and limit_above(self.ref) is None

    def _land(self, ticket: int, outcome: Outcome) -> None:
        """Called in the thread of whoever has called the function."""
        self.ref.cast(Keeper.landed, ticket, outcome)

    # The trial.

    def _on_trial(self, version: int) -> None:
        """It has been applied: it is good when it holds."""
        self.send_after(self._plan.startup, Survived(version))
        if self._holding.is_trial:
            self._prove_at = self.system.clock.now() + self._plan.good_after
            self._ask_later(version)

    def _ask_later(self, version: int) -> None:
        left = self._prove_at - self.system.clock.now()
        wait = min(left, self._plan.health_every) if self._errands.has("healthy") else left
        self.send_after(max(0.0, wait), Health(version))

    def _ask_health(self, version: int) -> None:
        if version != self._holding.version or not self._holding.is_trial:
            return
        if self._errands.has("healthy"):
            self._holding.call("healthy", (), lambda outcome: self._told(version, outcome))
        else:
            self._prove(version)

    def _told(self, version: int, outcome: Outcome) -> None:
        problem = problem_of(outcome)
        if version != self._holding.version or not self._holding.is_trial:
            return
        if problem is not None:
            self._holding.fail(version, f"the agent is not healthy: {problem}")
        else:
            self._prove(version)

    def _prove(self, version: int) -> None:
        if self.system.clock.now() >= self._prove_at:
            self._holding.prove(version)
        else:
            self._ask_later(version)

    # The age.

    def _must_end(self) -> bool:
        return self._plan.expired == "stop" and self._is_expired()

    def _is_expired(self) -> bool:
        age, most = self._age.now(), self._plan.max_age
        return age is not None and most is not None and age > most

    def _look(self) -> None:
        """Look at the age, and again when it is time."""
        most = self._plan.max_age
        self._holding.keep_age(SLACK if most is None else min(SLACK, most / 10))
        age = self._age.now()
        left = LOOK if most is None or age is None or age > most else min(LOOK, most - age + 0.001)
        self.send_after(left, _LOOK)

    def _after(self) -> object:
        """Whatever has changed: see to the age, and have the state at hand."""
        decision = self._mind_age()
        self._show()
        return decision

    def _mind_age(self) -> object:
        autonomy, part = self._plan.autonomy, f"configuration {self._plan.name}"
        if not self._is_expired():
            self._holding.well("age")
            if autonomy is not None and self._plan.expired == "degrade":
                autonomy.release(part)
            return None
        why = f"version {self._holding.version} is older than {self._plan.max_age:g} s"
        self._holding.ill("age", why)
        if autonomy is not None and self._plan.expired == "degrade":
            autonomy.hold(part, why)
        if self._plan.expired != "stop":
            return None
        self._holding.publish_none()
        return Stop(Exit(f"configuration {self._plan.name!r}: {why}"))

    def _show(self) -> None:
        """Have the state at hand for whoever asks the inspector."""
        look = self._configuration.look()
        self.version, self.state, self.fallback, self.failed = look.version, look.state, look.fallback, look.failed
        self.why, self.fetches, self.failures = look.why, self._fetching.fetches, self._fetching.failures
        self.fetch_problem = self._fetching.problem
