-- Times are whole milliseconds of the wall clock. Indexes are partial where only few rows are of interest: a store with
-- a million finished jobs must cost no more than an empty one.

create table otpy_job (
    id integer primary key autoincrement,  -- never used again: people write it down
    kind text not null,
    queue text not null,
    state text not null,
    args blob not null,
    run_at integer not null,
    priority integer not null,
    tenant text not null,
    needs text not null,
    unique_key text,
    unique_until text,
    own_key text,
    attempt integer not null default 0,
    token integer not null default 0,      -- one more at each claim; what is written about an attempt names it
    errors integer not null default 0,
    crashes integer not null default 0,
    releases integer not null default 0,
    max_errors integer not null,
    max_crashes integer not null,
    timeout_ms integer,
    deadline_at integer,
    start_by integer,                      -- dead then unless it was begun; null once it was
    owner text not null default '',
    lease_until integer,
    is_cancelled integer not null default 0,
    created_at integer not null,
    finished_at integer,
    progress blob,
    checkpoint blob,
    result blob,
    reason text not null default '',
    meta blob not null,
    version text not null,             -- of the code that may do it; empty for any
    replay_of integer,
    schedule text,
    aged integer not null default 0,       -- steps by which its priority has risen
    check ((state = 'running') = (lease_until is not null))
);

create index otpy_job_ready on otpy_job (queue, version, priority, run_at, id) where state = 'ready';
create index otpy_job_kind on otpy_job (queue, kind, needs, version) where state = 'ready';
create index otpy_job_scheduled on otpy_job (run_at) where state = 'scheduled';
create index otpy_job_running on otpy_job (lease_until) where state = 'running';
create index otpy_job_start on otpy_job (start_by) where start_by is not null and state in ('scheduled', 'ready');
create index otpy_job_deadline on otpy_job (deadline_at) where deadline_at is not null and state in ('scheduled', 'ready');
create index otpy_job_dead on otpy_job (id) where state = 'dead';
create index otpy_job_finished on otpy_job (finished_at) where finished_at is not null;
create index otpy_job_tenant on otpy_job (queue, tenant, version, priority, run_at, id) where state = 'ready' and tenant <> '';
create index otpy_job_ageing on otpy_job (aged, run_at) where state = 'ready' and priority > 0;
create unique index otpy_job_own_key on otpy_job (own_key) where own_key is not null;
create unique index otpy_job_until_started on otpy_job (unique_key)
    where unique_until = 'started' and state in ('scheduled', 'ready');
create unique index otpy_job_until_finished on otpy_job (unique_key)
    where unique_until = 'finished' and state in ('scheduled', 'ready', 'running');
create unique index otpy_job_forever on otpy_job (unique_key) where unique_until = 'forever';
create index otpy_job_period on otpy_job (unique_key, created_at) where unique_until = 'period';

create index otpy_job_schedule on otpy_job (schedule) where schedule is not null and state in ('scheduled', 'ready', 'running');

create table otpy_schedule (
    id text primary key,
    expr text not null,
    tz text not null,
    job blob not null,
    missed text not null,
    most integer not null,
    late real not null,
    overlap text not null,
    jitter real not null,
    fired_at integer not null,
    is_paused integer not null default 0
) without rowid;

create table otpy_failure (
    job integer not null,
    number integer not null,
    at integer not null,
    failure text not null,
    text text not null,
    trace text not null,
    primary key (job, number, at)
) without rowid;

-- Failed attempts that are no longer kept one by one: how many of each kind, and when.
create table otpy_digest (
    job integer not null,
    failure text not null,
    number integer not null,
    first_at integer not null,
    last_at integer not null,
    primary key (job, failure)
) without rowid;

-- What a job does once, over all its attempts: begun by the attempt with this token, and done when it has a result.
create table otpy_once (
    job integer not null,
    name text not null,
    token integer not null,
    result blob,
    primary key (job, name)
) without rowid;

-- How many jobs a queue has in each state: a million rows are not counted whenever somebody looks.
create table otpy_tally (
    queue text not null,
    state text not null,
    number integer not null,
    primary key (queue, state)
) without rowid;

-- When the next job of a queue with a rate may begin (GCRA: the theoretical arrival time, in milliseconds).
create table otpy_rate (
    key text primary key,
    tat real not null
) without rowid;

-- Queues that are paused by hand.
create table otpy_paused (
    queue text primary key,
    since integer not null
) without rowid;

-- Who leads. A row is never deleted, for its epoch must grow.
create table otpy_leader (
    name text primary key,
    owner text not null,
    epoch integer not null,
    elected_at integer not null,
    expires_at integer not null,
    ttl_ms integer not null                -- how long its owner lets it stand: others may be set up otherwise
) without rowid;

-- Programs that work on the store, each start of one for itself: dead when `until` is over, and then for good.
create table otpy_host (
    id text primary key,
    name text not null,
    labels text not null,
    version text not null,
    agents integer not null,
    arrived_at integer not null,
    beat_at integer not null,
    until integer not null,
    draining_since integer
) without rowid;

-- The version whose programs do what belongs to no version, in one row; without it, or with an empty one, all do.
create table otpy_active (
    one integer primary key check (one = 1),
    version text not null,
    since integer not null
);
