"""Looking at jobs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, get_args

from otpy.jobs.model.job import LIVING, State
from otpy.jobs.model.look import QueueLook
from otpy.jobs.store.sql.rows import COLUMNS, attempts_of, earlier_of, job_of, marks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Set as AbstractSet

    from otpy.jobs.model.job import Job
    from otpy.jobs.model.look import Look
    from otpy.jobs.store.sql.base import Base

__all__ = ["WANTS", "find", "get", "has_ready", "is_id", "living", "queues", "ready", "running"]

PART = 500
"""Rows of one statement."""

WANTS = """
select queue, kind, needs, count(*) from (
    select queue, kind, needs from otpy_job where state = 'ready' limit ?
) as ready
group by queue, kind, needs order by queue, kind, needs
"""


def get(db: Base, id: int) -> Job | None:
    """One job, with its failed attempts."""
    if not is_id(id):
        return None
    row = db.execute(f"select {COLUMNS} from otpy_job where id = ?", (id,)).fetchone()  # noqa: S608 - our own text
    return None if row is None else job_of(row)._replace(attempts=attempts_of(db, id), earlier=earlier_of(db, id))


def living(db: Base, ids: AbstractSet[int]) -> set[int]:
    """Those that are still to end, by the numbers alone: many may be waited for."""
    found, wanted = set[int](), filter(is_id, ids)
    while part := [*islice(wanted, PART)]:
        text = f"select id from otpy_job where id in ({marks(part)}) and state in ({marks(LIVING)})"  # noqa: S608 - ours
        found |= {one for (one,) in db.execute(text, (*part, *LIVING))}
    return found


def is_id(value: object) -> bool:
    """Whether a row could have this number."""
    return type(value) is int and 0 < value < 2**63


def find(db: Base, look: Look) -> list[Job]:
    """Those that fit, the newest first."""
    where, values = ["1 = 1"], list[Any]()
    for column, value in (("queue", look.queue), ("kind", look.kind)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if look.state is not None:  # written out: SQLite does not use a partial index for what it learns later
        where.append(f"state = '{look.state}'" if look.state in get_args(State) else "1 = 0")
    if look.before is not None:
        where.append("id < ?")
        values.append(look.before)
    text = f"select {COLUMNS} from otpy_job where {' and '.join(where)} order by id desc limit ?"  # noqa: S608 - our own text
    return [job_of(row) for row in db.execute(text, (*values, look.limit))]


def running(db: Base) -> list[Job]:
    """Those that have a lease."""
    return [job_of(row) for row in db.execute(f"select {COLUMNS} from otpy_job where state = 'running'")]  # noqa: S608 - ours


def has_ready(db: Base, queue: str) -> bool:
    """Whether a job of it is ready now."""
    row = db.execute("select 1 from otpy_job where state = 'ready' and queue = ? limit 1", (queue,)).fetchone()
    return row is not None


def ready(db: Base) -> set[str]:
    """Those that have ready jobs, by the numbers that are kept."""
    return {queue for (queue,) in db.execute("select queue from otpy_tally where state = 'ready' and number > 0")}


def queues(db: Base) -> list[QueueLook]:
    """Each queue, by name."""
    numbers: dict[str, dict[str, int]] = {}
    for queue, state, number in db.execute("select queue, state, number from otpy_tally order by queue"):
        numbers.setdefault(queue, {})[state] = number
    return [QueueLook(queue, found, _oldest(db, queue)) for queue, found in numbers.items()]


def _oldest(db: Base, queue: str) -> int | None:
    """When the job was due that has waited longest: the first of each version and priority, of which there are few."""
    return min((at for version in _versions(db, queue) for at in _firsts(db, queue, version)), default=None)


def _versions(db: Base, queue: str) -> Iterator[str]:
    """Those of jobs that are ready."""
    version: str | None = ""
    while version is not None:
        yield version
        (version,) = db.execute(
            "select min(version) from otpy_job where state = 'ready' and queue = ? and version > ?", (queue, version)
        ).fetchone()


def _firsts(db: Base, queue: str, version: str) -> Iterator[int]:
    """When the first one of each priority was due."""
    row = _first(db, queue, version, -(2**63))
    while row is not None:
        priority, run_at = row
        yield run_at
        row = None if priority == 2**63 - 1 else _first(db, queue, version, priority + 1)


def _first(db: Base, queue: str, version: str, priority: int) -> tuple[int, int] | None:
    row: tuple[int, int] | None = db.execute(
        "select priority, run_at from otpy_job where state = 'ready' and queue = ? and version = ? and priority >= ?"
        " order by priority, run_at limit 1",
        (queue, version, priority),
    ).fetchone()
    return row
