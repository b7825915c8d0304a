"""Schedules: which times of a cron expression are due, in zones with their changes of the clock. Pure functions.

All times are compared as milliseconds of UTC: two times of one zone compare by the wall clock in Python, and 01:30
comes twice in autumn. What happens at a change is the rule of cronsim, which is Debian's: a job whose time is left out
runs once at the first instant after the gap, one whose time comes twice runs the first time, and `*` runs every hour.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.declared import is_text
from otpy.jobs.model.look import ScheduleLook
from otpy.jobs.spec import check_words, job_specs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.jobs.model.schedule import Missed, Overlap, Schedule
    from otpy.jobs.spec import JobSpec

__all__ = ["Cron", "cron", "due", "following", "look_at"]


class CronOptions(TypedDict, total=False):
    """What `cron` takes."""

    id: str
    tz: str
    missed: Missed
    most: int
    late: float
    overlap: Overlap
    jitter: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cron:
    """A job that is enqueued again and again."""

    expr: str
    """Five fields, as in crontab."""
    spec: JobSpec[Any]
    id: str
    """What the store calls it."""
    tz: str = "UTC"
    """A zone of the IANA database."""
    missed: Missed = "latest"
    most: int = 10
    """Times of the past that are made up for at once, with `missed="all"`."""
    late: float = 60.0
    """Seconds after which a time counts as missed, with `missed="skip"`."""
    overlap: Overlap = "skip"
    jitter: float = 0.0
    """Seconds that are drawn by chance and added to each time: what many programs do every hour need not be at once."""

    def check(self) -> None:
        """Refuse what cannot work. Raises SpecError."""
        if not is_text(self.id):
            raise SpecError("cron", f"id={safe_repr(self.id)}: a text")
        for name, value in (("expr", self.expr), ("tz", self.tz)):
            if not is_text(value):
                raise SpecError(self.id, f"{name}={safe_repr(value)}: a text")
        zone(self.id, self.tz)
        next(_times(self.id, self.expr, datetime.now(ZoneInfo("UTC"))))
        if self.missed not in ("skip", "latest", "all"):
            raise SpecError(self.id, f"missed={safe_repr(self.missed)}: skip, latest or all")
        if self.overlap not in ("allow", "skip", "queue_one", "cancel_old"):
            raise SpecError(self.id, f"overlap={safe_repr(self.overlap)}: allow, skip, queue_one or cancel_old")
        if type(self.most) is not int or not 1 <= self.most <= 1_000:  # noqa: PLR2004 - a flood helps nobody
            raise SpecError(self.id, f"most={safe_repr(self.most)}: a whole number from 1 to 1000")
        for name in ("late", "jitter"):
            value = getattr(self, name)
            if not (is_number(value) and 0 <= value < 1e9):  # noqa: PLR2004 - some thirty years
                raise SpecError(self.id, f"{name}={safe_repr(value)}: seconds >= 0")


def cron(expr: str, spec: JobSpec[Any], **options: Unpack[CronOptions]) -> Cron:
    """Declare a schedule: `jobs.cron("*/5 * * * *", tidy.new())`, for `jobs.engine(..., cron=[...])`.

    Args:
        expr: five fields, as in crontab.
        spec: the job.
        **options: `id`, by default the kind's name; `tz`, a zone, UTC unless said; `missed` and `most` or `late`, for
            times at which nobody led; `overlap`, for when the last job has not ended; `jitter` in seconds.

    Raises:
        SpecError: an expression that never comes, a zone that is not known, an option that cannot be.
    """
    [spec] = job_specs([spec])
    check_words(spec.kind.name, options, CronOptions)
    made = replace(Cron(expr=expr, spec=spec, id=spec.kind.name), **options)
    made.check()
    for name, missed in (("most", "all"), ("late", "skip")):
        if name in options and made.missed != missed:
            raise SpecError(made.id, f"{name}= goes with missed={missed!r}, and means nothing otherwise: leave it out")
    return made


def zone(where: str, name: str) -> ZoneInfo:
    """The zone. Raises SpecError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        none = "" if available_timezones() else "; this machine has no zones: install otpy[jobs]"
        raise SpecError(where, f"tz={safe_repr(name)}: a zone of the IANA database, as Europe/Berlin{none}") from None


def due(schedule: Cron | Schedule, since: int, now: int) -> list[int]:
    """The times after `since` that are to be done at `now`, the oldest first; a bounded number, whatever was missed."""
    limit = schedule.most if schedule.missed == "all" else 1
    found: list[int] = []
    for moment in _back(schedule, now):
        if moment <= since or len(found) == limit:
            break
        if schedule.missed == "skip" and now - moment > schedule.late * 1_000:
            break
        found.append(moment)
    return found[::-1]


def following(schedule: Cron | Schedule, now: int) -> int:
    """The first time after `now`."""
    start = _moment(now, zone(schedule.id, schedule.tz))
    return next(stamp for one in _times(schedule.id, schedule.expr, start) if (stamp := _stamp(one)) > now)


def look_at(schedule: Schedule, now: int) -> ScheduleLook:
    """How one is, for whoever looks from outside."""
    next_at, problem = None, None
    try:
        next_at = None if schedule.is_paused else following(schedule, now)
    except SpecError as error:
        problem = str(error)
    return ScheduleLook(
        id=schedule.id,
        expr=schedule.expr,
        tz=schedule.tz,
        kind=schedule.job.kind,
        queue=schedule.job.queue,
        last_at=schedule.fired_at,
        next_at=next_at,
        is_paused=schedule.is_paused,
        problem=problem,
    )


def _back(schedule: Cron | Schedule, now: int) -> Iterator[int]:
    """The times up to `now`, the last one first."""
    start = _moment(now + 1_000, zone(schedule.id, schedule.tz))  # cronsim begins before the given moment
    for one in _times(schedule.id, schedule.expr, start, reverse=True):
        if (stamp := _stamp(one)) <= now:
            yield stamp


def _times(where: str, expr: str, start: datetime, *, reverse: bool = False) -> Iterator[datetime]:
    try:
        from cronsim import CronSim, CronSimError  # noqa: PLC0415 - the extra `jobs`, for who uses schedules
    except ImportError as error:
        text = "otpy.jobs.cron needs cronsim: install otpy[jobs]"
        raise ImportError(text, name=error.name) from error
    try:
        yield from CronSim(expr, start, reverse=reverse)
    except CronSimError as error:
        raise SpecError(where, f"{safe_repr(expr)}: {error}") from None


def _moment(stamp: int, tz: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(stamp / 1_000, tz)


def _stamp(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000)
