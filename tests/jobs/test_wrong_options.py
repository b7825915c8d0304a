"""What is written wrongly where jobs are declared is refused there, in a sentence that names the mend."""

from __future__ import annotations

import sqlite3
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfoNotFoundError

import pytest

from otpy import jobs
from otpy.errors import SpecError, UnknownOptionError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import otpy


def send(to: str) -> str:
    return to


def other() -> None: ...


SEND: Any = jobs.job(name="shop.send")(send)
TWIN: Any = jobs.job(name="shop.send")(other)
cron: Any = import_module("otpy.jobs.cron")  # the package has a function of this name
SPEC: Any = SEND.new("a")


def an_engine(kinds: Any = (SEND,), **options: Any) -> object:
    return jobs.engine("jobs.db", kinds, **options)


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: jobs.job(retires=3)(send), "no option 'retires': did you mean 'retry'?"),  # type: ignore[call-overload]
        (lambda: jobs.job(retry=jobs.Retry(errors=0))(send), "errors=0: a whole number >= 1"),
        (lambda: SPEC.opts(dely=3), "shop.send: no option 'dely': did you mean 'delay'?"),
        (lambda: jobs.cron("* * * * *", SPEC, zone="UTC"), "no option 'zone': known are "),  # type: ignore[call-arg]
        (lambda: an_engine(SEND), "jobs: <Kind shop.send>: a list of functions under @jobs.job, also for one"),
        (lambda: an_engine([print]), " is not one of the functions under @jobs.job that belong here"),
        (lambda: an_engine([SEND, TWIN]), "jobs: two of its kinds have the name 'shop.send'"),
        (lambda: an_engine(queues=["mail"]), "'mail' is not one of the values of jobs.Queue that belong here"),
        (lambda: an_engine(queues=jobs.Queue("mail")), "a list of values of jobs.Queue, also for one"),
        (lambda: an_engine(queues=[jobs.Queue("a"), jobs.Queue("a")]), "two of its queues have the name 'a'"),
        (
            lambda: an_engine(queues=[jobs.Queue("a", weights={"t": 0})]),
            "'t': 0 is no tenant with a whole number from 1",
        ),
        (lambda: an_engine(queues=[jobs.Queue("a", weights=["t"])]), "Queue('a', weights=['t']): a dict of tenants"),  # type: ignore[arg-type]  # as in haste
        (lambda: an_engine(queues=[jobs.Queue("a", limit=0)]), "limit=0): a whole number >= 1, or None"),
        (lambda: an_engine(crews=[3]), "3 is not one of the values of jobs.Crew that belong here"),
        (lambda: an_engine(crews=[jobs.Crew(name="a"), jobs.Crew(name="a", size=2)]), "two of its crews have the name"),
        (lambda: an_engine(crews=[jobs.Crew(name="a", queues="mail")]), "queues='mail': a tuple of texts, or None"),  # type: ignore[arg-type]
        (lambda: an_engine(name="names/jobs"), "what begins so is for names that programs share"),
        (lambda: an_engine(crews=[jobs.Crew(name="", size=3)]), "Crew(name=''): a text"),
        (lambda: an_engine(cron=["* * * * *"]), "is not one of the values of jobs.Cron that belong here"),
        (lambda: an_engine(cron=[jobs.cron("* * * * *", SPEC)] * 2 + [jobs.cron("1 * * * *", SPEC)]), "have the id"),
        (lambda: an_engine(lease=10.0, beat=3.0), "lease=10: three beats of 3 s, and a store that is busy for 3.33"),
        (lambda: an_engine(lease=10.0, beat=0.1, busy=6.0), "busy=6: a lead of 10 s that is to be extended has 5.27 s"),
        (lambda: an_engine(profile="quick"), "jobs: profile='quick': full or fast"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_is_written(declare: Callable[[], object], text: str) -> None:
    with pytest.raises(SpecError) as refused:
        declare()
    assert text in str(refused.value)


def test_an_unknown_option_has_an_error_of_its_own() -> None:
    with pytest.raises(UnknownOptionError) as refused:
        SPEC.opts(dely=3)
    assert (refused.value.option, refused.value.hint) == ("dely", "did you mean 'delay'?")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (SEND, "<otpy.jobs.kind.Kind> is no job: a job is what new(…) of a function under @jobs.job gives"),
        ("a", "'a' is no job: a job is what new(…) of a function under @jobs.job gives"),
    ],
)
def test_what_is_no_job_is_not_enqueued(timed: otpy.System, tmp_path: Path, wrong: Any, text: str) -> None:
    timed.start(jobs.engine(tmp_path / "jobs.db", [SEND]))
    client = jobs.of(timed)
    connection = sqlite3.connect(tmp_path / "jobs.db")
    ways: list[Callable[[], object]] = [
        lambda: client.enqueue(wrong),
        lambda: client.enqueue_all([SPEC, wrong]),
        lambda: jobs.enqueue_in(connection, SPEC, wrong),
        lambda: jobs.cron("* * * * *", wrong),
    ]
    for way in ways:
        with pytest.raises(TypeError) as refused:
            way()
        assert str(refused.value) == text
    connection.close()
    assert client.find() == []


def test_a_state_that_there_is_not_is_refused(timed: otpy.System, tmp_path: Path) -> None:
    timed.start(jobs.engine(tmp_path / "jobs.db", [SEND]))
    with pytest.raises(SpecError, match="find: state='broken': known are cancelled, dead, "):
        jobs.of(timed).find(state="broken")  # type: ignore[arg-type]


def test_without_the_extra_a_schedule_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    with pytest.raises(ImportError, match=r"^otpy.jobs.cron needs cronsim: install otpy\[jobs\]$"):
        jobs.cron("* * * * *", SPEC)


def test_a_machine_without_zones_is_told_where_they_come_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(name: str) -> object:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr(cron, "ZoneInfo", nothing)
    monkeypatch.setattr(cron, "available_timezones", set)
    with pytest.raises(SpecError, match=r"tz='UTC': .*; this machine has no zones: install otpy\[jobs\]$"):
        cron.zone("shop.send", "UTC")
