"""What can be asked of a program's engines over its control socket: looking with `read`, mending with `operate`.

Each runs on a thread of its own and waits for the store's writer for a few seconds: an engine that is stuck is told so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from otpy.control.errors import BadRequestError
from otpy.control.verbs import integer_of, register, text_of
from otpy.core.suggest import did_you_mean
from otpy.core.text import visible
from otpy.jobs.addressee import MOST, Addressee
from otpy.jobs.edited import edited
from otpy.jobs.errors import NoSuchJobError
from otpy.jobs.model.job import LIVING, State
from otpy.jobs.shown import (
    crew_line,
    job_line,
    job_whole,
    queue_line,
    replayed_line,
    schedule_line,
    server_line,
    store_line,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.control.snapshot import Inspected
    from otpy.jobs.model.job import Job
    from otpy.jobs.model.new import Replayed

    Params = Mapping[str, object]

__all__: list[str] = []


@register("jobs", right="read")
def overview(system: Inspected, params: Params) -> object:
    """How each queue is, whether this program leads and works, and how it stands with its store."""
    engine = Addressee.of(system, params)
    now, client = engine.now(), engine.client
    paused = client.paused()
    looks = {look.name: queue_line(look, now, paused_at=paused.get(look.name)) for look in client.queues()}
    for name in paused.keys() - looks.keys():
        looks[name] = {"name": name, "numbers": {}, "oldest": None, "paused": (now - paused[name]) / 1_000}
    for queue, number in engine.unroutable().items():
        looks.setdefault(queue, {"name": queue, "numbers": {}, "oldest": None, "paused": None})["unroutable"] = number
    return {
        "engine": engine.name,
        "is_leading": engine.is_leading,
        "is_working": engine.is_working,
        "queues": [looks[name] for name in sorted(looks)],
        "crews": [crew_line(crew) for crew in client.crews()],
        "store": store_line(client.store()),
        "server": server_line(client.server()),
    }


@register("jobs.list", right="read")
def listed(system: Inspected, params: Params) -> object:
    """Jobs that fit `queue`, `state` and `kind`, the newest first; `before` an id; at most `limit`."""
    engine = Addressee.of(system, params)
    state = text_of(params, "state")
    if state is not None and state not in get_args(State):
        raise BadRequestError(f"no state {visible(state, 40)!r}: {did_you_mean(state[:40], get_args(State))}")
    found = engine.client.find(
        queue=text_of(params, "queue"),
        state=cast("State | None", state),
        kind=text_of(params, "kind"),
        before=integer_of(params, "before", 0) or None,
        limit=min(integer_of(params, "limit", 50), MOST),
    )
    now = engine.now()
    return [job_line(job, now) for job in found]


@register("jobs.show", right="read")
def shown(system: Inspected, params: Params) -> object:
    """All of the job `id`."""
    engine = Addressee.of(system, params)
    wanted = integer_of(params, "id", 0)
    job = engine.client.get(wanted)
    if job is None:
        raise NoSuchJobError(wanted)
    return job_whole(job, engine.now(), engine.kind(job.kind), engine.system.show, engine.redact)


@register("jobs.cancel", right="operate")
def cancel(system: Inspected, params: Params) -> object:
    """Cancel the jobs `ids`."""
    engine, ids = Addressee.of(system, params), _ids(params)
    before = {job.id: job.state for one in ids if (job := engine.client.get(one)) is not None}
    found = engine.client.cancel(*ids, reason=text_of(params, "reason") or "cancelled by hand")
    over = {
        job.id
        for job in found
        if before.get(job.id, job.state) not in LIVING or job.state not in (*LIVING, "cancelled")
    }
    return _changed(engine, found, over)


@register("jobs.retry", right="operate")
def retry(system: Inspected, params: Params) -> object:
    """Have the jobs `ids` begin now that wait for their time."""
    engine = Addressee.of(system, params)
    found = engine.client.retry(*_ids(params))
    return _changed(engine, found, {job.id for job in found if job.state not in LIVING})


@register("jobs.replay", right="operate")
def replay(system: Inspected, params: Params) -> object:
    """Run dead jobs again: `ids`, or all that fit `queue` and `kind`; `dry_run` only names them.

    One alone may have some of its arguments changed: `changes`, by name.
    """
    engine = Addressee.of(system, params)
    rate = params.get("per_second")
    per_second = None if rate is None else cast("float", rate)  # the client looks at it
    if params.get("changes"):
        made = [_replayed_with(engine, params)]
    elif params.get("ids"):
        made = engine.client.replay(*_ids(params), force=params.get("force") is True, per_second=per_second)
    else:
        made = engine.client.replay_all(
            queue=text_of(params, "queue"),
            kind=text_of(params, "kind"),
            limit=min(integer_of(params, "limit", MOST), MOST),
            per_second=per_second,
            dry_run=params.get("dry_run") is True,
        )
    return [replayed_line(one) for one in made]


@register("jobs.pause", right="operate")
def pause(system: Inspected, params: Params) -> object:
    """Begin no more jobs of `queue`, or enqueue no more of `schedule`."""
    engine, schedule = Addressee.of(system, params), text_of(params, "schedule")
    if schedule is None:
        return _doubt(engine, engine.client.pause(_queue(params)))
    engine.client.pause_schedule(schedule)
    return _doubt(engine, [])


@register("jobs.resume", right="operate")
def resume(system: Inspected, params: Params) -> object:
    """Begin them again."""
    engine, schedule = Addressee.of(system, params), text_of(params, "schedule")
    if schedule is None:
        return _doubt(engine, engine.client.resume(_queue(params)))
    engine.client.resume_schedule(schedule)
    return _doubt(engine, [])


@register("jobs.schedules", right="read")
def schedules(system: Inspected, params: Params) -> object:
    """All schedules, by name."""
    engine = Addressee.of(system, params)
    now = engine.now()
    return [schedule_line(one, now) for one in engine.client.schedules()]


@register("jobs.unschedule", right="operate")
def unschedule(system: Inspected, params: Params) -> None:
    """Forget `schedule`."""
    Addressee.of(system, params).client.drop_schedule(text_of(params, "schedule") or "")


@register("jobs.backup", right="operate")
def backup(system: Inspected, params: Params) -> object:
    """Copy the store to `file`, a whole path on the program's machine; never over another file."""
    file = text_of(params, "file") or ""
    if not Path(file).is_absolute() or "\0" in file:
        raise BadRequestError("the parameter 'file' must be the whole path of a file")
    return {"file": file, "size_bytes": Addressee.of(system, params).client.backup(file)}


@register("jobs.scale", right="operate")
def scale(system: Inspected, params: Params) -> object:
    """Have the crew `crew` of this program do `size` jobs at once, with `spare` agents more; until it ends."""
    engine = Addressee.of(system, params)
    spare = integer_of(params, "spare", 0) if "spare" in params else None
    engine.client.scale(text_of(params, "crew") or "", integer_of(params, "size", 0), spare=spare)
    return [crew_line(crew) for crew in engine.client.crews()]


def _replayed_with(engine: Addressee, params: Params) -> Replayed:
    """One job, with other arguments; they are read here, where its function is known."""
    ids, changes = _ids(params), params["changes"]
    if len(ids) != 1 or not isinstance(changes, dict) or not all(isinstance(name, str) for name in changes):
        raise BadRequestError("the parameter 'changes' must name arguments of one job, and their values")
    job = engine.client.get(ids[0])
    if job is None:
        raise NoSuchJobError(ids[0])
    kind = engine.kind(job.kind)
    if kind is None:
        raise BadRequestError(f"{visible(engine.system.name)} does not have the code of {visible(job.kind, 200)}")
    return engine.client.replay_with(job.id, edited(kind, job, changes), force=params.get("force") is True)


def _changed(engine: Addressee, jobs: list[Job], over: set[int]) -> list[dict[str, object]]:
    """Those jobs, and of those that had ended that nothing was done about them."""
    now = engine.now()
    return [job_line(job, now) | {"problem": f"it is {job.state}" if job.id in over else None} for job in jobs]


def _doubt(engine: Addressee, strange: list[str]) -> dict[str, object]:
    """What may be wrong with a queue that nobody has heard of: it was done, for its jobs may be still to come."""
    if not strange:
        return {"problem": None}
    known = {*engine.queue_names(), *(look.name for look in engine.client.queues())} - {*strange}
    hint = did_you_mean(strange[0][:80], map(visible, known))
    return {"problem": f"no job of a queue {visible(strange[0], 80)!r} is known: {hint}"}


def _queue(params: Params) -> str:
    queue = text_of(params, "queue")
    if not queue:
        raise BadRequestError("the parameter 'queue' is missing: it names a queue")
    return queue


def _ids(params: Params) -> list[int]:
    ids = params.get("ids")
    whole = isinstance(ids, list) and all(isinstance(one, int) and not isinstance(one, bool) for one in ids)
    if not whole or not isinstance(ids, list) or not 0 < len(ids) <= MOST:
        raise BadRequestError(f"the parameter 'ids' must be a list of up to {MOST} numbers of jobs")
    return [one for one in ids if isinstance(one, int)]
