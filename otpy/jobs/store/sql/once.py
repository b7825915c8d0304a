"""What a job does once over all its attempts: the attempt that began it, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.jobs.model.claim import Once

if TYPE_CHECKING:
    from otpy.jobs.store.sql.base import Base

__all__ = ["begin", "drop", "keep"]

RUNS = "select 1 from otpy_job where id = :job and token = :token and state = 'running'"
"""Whether the attempt with this token is the one that runs."""


def begin(db: Base, job: int, token: int, name: str) -> Once:
    """Begin it, or say what came of it. What an earlier attempt has begun and not ended is taken over."""
    words = {"job": job, "token": token, "name": name}
    if db.execute(f"{RUNS} /* for update */", words).fetchone() is None:
        return Once("stale")
    row = db.execute("select token, result from otpy_once where job = :job and name = :name", words).fetchone()
    if row is not None and row[1] is not None:
        return Once("done", row[1])
    if row is not None and row[0] == token:
        return Once("busy")
    db.execute(
        "insert into otpy_once (job, name, token) values (:job, :name, :token)"
        " on conflict (job, name) do update set token = excluded.token, result = null",
        words,
    )
    return Once("begun")


def keep(db: Base, job: int, token: int, name: str, result: bytes) -> bool:
    """It is done; False when the attempt that says so is not the one that runs, or has not begun it."""
    words = {"job": job, "token": token, "name": name, "result": result}
    mine = "job = :job and name = :name and token = :token"
    text = f"update otpy_once set result = :result where {mine} and exists ({RUNS})"  # noqa: S608 - our own text
    return bool(db.execute(text, words).rowcount)


def drop(db: Base, job: int, token: int, name: str) -> None:
    """It failed, and may be begun again."""
    db.execute("delete from otpy_once where job = ? and name = ? and token = ? and result is null", (job, name, token))
