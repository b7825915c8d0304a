"""The options of one configuration, looked over; and the look at how it stands."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, get_args

from otpy.core.backoff import Backoff
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.resilience.autonomy.handle import Autonomy
from otpy.resilience.configuration.document import Document
from otpy.resilience.guard import is_async

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NONE", "ConfigurationLook", "Current", "Expired", "Plan", "State"]

Expired = Literal["serve_stale", "degrade", "stop"]
State = Literal["good", "trial", "default", "none"]

CALLED = ("fetch", "canary", "apply", "healthy")
"""By actors of their own."""
PURE = ("check", "signed")
"""In the turn of the one that keeps the folder."""


@value
class Current:
    """What is in use; replaced as a whole."""

    version: int | None
    value: Any  # Any: what `check` has made of it
    state: State
    fallback: int | None
    failed: tuple[int, ...]


NONE = Current(None, None, "none", None, ())


@value(kw_only=True)
class ConfigurationLook:
    """How a configuration stands: `configuration.look()`."""

    version: int | None
    """Which is in use; None: none."""
    state: State
    """`good`; on `trial`, for it has not been in use for long enough; the built-in `default`; or `none`."""
    age: float | None
    """Seconds since the hub last said that it is current; None: it never did."""
    is_expired: bool
    """Whether that is more than `max_age`."""
    fallback: int | None
    """The version before, that is gone back to when this one fails."""
    failed: tuple[int, ...]
    """Versions that have failed and are never applied again, as far as they still matter."""
    degraded: float | None
    """For how many seconds the hub has not given it, or it has been too old; None: all is well."""
    why: str | None
    """What is the matter."""


@value(kw_only=True)
class Plan:
    """As `Configuration` was given them."""

    name: str
    folder: str
    fetch: Any  # Any: these are functions of the user's
    check: Callable[[Any], Any] | None
    signed: Callable[[Document], object] | None
    canary: Any
    apply: Any
    healthy: Any
    default: Document | None
    every: float
    timeout: float
    startup: float
    good_after: float
    health_every: float
    max_age: float | None
    expired: Expired
    backoff: Backoff
    autonomy: Autonomy | None

    def __post_init__(self) -> None:
        """Refuse what cannot be. Raises SpecError."""
        problem = self._problem()
        if problem is not None:
            raise SpecError(self.name if isinstance(self.name, str) else safe_repr(self.name), problem)

    def functions(self) -> dict[str, Any]:
        """Those that are called by actors of their own."""
        return {name: getattr(self, name) for name in CALLED}

    def _problem(self) -> str | None:
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            return f"name={safe_repr(self.name)}: a text without '/'"
        return self._functions() or self._times() or self._words() or self.backoff.problem()

    def _functions(self) -> str | None:
        for name in CALLED + PURE:
            function = getattr(self, name)
            if not callable(function) and (name == "fetch" or function is not None):
                return f"{name}={safe_repr(function)}: a function"
            if name in PURE and is_async(function):
                return f"{name}={safe_repr(function)}: a plain function, which looks at what it is given and no further"
        return None

    def _times(self) -> str | None:
        for word in ("every", "timeout", "startup", "good_after", "health_every"):
            seconds = getattr(self, word)
            if not (is_number(seconds) and 0 < seconds < math.inf):
                return f"{word}={safe_repr(seconds)}: seconds > 0"
        if self.good_after < self.startup:
            return f"good_after={self.good_after!r}: not before the start-up is over (startup={self.startup!r})"
        if self.max_age is not None and not (is_number(self.max_age) and 0 < self.max_age < math.inf):
            return f"max_age={safe_repr(self.max_age)}: seconds > 0, or None for no end"
        return None

    def _words(self) -> str | None:
        if not (self.autonomy is None or isinstance(self.autonomy, Autonomy)):
            return f"autonomy={safe_repr(self.autonomy)}: an Autonomy, or None"
        if not (self.default is None or isinstance(self.default, Document)):
            return f"default={safe_repr(self.default)}: a Document, or None"
        if not isinstance(self.backoff, Backoff):
            return f"backoff={safe_repr(self.backoff)}: an otpy.Backoff"
        return self._expiry()

    def _expiry(self) -> str | None:
        if self.expired not in get_args(Expired):
            return f"expired={safe_repr(self.expired)}: one of {', '.join(get_args(Expired))}"
        if self.expired != "serve_stale" and self.max_age is None:
            return f"expired={self.expired!r} needs max_age"
        if self.expired == "degrade" and self.autonomy is None:
            return "expired='degrade' needs autonomy, which is degraded then"
        return None
