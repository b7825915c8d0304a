"""Jobs and queues as plain data for whoever looks from outside: bounded, and without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.masking import hide
from otpy.core.text import safe_repr, visible, visible_lines
from otpy.jobs.errors import ArgumentsError
from otpy.jobs.redact import redacted

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.kind import Kind
    from otpy.jobs.model.host import HostLook
    from otpy.jobs.model.job import Attempt, Earlier, Job
    from otpy.jobs.model.lead import NameLook
    from otpy.jobs.model.look import CrewLook, QueueLook, ScheduleLook, StoreLook
    from otpy.jobs.model.new import Replayed
    from otpy.jobs.model.server import ServerLook

    Show = Callable[[str, object], object]
    Redact = Callable[[str], str]

__all__ = [
    "crew_line",
    "host_line",
    "job_line",
    "job_whole",
    "name_line",
    "queue_line",
    "replayed_line",
    "schedule_line",
    "server_line",
    "store_line",
]

VALUE_LIMIT = 200
"""Characters of one argument, of a result, of how far a job is."""
ERROR_LIMIT = 2_000
"""Characters of the text of one failed attempt."""
TRACE_LIMIT = 4_000
"""Characters of where it was raised."""
NAME_LIMIT = 200
"""Characters of what programs say of themselves, word by word."""
MOST_ARGUMENTS = 50
"""Arguments that are shown."""
TIMES = ("run_at", "created_at", "finished_at", "deadline_at", "start_by", "lease_until")


def queue_line(look: QueueLook, now: int, *, paused_at: int | None) -> dict[str, object]:
    """One queue: how many jobs in which state, and for how many seconds the oldest that is ready has waited."""
    waited = None if look.oldest is None else max(0.0, (now - look.oldest) / 1_000)
    numbers = {state: number for state, number in look.numbers.items() if number}
    paused = None if paused_at is None else max(0.0, (now - paused_at) / 1_000)
    return {"name": look.name, "numbers": numbers, "oldest": waited, "paused": paused}


def crew_line(look: CrewLook) -> dict[str, object]:
    """One crew: how many agents there are of how many there shall be."""
    problem = None if look.problem is None else visible(look.problem)
    return {
        "name": look.name,
        "place": look.place,
        "size": look.size,
        "desired": look.desired,
        "ready": look.ready,
        "problem": problem,
    }


def job_line(job: Job, now: int) -> dict[str, object]:
    """One job in a list."""
    return {
        "id": job.id,
        "kind": job.kind,
        "queue": job.queue,
        "state": job.state,
        "attempt": job.attempt,
        "errors": job.errors,
        "crashes": job.crashes,
        "priority": job.priority,
        "owner": job.owner,
        "reason": visible(str(hide("", job.reason)), ERROR_LIMIT),
        "replay_of": job.replay_of,
        **{name: _seconds(getattr(job, name) or None, now) for name in TIMES},
    }


def job_whole(
    job: Job, now: int, kind: Kind[..., Any] | None, show: Show, redact: Redact | None = None
) -> dict[str, object]:
    """All of one job.

    Args:
        job: it, with its attempts.
        now: the store's time.
        kind: what it is, if that is known here: then its arguments have names, and are hidden by them.
        show: hides secrets.
        redact: takes them out of a text, as the engine was told to.
    """
    return {
        **job_line(job, now),
        "tenant": job.tenant,
        "version": job.version,
        "needs": job.needs,
        "key": job.key,
        "unique_key": job.unique_key,
        "token": job.token,
        "releases": job.releases,
        "max_errors": job.max_errors,
        "max_crashes": job.max_crashes,
        "early_ack": kind is not None and kind.early_ack,
        "timeout": None if job.timeout_ms is None else job.timeout_ms / 1_000,
        "arguments": [redacted(one, redact) for one in _arguments(job, kind, show)],
        "progress": redacted(_value("progress", lambda: job.progress_value, show), redact) or None,
        "result": redacted(_value("result", lambda: job.result_value, show), redact) or None,
        "attempts": [_attempt(one, now, show) for one in job.attempts],
        "earlier": [_earlier(one, now) for one in job.earlier],
    }


def replayed_line(one: Replayed) -> dict[str, object]:
    """What became of a replay."""
    return {"id": one.id, "new": one.new, "queue": one.queue, "how": one.how}


def schedule_line(look: ScheduleLook, now: int) -> dict[str, object]:
    """One schedule."""
    return {
        "id": look.id,
        "expr": look.expr,
        "tz": look.tz,
        "kind": look.kind,
        "queue": look.queue,
        "last_at": _seconds(look.last_at, now),
        "next_at": _seconds(look.next_at, now),
        "paused": look.is_paused,
        "problem": look.problem,
    }


def server_line(look: ServerLook | None) -> dict[str, object] | None:
    """The server of the store, in numbers; who holds it up, the doctor tells."""
    if look is None:
        return None
    return {
        "version": visible(look.version),
        "connections": look.connections,
        "max_connections": look.max_connections,
        "oldest": look.oldest,
        "transactions": max((one.transactions for one in look.hindrances), default=0),
        "is_held_up": any(one.is_grave for one in look.hindrances),
        "dead": look.dead,
        "rows": sum(one.rows for one in look.tables),
    }


def name_line(look: NameLook, now: int) -> dict[str, object]:
    """One name that programs share."""
    return {
        "name": look.name,
        "host": look.host,
        "epoch": look.epoch,
        "since": _seconds(look.since, now),
        "until": _seconds(look.until, now),
        "is_held": look.is_held,
    }


def host_line(look: HostLook, now: int) -> dict[str, object]:
    """One program that works on the store."""
    host = look.host
    return {
        "id": visible(host.id, NAME_LIMIT),
        "name": visible(host.name, NAME_LIMIT),
        "labels": [visible(one, NAME_LIMIT) for one in host.labels],
        "version": visible(host.version, NAME_LIMIT),
        "agents": host.agents,
        "is_alive": look.is_alive,
        "is_leading": look.is_leading,
        "arrived_at": _seconds(look.arrived_at, now),
        "beat_at": _seconds(look.beat_at, now),
        "until": _seconds(look.until, now),
        "draining_since": _seconds(look.draining_since, now),
    }


def store_line(look: StoreLook) -> dict[str, object]:
    """The store."""
    problem = None if look.problem is None else visible(look.problem, ERROR_LIMIT)
    return {
        "path": visible(look.path, ERROR_LIMIT),
        "problem": problem,
        "since": look.since,
        "tries": look.tries,
        "stale": look.stale,
    }


def _attempt(one: Attempt, now: int, show: Show) -> dict[str, object]:
    text = visible(str(show("", one.text)), ERROR_LIMIT)
    trace = visible_lines(str(show("", one.trace)), TRACE_LIMIT) if one.trace else ""
    return {"number": one.number, "at": _seconds(one.at, now), "failure": one.failure, "text": text, "trace": trace}


def _earlier(one: Earlier, now: int) -> dict[str, object]:
    times = {"first_at": _seconds(one.first_at, now), "last_at": _seconds(one.last_at, now)}
    return {"failure": one.failure, "number": one.number, **times}


def _seconds(at: int | None, now: int) -> float | None:
    """From now, below 0 in the past: the clock of who looks may be another one."""
    return None if at is None else (at - now) / 1_000


def _arguments(job: Job, kind: Kind[..., Any] | None, show: Show) -> list[str]:
    try:
        args, kwargs = job.arguments
    except ArgumentsError as error:
        return [str(error)]
    named: list[tuple[str, object]] = [("", value) for value in args] + list(kwargs.items())
    if kind is not None:
        try:
            named = list(kind.signature.bind(*args, **kwargs).arguments.items())
        except TypeError:  # the function takes others by now
            kind = None
    shown = [_written(name, value, show) for name, value in named[:MOST_ARGUMENTS]]
    return shown + [f"… {len(named) - MOST_ARGUMENTS} more"] * (len(named) > MOST_ARGUMENTS)


def _written(name: str, value: object, show: Show) -> str:
    text = safe_repr(value, VALUE_LIMIT, name=name, show=show)
    return f"{visible(name, 80)}={text}" if name else text


def _value(name: str, read: Callable[[], object], show: Show) -> str:
    """What may be seen of it; nothing for what is not there."""
    try:
        value = read()
    except ArgumentsError as error:
        return str(error)
    return "" if value is None else safe_repr(value, VALUE_LIMIT, name=name, show=show)
