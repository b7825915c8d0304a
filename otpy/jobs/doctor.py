"""What `otpy doctor` finds about the jobs of a program: each in one sentence, with its mend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.control.doctor import examines
from otpy.core.part import Finding
from otpy.core.text import visible
from otpy.jobs.addressee import Addressee
from otpy.jobs.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.control.snapshot import Inspected
    from otpy.jobs.model.host import HostLook
    from otpy.jobs.model.server import Hindrance, ServerLook, TableLook

__all__ = ["of_server", "of_versions"]

DEAD, SHARE = 10_000, 2
"""Dead rows that are told of: so many, and so many for each row that is there."""
FULL = 0.9
"""The part of the server's connections after which somebody is refused soon."""
TEXT = 200
"""Characters of a text that is somebody else's."""


@examines
def jobs(system: Inspected) -> Iterator[Finding]:
    """Of each engine: its store, its crews, jobs that nobody here can do, and what the server suffers from."""
    for engine in Addressee.all(system):
        path, client = f"{system.name}/{engine.name}", engine.client
        ready = client.readiness()
        if ready.problem is not None:
            since = "" if ready.since is None else f", for {ready.since:.0f} s now"
            yield Finding("error", path, f"it takes in no jobs{since}: {visible(ready.problem, 500)}")
            continue
        for crew in client.crews():
            if crew.problem is not None:
                text = (
                    f"crew {visible(crew.name)} has {crew.ready} of {crew.desired} agents: {visible(crew.problem, 500)}"
                )
                yield Finding("error", path, text)
        try:
            yield from _unroutable(engine, path)
            yield from of_versions(client.active(), client.hosts(), path)
            look = client.server()
        except StoreError as error:
            yield Finding("error", path, f"its store cannot be read: {visible(str(error), 500)}")
        else:
            yield from () if look is None else of_server(look, path)


@examines
def names_without_engine(system: Inspected) -> Iterator[Finding]:
    """What exists once under an engine that is not there is never begun, and its candidate waits without a word."""
    known = [engine.name for engine in Addressee.all(system)]
    for engine, name, path in Addressee.candidates(system):
        if engine not in known:
            there = ", ".join(visible(one, 80) for one in known) or "none"
            text = (
                f"no engine {visible(engine, 80)} runs here, so {visible(name, 80)} never begins: engines are {there}"
            )
            yield Finding("error", path, text)


def _unroutable(engine: Addressee, path: str) -> Iterator[Finding]:
    for queue, number in engine.unroutable().items():
        text = (
            f"no agent here can take {number} ready jobs of the queue {visible(queue, 80)}: otpy jobs list shows them"
        )
        yield Finding("warning", path, text)


def of_versions(active: str | None, hosts: list[HostLook], path: str) -> Iterator[Finding]:
    """What is to be said of the version whose turn it is; which programs have it is not known where none is."""
    versions = {one.host.version for one in hosts if one.is_alive}
    if active is not None and versions and active not in versions:
        known = ", ".join(visible(one, 80) for one in sorted(versions) if one) or "no version at all"
        text = (
            f"version {visible(active, 80)} is active and no program has it: nobody leads, and what says no version "
            f"waits; otpy jobs activate switches, programs have {known}"
        )
        yield Finding("error", path, text)


def of_server(look: ServerLook, path: str) -> Iterator[Finding]:
    """What is to be said of the server of the engine `path`."""
    for one in look.hindrances:
        if one.is_grave:
            yield Finding("error", path, _grave(one, look.user))
    for table in look.tables:
        if table.dead >= DEAD and table.dead >= SHARE * table.rows:
            yield Finding("warning", path, _dead(table))
    if look.connections >= FULL * look.max_connections:
        text = (
            f"{look.connections} of the server's {look.max_connections} connections are taken: others are refused soon"
        )
        yield Finding("warning", path, text)


def _grave(one: Hindrance, user: str) -> str:
    harm = (
        f"keeps the server from tidying up: {one.transactions} transactions have written since, and claims become slow"
    )
    match one.kind:
        case "transaction":
            who = f"process {visible(one.name)} of {visible(one.user, TEXT)}"
            who += f" ({visible(one.application, TEXT)})" if one.application else ""
            return f"{who} {_open(one)} and {harm}; {_mend(one, user)}"
        case "prepared":
            age = f"for {one.seconds or 0.0:.0f} s"
            name, owner = visible(one.name, TEXT), visible(one.user, TEXT)
            return (
                f"the prepared transaction {name} of {owner} has waited {age} for its end and {harm}; "
                f"commit prepared or rollback prepared ends it"
            )
        case "slot":
            name = f"the replication slot {visible(one.name, TEXT)} ({one.state})"
            return f"{name} {harm}; drop it if nobody reads it any more"


def _open(one: Hindrance) -> str:
    if one.seconds is None:
        return "has an open transaction"
    query = visible(one.query, TEXT)
    began = "" if one.query_seconds is None else f", whose last statement began {one.query_seconds:.0f} s ago"
    return f"has had a transaction open for {one.seconds:.0f} s ({one.state}{began}: {query or 'none'})"


def _mend(one: Hindrance, user: str) -> str:
    end = f"select pg_terminate_backend({visible(one.name)}) ends it"
    return (
        end if one.seconds is not None else f"{end}; grant pg_read_all_stats to {visible(user, TEXT)} shows since when"
    )


def _dead(table: TableLook) -> str:
    when = "has never been tidied up" if table.tidied is None else f"was tidied up {table.tidied:.0f} s ago"
    return (
        f"{table.name} has {table.dead} dead rows beside {table.rows}, and {when}: vacuum {table.name} does it now; "
        "is autovacuum on, and does an old transaction hold it up?"
    )
