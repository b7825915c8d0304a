"""What is in use: taking one up, proving it, giving it up for the one before. In the turns of one actor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.text import exception_line
from otpy.events.resilience import (
    ConfigurationApplied,
    ConfigurationFailed,
    ConfigurationProved,
)
from otpy.resilience.configuration.kept import Kept
from otpy.resilience.configuration.plan import NONE, Current
from otpy.resilience.configuration.record import TRIES
from otpy.resilience.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.resilience.configuration.age import Age
    from otpy.resilience.configuration.document import Document
    from otpy.resilience.configuration.folder import Folder
    from otpy.resilience.configuration.handle import Configuration
    from otpy.resilience.configuration.keeper import Keeper
    from otpy.resilience.configuration.plan import State
    from otpy.resilience.errand import Errands, Outcome

__all__ = ["Holding", "problem_of"]

CRASHED = f"it has crashed the agent {TRIES} times in start-up"


class Holding(Kept):
    """What is in use, of what is kept; used in the turns of the actor that keeps the folder."""

    def __init__(
        self,
        actor: Keeper,
        configuration: Configuration[Any],
        folder: Folder,
        age: Age,
        errands: Errands,
        on_trial: Callable[[int], object],
    ) -> None:
        """Of an actor. `on_trial` is called when one has been applied that is not good, or has not been survived."""
        super().__init__(actor, configuration, folder, age)
        self._errands, self._on_trial = errands, on_trial
        self.is_starting = True
        """Whether the start waits for what is called."""
        self.is_applied = False
        self._used: Callable[[str | None], object] = _nothing
        self._outside: int | None = None  # whose trial is not over, while another one is tried out
        self.version: int | None = None
        """That in use."""
        self._value: Any = None

    # In start-up.

    def begin(self) -> bool:
        """Take up the best of what is kept, or the default; False when there is none."""
        self.tell_damaged()
        candidates = self.record.candidates()
        uncounted = [version for version in candidates if self._take_up(version) is None]
        if self.version is None and uncounted:  # the disk is full: better one on trial than none
            self._take_up(uncounted[0], is_counted=True)
        return self.version is not None or self._take_default()

    def _take_up(self, version: int, *, is_counted: bool = False) -> bool | None:
        """Whether it is in use, or None when it is only because its trial cannot be counted."""
        if self.version is not None:
            return False
        configuration = self._configuration
        if self.record.is_tried(version) and configuration.counted != version:
            self._give_up(version, CRASHED)
            return False
        found = self.load(version)
        if found is None:
            return False
        if not (is_counted or self._count(version) or version in self.record.good):
            return None
        self._go_by(version, found[0], "start")
        self.apply()
        return self.version == version

    def _count(self, version: int) -> bool:
        """Have it on the disk that it is being tried; whether it is."""
        if self._configuration.counted == version:
            return self.record.current == version or self.commit(self.record.using(version))
        if not self.commit(self.record.using(version).begun(version)):
            return False
        self._configuration.counted = version
        return True

    def _take_default(self) -> bool:
        default = self._plan.default
        if default is None:
            return False
        try:
            made = self.checked(default)
        except ConfigurationError as error:
            self.refuse(default, error)
            return False
        self._age.forget()
        self._go_by(default.version, made, "default")
        self.apply()
        return True

    # What a hub offers.

    def is_news(self, document: Document) -> bool:
        """Whether it is another one than is in use.

        Raises:
            ConfigurationError: it has the version of that, and says something else.
        """
        if document.version != self.version or self.version not in self.record.digests:
            return True
        found = self._folder.read(document.version)
        if found is not None and found[0].packed() != document.packed():
            raise ConfigurationError("it has the version in use, and says something else: each change needs a new one")
        return False

    def verified(self, document: Document) -> Any:  # Any: what `check` makes of it
        """What `check` makes of a document that may be used. Raises ConfigurationError."""
        document.packed()
        version, current = document.version, self.version
        if version in self.record.banned:
            raise ConfigurationError("it has failed before, and is never applied again: give it a new version")
        if current is not None and version <= current:
            raise ConfigurationError(f"it is older than version {current}, which is in use")
        if self.record.is_tried(version):
            self._give_up(version, CRASHED)
            raise ConfigurationError(CRASHED)
        if self._plan.signed is not None:
            try:
                is_signed = self._plan.signed(document) is not False
            except Exception as error:  # noqa: BLE001 - the user's code
                raise ConfigurationError(f"its signature is wrong ({exception_line(error, 200)})") from None
            if not is_signed:
                raise ConfigurationError("its signature is wrong")
        return self.checked(document)

    def has_canary(self) -> bool:
        """Whether what comes is tried out first."""
        return self._errands.has("canary")

    def count_canary(self, version: int) -> None:
        """It is about to be tried out, which may end the program. Raises ConfigurationFileError."""
        counted = self._configuration.counted
        self.write(self.record.begun(version, instead=counted))
        self._configuration.counted, self._outside = version, counted

    def uncount_canary(self, version: int) -> None:
        """It has been refused, and has crashed nothing; a crash is that of the one in use again."""
        before, self._outside = self._outside, None
        self._configuration.counted = before
        record = self.record.survived(version)
        self.commit(record if before is None else record.begun(before))

    def survived(self, version: int) -> None:
        """The start-up with the one in use is over."""
        if version != self.version:
            return
        if self._configuration.counted == version:
            self._configuration.counted = None
        if self._outside == version:
            self._outside = None
        if version in self.record.tries:
            self.commit(self.record.survived(version))

    def accept(
        self,
        document: Document,
        value: Any,  # Any: as `verified` gives it
        used: Callable[[str | None], object],
    ) -> None:
        """Keep one, and have it in use; `used` is told when it is, or why it is not.

        Raises:
            ConfigurationFileError: what was in use stays so.
        """
        version = document.version
        digest = self._folder.write(document)
        counted = self._configuration.counted
        record = self.record if counted == version else self.record.begun(version, instead=counted)
        stamp = self._age.fresh()
        self.write(record.taken(version, digest, stamp), stamp)
        self._age.confirm(stamp)
        self._configuration.counted, self._outside = version, None
        self.well("disk", "none")
        self._used = used
        self._go_by(version, value, "fetched")
        self.apply()

    # What becomes of the one in use.

    def apply(self) -> None:
        """Have the user's function use it."""
        version = self.version
        assert version is not None  # noqa: S101 - somebody has just gone by it
        self.is_applied = False
        if not self._errands.has("apply"):
            self._applied(version, None)
            return
        self.call("apply", (self._value,), lambda outcome: self._applied(version, outcome))

    def apply_again(self) -> None:
        """Try once more where that has failed."""
        if self.version is not None and not self.is_applied and not self._errands.is_out("apply"):
            self.apply()

    def call(self, name: str, args: tuple[Any, ...], then: Callable[[Outcome], object]) -> None:
        """Have a function of the user's called; in start-up that is waited for."""
        if self.is_starting:
            then(self._errands.wait(name, self._plan.timeout, args))
        else:
            self._errands.start(name, self._plan.timeout, args, then)

    def _applied(self, version: int, outcome: Outcome | None) -> None:
        if version != self.version:
            return
        used, self._used = self._used, _nothing
        if outcome is not None and outcome.error is not None:
            why = f"apply failed: {exception_line(outcome.error, 200)}"
            if self.is_trial:
                self.fail(version, why)
            else:  # it has worked before: what is around it does not
                self.ill("apply", why)
            used(f"version {version}: {why}")
            return
        self.is_applied = True
        self.well("apply")
        if self.version != self._default_version:
            self._on_trial(version)
        used(None)

    @property
    def is_trial(self) -> bool:
        """Whether the one in use is not good yet."""
        version = self.version
        return version is not None and version in self.record.digests and version not in self.record.good

    def prove(self, version: int) -> None:
        """It is good."""
        if version != self.version or version in self.record.good:
            return
        if self.commit(self.record.proved(version)):
            self.emit(ConfigurationProved(**self.who(), version=version))
            self._publish()

    def fail(self, version: int, why: str) -> None:
        """One has failed; when it is in use, go back to the one before."""
        was_used = version == self.version
        used, self._used = self._used, _nothing
        self._give_up(version, why)
        used(f"version {version} has failed: {why}")
        if not was_used:
            return
        self.publish_none()
        if self.is_starting:
            return  # `begin` goes on with the next
        for candidate in self.record.candidates():
            found = self.load(candidate)
            if found is not None:
                self.commit(self.record.using(candidate))
                self._go_by(candidate, found[0], "fell back")
                self.apply()
                return
        if not self._take_default():
            self.ill("none", f"version {version} has failed, and there is none to fall back to")

    def _give_up(self, version: int, why: str) -> None:
        self.commit(self.record.failed(version))
        if self._configuration.counted == version:
            self._configuration.counted = None
        if self.version not in (None, version):
            self._publish()
        instead = self.record.current if self.version in (None, version) else self.version
        instead = self._default_version if instead is None else instead
        self.emit(ConfigurationFailed(**self.who(), version=version, instead=instead, why=why))

    def leave(self, *, is_orderly: bool) -> None:
        """The actor ends: what it was trying has been survived when it was told to."""
        counted, self._configuration.counted = self._configuration.counted, None
        if is_orderly and counted is not None and counted in self.record.tries:
            self.commit(self.record.survived(counted))

    # What others see of it.

    def publish_none(self) -> None:
        """Nothing is given out any more."""
        self.version = None
        self._configuration.publish(self._actor.ref, NONE)

    @property
    def _default_version(self) -> int | None:
        default = self._plan.default
        return None if default is None or default.version in self.record.digests else default.version

    def _go_by(self, version: int, value: Any, why: str) -> None:  # Any: as `check` gave it
        before, self.version, self._value = self.version, version, value
        self._refused = None
        self._publish()
        self.emit(ConfigurationApplied(**self.who(), version=version, before=before, why=why))

    def _publish(self) -> None:
        version, record = self.version, self.record
        is_kept = version in record.digests
        state: State = "default" if not is_kept else "good" if version in record.good else "trial"
        fallback = record.fallback(version)
        fallback = self._default_version if fallback is None and is_kept else fallback
        current = Current(version, self._value, state, fallback, record.banned)
        self._configuration.publish(self._actor.ref, current)


def _nothing(_: str | None) -> None:
    """Nobody waits for it."""


def problem_of(outcome: Outcome) -> str | None:
    """Why a function that may refuse does so."""
    if outcome.error is not None:
        return exception_line(outcome.error, 200)
    return "it returned False" if outcome.found is False else None
