"""Circuit breakers before jobs: while one is open its kinds are held and no attempt is spent; then probes, then a ramp.

Permits are asked for by the scheduler, on behalf of the agent that does the job, and answered when its attempt is over:
so it makes no difference in which process the agent runs. In this one it gets them along: what the job's code calls
through the same breaker goes by them, and tells for them.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from otpy.resilience.errors import BreakerOpenError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.jobs.kind import Kind
    from otpy.jobs.model.job import Job
    from otpy.resilience.breaker import Breaker
    from otpy.resilience.permit import Permit
    from otpy.runtime.ref import Ref

__all__ = ["Gates"]

DOUBLED = 3.0
"""Seconds in which twice as many may run, after a breaker has closed: what has just come back must not be flooded."""
HELD = 1.0
"""Seconds that a job waits where a breaker cannot say how long: somebody holds it open, or others are its probes."""
RAMP = 30.0
"""Seconds after which there is no limit any more."""


class Gates:
    """The breakers that kinds depend on, and the permits of what runs."""

    def __init__(self, kinds: Mapping[str, Kind[..., Any]]) -> None:
        """Nothing runs yet."""
        self._breakers: dict[str, tuple[Breaker, ...]] = {
            n: kind.breakers for n, kind in kinds.items() if kind.breakers
        }
        self._permits: dict[tuple[int, int], list[Permit]] = {}
        self._shut: dict[Breaker, bool] = {}
        self._opened_at: dict[Breaker, float] = {}

    def rooms(self, now: float) -> dict[str, int]:
        """How many of a kind may run just now; a kind that is not here may as before.

        Args:
            now: seconds.
        """
        found = {}
        for kind, breakers in self._breakers.items():
            rooms = [room for breaker in breakers if (room := self._room(breaker, now)) is not None]
            if rooms:
                found[kind] = min(rooms)
        return found

    def enter(self, job: Job, agent: Ref[Any]) -> float | None:
        """Ask for what the job needs; the seconds to wait when it is not to be had."""
        got: list[Permit] = []
        for breaker in self._breakers.get(job.kind, ()):
            try:
                got.append(breaker.allow(holder=agent))
            except BreakerOpenError as error:
                for permit in got:
                    permit.release()
                return error.retry_after or HELD
        if got:
            self._permits[job.id, job.token] = got
        return None

    def permits(self, job: Job) -> tuple[Permit, ...]:
        """What the attempt was let begin by."""
        return tuple(self._permits.get((job.id, job.token), ()))

    def leave(self, id: int, token: int, *, is_well: bool | None, is_cut: bool = False) -> None:
        """The attempt is over: it went well, or not, or says nothing of what it depends on (None).

        Args:
            id: the job's.
            token: the attempt's.
            is_well: how it went.
            is_cut: whether it was ended in the middle, so that a call in it could not tell how that went.
        """
        for permit in self._permits.pop((id, token), ()):
            with suppress(LookupError):
                match is_well:
                    case True:
                        permit.succeeded()
                    case False if is_cut:
                        permit.cut()
                    case False:
                        permit.failed()
                    case None:
                        permit.release()

    def _room(self, breaker: Breaker, now: float) -> int | None:
        was_shut = self._shut.get(breaker, False)
        match breaker.state:
            case "open" | "forced_open":
                self._shut[breaker] = True
                wait = breaker.retry_after()
                return 0 if wait is None or wait > 0 else breaker.rules.probes
            case "half_open":
                self._shut[breaker] = True
                return breaker.rules.probes
        if was_shut:
            self._shut[breaker] = False
            self._opened_at[breaker] = now
        since = now - self._opened_at.get(breaker, -RAMP)
        return None if since >= RAMP else int(2 ** (since / DOUBLED))
