"""What becomes of a job after an attempt: pure decisions, in the order of the law.

A total deadline goes before the error table, that before the number of attempts, and that before the pause.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from otpy.core.backoff import delay, delay_as_asked
from otpy.jobs.model.claim import Settled
from otpy.jobs.model.job import CRASHES, Attempt

if TYPE_CHECKING:
    from otpy.core.backoff import Backoff
    from otpy.jobs.model.job import Failure, Job, State
    from otpy.jobs.retry import Action

__all__ = [
    "TOO_LATE",
    "Failed",
    "after_failure",
    "after_loss",
    "given_back",
    "hand_of",
    "not_begun",
    "snoozed",
    "too_late",
]

TOO_LATE = "schedule_to_start"
"""Why a job is dead that nobody has begun in time; no attempt is made after that."""


HAND = "crew "
"""How the owner of a job begins that was claimed for a crew; the path of an agent begins with its system."""
BELIEVED = 5
"""Times that a job was given back before its loss in a crew's hand counts as a crash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """An attempt that failed, as its agent tells it: plain data, for it may come from another process."""

    failure: Failure
    text: str
    action: Action = "retry"
    """What the job's error table says."""
    retry_after: float | None = None
    """Seconds that the error asks for."""
    trace: str = ""
    """Where it was raised."""


def after_failure(job: Job, failed: Failed, backoff: Backoff, *, chance: float, now: int) -> Settled:
    """How to write down an attempt that failed.

    Args:
        job: as it was claimed.
        failed: how.
        backoff: the pauses of its kind.
        chance: drawn from [0, 1).
        now: the store's time in milliseconds.
    """
    attempt = Attempt(number=job.attempt, at=now, failure=failed.failure, text=failed.text, trace=failed.trace)
    end, reason = _end(job, failed, now)
    if end is not None:
        return Settled(id=job.id, token=job.token, state=end, reason=reason, attempt=attempt)
    run_at = now + round(_pause(job, failed, backoff, chance) * 1_000)
    if job.deadline_at is not None and run_at >= job.deadline_at:
        return Settled(id=job.id, token=job.token, state="dead", reason="deadline", attempt=attempt)
    return Settled(id=job.id, token=job.token, state=_waiting(run_at, now), run_at=run_at, attempt=attempt)


def _end(job: Job, failed: Failed, now: int) -> tuple[Literal["done", "dead", "cancelled"] | None, str]:
    """Whether this was its last attempt, and why."""
    if job.deadline_at is not None and now >= job.deadline_at:
        return "dead", "deadline"
    match failed.action:
        case "ignore":
            return "done", "its error is ignored"
        case "fail":
            return "cancelled", "its error is final"
        case "dead":
            return "dead", "its error is final"
        case "retry":
            pass
    if failed.failure in CRASHES:
        return ("dead", "crashes") if job.crashes + 1 >= job.max_crashes else (None, "")
    return ("dead", "errors") if job.errors + 1 >= job.max_errors else (None, "")


def _pause(job: Job, failed: Failed, backoff: Backoff, chance: float) -> float:
    if failed.failure in CRASHES and not job.crashes:
        return 0.0  # the first crash is likely not its fault
    before = job.errors + job.crashes
    if failed.retry_after is None:
        return delay(backoff, before, chance)
    return delay_as_asked(backoff, before, failed.retry_after, chance)


def _waiting(run_at: int, now: int) -> State:
    return "ready" if run_at <= now else "scheduled"


def snoozed(job: Job, seconds: float, now: int) -> Settled:
    """It wants to go on later: no attempt is spent."""
    run_at = now + round(seconds * 1_000)
    if job.deadline_at is not None and run_at >= job.deadline_at:
        return Settled(id=job.id, token=job.token, state="dead", reason="deadline")
    return Settled(id=job.id, token=job.token, state=_waiting(run_at, now), run_at=run_at, is_free=True)


def too_late(job: Job) -> Settled:
    """It was claimed in time, and was to begin after it."""
    return Settled(id=job.id, token=job.token, state="dead", reason=TOO_LATE, is_free=True)


def not_begun(job: Job, now: int) -> Settled:
    """It was claimed and not begun: others may have it at once, and it must still be begun in time."""
    return given_back(job, now)._replace(start_by=job.start_by)


def hand_of(crew: str) -> str:
    """The owner of what is claimed for a crew as a whole, which begins it when one of its agents is free."""
    return f"{HAND}{crew}"


def after_loss(job: Job, backoff: Backoff, now: int) -> Settled:
    """Its program is gone, or was silent for a lease.

    What a crew had at hand was most likely not begun, and is not to blame: a job that kills programs must not take
    along, with itself, the dozens that waited behind it. But nobody knows, for to write down each beginning would cost
    a write: so that is believed a few times, and then the job counts as what may have done it.
    """
    if job.owner.startswith(HAND) and job.releases < BELIEVED and (job.deadline_at is None or now < job.deadline_at):
        return not_begun(job, now)
    lost = Failed(failure="lost", text=f"{job.owner} was not heard of within its lease")
    return after_failure(job, lost, backoff, chance=0.0, now=now)


def given_back(job: Job, now: int) -> Settled:
    """It could not be finished in time: others may have it at once."""
    return Settled(id=job.id, token=job.token, state="ready", run_at=min(job.run_at, now), is_free=True)
