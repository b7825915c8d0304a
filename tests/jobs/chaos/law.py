"""What must hold, whatever happened: b.15 of the specification by number, as pure functions over a store's history.

A history is what triggers in the store have written down of its rows, each change in the transaction that made it: so
it is as true as the rows, and asks no program what it believes to have done.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from .steps import History, Known, Step, changes, id_of, rows_of
from .terms import led_by_one

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["MINUTE_MS", "RULES", "problems"]

WAITING = ("scheduled", "ready")
FINAL = ("done", "dead", "cancelled", "replayed")
HELD = {"started": WAITING, "finished": (*WAITING, "running"), "forever": (*WAITING, "running", *FINAL)}
"""The states in which a job has its unique key."""
MINUTE_MS = 60_000


def problems(steps: History, known: Known) -> list[str]:
    """All that is wrong, in words."""
    return [one for rule in RULES for one in rule(steps, known)]


def _unbroken(steps: History, _: Known) -> Iterator[str]:
    """Each change begins where the one before has ended: else the history itself is none."""
    last: dict[int, dict[str, Any] | None] = {}
    for step in changes(steps, "job"):
        job = id_of(step)
        if last.get(job) != step.old:
            yield f"history: job {job} was {step.was}, which nothing had made it"
        last[job] = step.new


def kept(steps: History, known: Known) -> Iterator[str]:
    """I1: what was acknowledged is there."""
    rows = rows_of(steps)
    for job, key in known.keys.items():
        if job not in rows or rows[job]["own_key"] != key:
            yield f"I1: {key} was acknowledged as job {job}, and is lost"


def ended_once(steps: History, _: Known) -> Iterator[str]:
    """I2: of each attempt one end is accepted, of an attempt that runs; what has ended has ended."""
    ends: Counter[tuple[int, int]] = Counter()
    for step in changes(steps, "job"):
        job = id_of(step)
        if step.is_end and step.old is not None:
            ends[job, step.old["token"]] += 1
        elif step.state == "done" and step.was != "done":
            yield f"I2: job {job} was done while it was {step.was}"
        if step.was in FINAL and step.state not in (step.was, None) and not step.moves("dead", "replayed"):
            yield f"I2: job {job} was {step.was}, and became {step.state}"
        if step.is_end and step.new and step.old and step.new["token"] != step.old["token"]:
            yield f"I2: the end of job {job}, token {step.old['token']}, was written with another token"
    yield from (f"I2: job {job}, token {token} ended {n} times" for (job, token), n in ends.items() if n > 1)


def attempts(steps: History, _: Known) -> Iterator[str]:
    """I3: no more than there may be."""
    claims = Counter(id_of(step) for step in steps if step.is_claim)
    for job, row in rows_of(steps).items():
        if row["errors"] > row["max_errors"] or row["crashes"] > row["max_crashes"]:
            yield f"I3: job {job}: {row['errors']} errors, {row['crashes']} crashes"
        if claims[job] != row["token"]:
            yield f"I3: job {job} was claimed {claims[job]} times, its token is {row['token']}"
        if row["token"] > row["errors"] + row["crashes"] + row["releases"] + 1:
            yield f"I3: job {job} was begun {row['token']} times, for {row['errors']} errors, {row['crashes']} crashes"


def leased(steps: History, _: Known) -> Iterator[str]:
    """I4: who runs has a lease, and as long as that lasts nobody else has the job."""
    claimed: dict[int, str] = {}
    for step in changes(steps, "job"):
        job, old, new = id_of(step), step.old or {}, step.new or {}
        if new and (step.state == "running") != (new["lease_until"] is not None):
            yield f"I4: job {job} is {step.state}, its lease {new['lease_until']}"
        if step.is_claim:
            claimed[job] = step.pid
            if step.was != "ready" or new["token"] != old["token"] + 1:
                yield f"I4: job {job} was given while it was {step.was}, as {new['token']} after {old.get('token')}"
        elif step.was == step.state == "running" and (old["token"], old["owner"]) != (new["token"], new["owner"]):
            yield f"I4: job {job} has gone from {old['owner']} to {new['owner']} without an end"
        elif step.was == "running" and step.pid != claimed.get(job) and _is_cut_short(step, old, new):
            left = old["lease_until"] - step.at
            yield f"I4: job {job} was taken from {claimed.get(job)} by {step.who}, its lease had {left} ms"


def _is_cut_short(step: Step, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether a lease that lasts lasts no longer."""
    return bool(old["lease_until"] > step.at and (step.is_end or new["lease_until"] < old["lease_until"]))


def one_for_each_key(steps: History, known: Known) -> Iterator[str]:
    """I5: a unique key is that of one job, and whoever asked for one by it was given that one."""
    held: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for step in changes(steps, "job"):
        job = id_of(step)
        for key in chain(_keys(step.old), _keys(step.new)):
            held[key].discard(job)
        for key in _keys(step.new):
            held[key].add(job)
            if len(held[key]) > 1:
                yield f"I5: {sorted(held[key])} have the key {key[1]} at once"
    rows = rows_of(steps)
    for job, unique in known.unique:
        if job not in rows or rows[job]["unique_key"] != unique:
            yield f"I5: {unique} was acknowledged as job {job}, which is another one"


def _keys(row: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if row is None:
        return
    if row["own_key"] is not None:
        yield "own", row["own_key"]
    if row["unique_key"] is not None and row["state"] in HELD.get(row["unique_until"], ()):
        yield row["unique_until"], row["unique_key"]


def limited(steps: History, known: Known) -> Iterator[str]:
    """I6: no more run under leases that last than a queue may have, whenever one comes or comes back to life."""
    held: defaultdict[str, dict[int, int]] = defaultdict(dict)
    for step in changes(steps, "job"):
        queue = (step.new or step.old or {})["queue"]
        if queue not in known.limits:
            continue
        if step.new is None or step.state != "running":
            held[queue].pop(id_of(step), None)
            continue
        is_more = step.is_claim or (step.old is not None and step.old["lease_until"] <= step.at)
        held[queue][id_of(step)] = step.new["lease_until"]
        live = sorted(job for job, until in held[queue].items() if until > step.at)
        if is_more and len(live) > known.limits[queue]:
            how = "given" if step.is_claim else "renewed"
            yield f"I6: {live} of {queue} ({known.limits[queue]}) at once, {id_of(step)} {how} by {step.who}"


def fired_once(steps: History, known: Known) -> Iterator[str]:
    """I7: each time of a schedule is fired once, and none is left out; that of each minute, as all have it here."""
    fired: defaultdict[str, list[int]] = defaultdict(list)
    planned: dict[str, int] = {}
    for step in changes(steps, "schedule"):
        if step.new is None:
            continue
        name, at = step.new["id"], step.new["fired_at"]
        planned.setdefault(name, at)
        if step.old is not None and at != step.old["fired_at"]:
            if not step.old["fired_at"] < at <= step.at:
                yield f"I7: the schedule {name} was fired for {at} at {step.at}, after {step.old['fired_at']}"
            fired[name].append(at)
    for name, since in planned.items():
        first = (since // MINUTE_MS + 1) * MINUTE_MS
        due = {*range(first, known.calm_at + 1, MINUTE_MS)}
        if not due <= {*fired[name]} or any(at % MINUTE_MS or at < first for at in fired[name]):
            yield f"I7: the schedule {name} was fired for {fired[name]}; due {sorted(due)}"
    yield from _jobs_of_times(steps, fired)


def _jobs_of_times(steps: History, fired: Mapping[str, list[int]]) -> Iterator[str]:
    made = Counter(
        (step.new["schedule"], step.new["own_key"])
        for step in changes(steps, "job")
        if step.old is None and step.new is not None and step.new["schedule"] is not None
    )
    for (name, key), number in made.items():
        if number > 1:
            yield f"I7: {key}: {number} jobs"
        if int(key.rpartition(" ")[2]) not in fired[name]:
            yield f"I7: {key}: a job, and was not fired"


def all_ended(steps: History, _: Known) -> Iterator[str]:
    """I10: when faults stop everything comes to an end."""
    left = {job: row["state"] for job, row in rows_of(steps).items() if row["state"] not in FINAL}
    if left:
        yield f"I10: not ended: {left}"


RULES: tuple[Callable[[History, Known], Iterator[str]], ...] = (
    _unbroken,
    kept,
    ended_once,
    attempts,
    leased,
    one_for_each_key,
    limited,
    fired_once,
    led_by_one,
    all_ended,
)
