"""What the doctor finds about jobs: a server that is held up, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.control.doctor import look_over
from otpy.jobs.doctor import of_server, of_versions
from otpy.jobs.shown import server_line
from support.postgres import empty_url, server

if TYPE_CHECKING:
    from pathlib import Path


@jobs.job(name="note")
def note() -> None:
    """Is done at once."""


@jobs.job(name="paint", needs=["gpu"])
def paint() -> None:
    """Is done by nobody here."""


def looked(*hindrances: jobs.Hindrance, **different: Any) -> jobs.ServerLook:
    figures: dict[str, Any] = {"version": "15.1", "user": "shop", "connections": 5, "max_connections": 100, **different}
    return jobs.ServerLook(**figures, hindrances=hindrances)


def said(*hindrances: jobs.Hindrance, **different: Any) -> list[str]:
    return [str(one) for one in of_server(looked(*hindrances, **different), "shop/jobs")]


OPEN: Any = {"kind": "transaction", "name": "4711", "user": "me", "transactions": 5_000}


def test_a_transaction_that_has_been_open_for_long_is_named_and_can_be_ended() -> None:
    one = jobs.Hindrance(
        **OPEN,
        application="psql\x1b[31m",
        state="idle in transaction",
        seconds=600.0,
        query_seconds=599.0,
        query="select 1\nfrom x",
    )
    (text,) = said(one)
    assert text == (
        r"shop/jobs: process 4711 of me (psql\x1b[31m) has had a transaction open for 600 s (idle in transaction, "
        r"whose last statement began 599 s ago: select 1\nfrom x) and keeps the server from tidying up: "
        "5000 transactions have written since, and claims become slow; select pg_terminate_backend(4711) ends it"
    )


def test_whose_age_may_not_be_seen_is_told_by_how_much_was_written_since() -> None:
    assert said(jobs.Hindrance(**OPEN)) == []
    (text,) = said(jobs.Hindrance(**OPEN | {"transactions": 20_000}))
    assert "process 4711 of me has an open transaction and keeps" in text
    assert text.endswith("ends it; grant pg_read_all_stats to shop shows since when")


@pytest.mark.parametrize("changed", [{"seconds": 59.0}, {"seconds": 600.0, "transactions": 999}])
def test_what_is_short_or_keeps_nothing_is_no_fault(changed: dict[str, Any]) -> None:
    assert said(jobs.Hindrance(**OPEN | changed)) == []


def test_whoever_looks_from_outside_is_told_whether_any_of_them_is_grave() -> None:
    short, long = (jobs.Hindrance(**OPEN | {"seconds": seconds}) for seconds in (59.0, 60.0))
    seen = [server_line(looked(*those)) for those in ((), (short,), (short, long))]
    assert [one and one["is_held_up"] for one in seen] == [False, False, True]


def test_other_hindrances_are_told_with_their_mend() -> None:
    prepared: Any = {"kind": "prepared", "name": "gid", "user": "me", "seconds": 90.0, "transactions": 2_000}
    slot: Any = {"kind": "slot", "name": "copy", "user": "", "state": "inactive", "transactions": 30_000}
    first, second = said(jobs.Hindrance(**prepared), jobs.Hindrance(**slot))
    assert "the prepared transaction gid of me has waited for 90 s" in first
    assert "rollback prepared ends it" in first
    assert "the replication slot copy (inactive) keeps" in second
    assert said(jobs.Hindrance(**slot | {"transactions": 19_999})) == []


def test_dead_rows_and_full_servers_are_told() -> None:
    never = jobs.TableLook(name="otpy_job", rows=100, dead=10_000, tidied=None)
    few = jobs.TableLook(name="otpy_rate", rows=6_000, dead=11_000, tidied=5.0)
    full, dead = sorted(said(tables=(never, few), connections=90))
    assert full.endswith("90 of the server's 100 connections are taken: others are refused soon")
    assert "otpy_job has 10000 dead rows beside 100, and has never been tidied up: vacuum otpy_job" in dead


def test_an_old_transaction_is_seen_by_any_user_and_so_is_what_it_leaves(system: otpy.System) -> None:
    """Of whom others are, and how much was written since; since when, to those alone who may see statistics."""
    import psycopg  # noqa: PLC0415 - an extra

    url = empty_url()
    system.start(jobs.engine(url, [note]))
    client = jobs.of(system)
    with psycopg.connect(url, application_name="report") as db:
        db.execute("select pg_current_xact_id()")
        client.wait(client.enqueue(note.new()).id, 30.0)
        look = client.server()
        assert look is not None
        (mine,) = [one for one in look.hindrances if one.application == "report"]
        assert (mine.kind, mine.user, mine.state, mine.name) == (
            "transaction",
            "otpy",
            "idle in transaction",
            str(db.info.backend_pid),
        )
        assert mine.query == "select pg_current_xact_id()"
        assert mine.transactions > 0
        assert (mine.seconds or -1) >= (mine.query_seconds or -1) >= 0.0
        server().sql(f"create role stranger login; grant usage on schema {url.rpartition('%3D')[2]} to stranger")
        theirs = _as_stranger(url)
        (seen,) = [one for one in theirs.hindrances if one.application == "report"]
        assert (seen.user, seen.seconds, seen.state, seen.query) == ("otpy", None, "", "")
        assert (seen.name, seen.transactions >= mine.transactions) == (mine.name, True)
    look = client.server()
    assert look is not None
    assert "report" not in {one.application for one in look.hindrances}
    assert "otpy_job" in {one.name for one in look.tables}
    assert 0 < look.connections < look.max_connections
    assert (look.user, look.dead) == ("otpy", sum(one.dead for one in look.tables))
    assert look_over(system) == []  # type: ignore[arg-type]  # a `System` is what is inspected


def _as_stranger(url: str) -> jobs.ServerLook:
    from otpy.jobs.store.postgres.readers import PostgresReaders  # noqa: PLC0415 - an extra

    readers = PostgresReaders(url.replace("otpy@", "stranger@"), None, 5.0)
    readers.is_open = True
    found = readers.server()
    readers.close()
    return found


def test_jobs_that_nobody_can_do_and_a_store_that_keeps_nothing_are_found(
    system: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system.start(jobs.engine(tmp_path / "jobs.db", [note, paint]))
    client = jobs.of(system)
    client.enqueue(paint.new())
    system.wait_idle()
    (one,) = look_over(system)  # type: ignore[arg-type]  # as above
    assert (one.level, one.path) == ("warning", "t/jobs")
    assert one.text == "no agent here can take 1 ready jobs of the queue default: otpy jobs list shows them"
    assert client.server() is None
    problem = jobs.Readiness(problem="it is gone", since=3.0)
    monkeypatch.setattr(jobs.Client, "readiness", lambda _: problem)
    (two,) = look_over(system)  # type: ignore[arg-type]  # as above
    assert str(two) == "t/jobs: it takes in no jobs, for 3 s now: it is gone"


def test_what_exists_once_under_an_engine_that_is_not_there_is_told(system: otpy.System, tmp_path: Path) -> None:
    """It was begun nowhere, and nothing said so."""
    system.start(jobs.engine(tmp_path / "jobs.db", [note]))
    system.start(jobs.singleton("clock", otpy.child(otpy.sleep, 3_600.0)))
    system.start(jobs.singleton("billing", otpy.child(otpy.sleep, 3_600.0), engine="old"))
    (one,) = look_over(system)  # type: ignore[arg-type]  # as above
    assert (one.level, one.path) == ("error", "t/billing/candidate")
    assert one.text == "no engine old runs here, so billing never begins: engines are jobs"


def test_a_version_that_is_active_and_that_nobody_has_is_told() -> None:
    def looks(*versions: str, is_alive: bool = True) -> list[jobs.HostLook]:
        times: dict[str, Any] = {"arrived_at": 0, "beat_at": 0, "until": 0, "draining_since": None}
        hosts = [jobs.Host(id=one, name="a:1", version=one) for one in versions]
        return [jobs.HostLook(host=host, is_alive=is_alive, **times) for host in hosts]

    assert list(of_versions("blue", looks("blue", "green"), "shop/jobs")) == []
    assert list(of_versions(None, looks("green"), "shop/jobs")) == []
    assert list(of_versions("blue", [], "shop/jobs")) == []
    (one,) = of_versions("blue", looks("green", "") + looks("blue", is_alive=False), "shop/jobs")
    assert one.level == "error"
    assert one.text.startswith("version blue is active and no program has it: nobody leads")
    assert one.text.endswith("programs have green")
