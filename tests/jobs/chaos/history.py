"""The history of a store: triggers of ours write each change of its rows down, in the transaction that makes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .steps import Step

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

__all__ = ["of_file", "of_server", "on_file", "on_server"]

JOB = [
    *("id", "kind", "queue", "state", "tenant", "token", "attempt", "errors", "crashes", "releases"),
    *("max_errors", "max_crashes", "owner", "lease_until", "is_cancelled", "unique_key", "unique_until", "own_key"),
    *("schedule", "run_at", "created_at", "finished_at"),
]
"""Columns of a job that say what becomes of it."""
SCHEDULE = ["id", "fired_at", "is_paused"]
LEADER = ["name", "owner", "epoch", "expires_at"]
READ = "select at, who, what, old, new, leader, epoch, began from chaos order by seq"

FILE = """
create table if not exists chaos (
    seq integer primary key autoincrement, at integer not null, began integer, who text not null, what text not null,
    old text, new text, leader text, epoch integer)
"""
FILE_TRIGGER = """
create trigger if not exists chaos_{what}_{event} after {event} on {table} begin
    insert into chaos (at, who, what, old, new, leader, epoch) values (chaos_now(), chaos_who(), '{what}', {old}, {new},
        (select owner from otpy_leader where name = 'jobs'), (select epoch from otpy_leader where name = 'jobs'));
end
"""
FILE_TABLES = {"job": ("otpy_job", JOB), "schedule": ("otpy_schedule", SCHEDULE), "term": ("otpy_leader", LEADER)}

SERVER = """
create table chaos (
    seq bigint generated always as identity primary key, at bigint not null, began bigint not null, who text not null,
    what text not null, old jsonb, new jsonb, leader text, epoch bigint);
create table chaos_slow (seconds double precision not null);
insert into chaos_slow values (0);

create function chaos_note() returns trigger language plpgsql as $$
declare
    led record;
    data text[] := array['args', 'meta', 'job', 'progress', 'checkpoint', 'result'];
begin
    select owner, epoch into led from otpy_term where name = 'jobs';
    insert into chaos (at, began, who, what, old, new, leader, epoch) values (
        cast(extract(epoch from clock_timestamp()) * 1000 as bigint) + {shift_ms},
        cast(extract(epoch from now()) * 1000 as bigint) + {shift_ms},
        current_setting('application_name'), tg_argv[0],
        case when tg_op <> 'INSERT' then to_jsonb(old) - data end,
        case when tg_op <> 'DELETE' then to_jsonb(new) - data end,
        led.owner, led.epoch);
    return null;
end $$;

create function chaos_wait() returns trigger language plpgsql as $$
begin
    if current_setting('chaos.waited', true) is distinct from cast(txid_current() as text) then
        perform set_config('chaos.waited', cast(txid_current() as text), false);
        perform pg_sleep(seconds * random()) from chaos_slow where seconds > 0;
    end if;
    return null;
end $$;
create constraint trigger chaos_wait after insert on chaos deferrable initially deferred
    for each row execute function chaos_wait();
"""
"""`chaos_wait` is done once in each transaction, as it commits."""
SERVER_TRIGGER = """
create trigger chaos_{what} after insert or update or delete on {table}
    for each row execute function chaos_note('{what}')
"""
SERVER_TABLES = {
    "job": "otpy_job",
    "schedule": "otpy_schedule",
    "term": "otpy_term",
    "beat": "otpy_beat",
    "host": "otpy_host",
}


def on_file(db: sqlite3.Connection) -> None:
    """Write the history of a file; each connection that writes has `chaos_now()` and `chaos_who()`."""
    db.execute(FILE)
    for what, (table, columns) in FILE_TABLES.items():
        old, new = (_as_json(row, columns) for row in ("old", "new"))
        for event, (before, after) in {"insert": ("null", new), "update": (old, new), "delete": (old, "null")}.items():
            db.execute(FILE_TRIGGER.format(what=what, event=event, table=table, old=before, new=after))


def _as_json(row: str, columns: list[str]) -> str:
    return "json_object(" + ", ".join(f"'{one}', {row}.{one}" for one in columns) + ")"


def of_file(db: sqlite3.Connection) -> list[Step]:
    """What was written."""
    return [
        Step(at, who, what, old and json.loads(old), new and json.loads(new), leader or "", epoch or 0, began or at)
        for at, who, what, old, new, leader, epoch, began in db.execute(READ)
    ]


def on_server(db: Any, shift_ms: int = 0) -> None:
    """Write the history of the store in this connection's schema; by a clock that is ahead of the server's."""
    db.execute(SERVER.replace("{shift_ms}", str(shift_ms)))
    there = {name for (name,) in db.execute("select tablename from pg_tables where schemaname = current_schema()")}
    for what, table in SERVER_TABLES.items():
        if table in there:
            db.execute(SERVER_TRIGGER.format(what=what, table=table))


def of_server(db: Any) -> list[Step]:
    """What was written."""
    return list(_steps(db))


def _steps(db: Any) -> Iterator[Step]:
    for at, who, what, old, new, leader, epoch, began in db.execute(READ):
        yield Step(at, who, what, old, new, leader or "", epoch or 0, began)
