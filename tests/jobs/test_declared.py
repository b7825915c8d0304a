"""What cannot work is refused where it is written, in a sentence; it was taken, and showed much later or never."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy import jobs
from otpy.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Callable


def function(value: object = None) -> object:
    return value


WELL: Any = jobs.job(function)


def made(**options: Any) -> otpy.ChildSpec:
    return jobs.engine("jobs.db", options.pop("kinds", [WELL]), **options)


def crew(**options: Any) -> otpy.ChildSpec:
    return made(crews=[jobs.Crew(**{"name": "crew", **options})])


def daily(**options: Any) -> Any:
    return jobs.cron("0 9 * * *", WELL.new(), **options)


def kind(**options: Any) -> Any:
    return jobs.job(**options)(function)


WRONG: list[tuple[str, Callable[[], Any]]] = [
    ("redact='x': a function", lambda: made(redact="x")),
    ("name='': a text", lambda: made(name="")),
    ("path=3: a file", lambda: jobs.engine(3, [WELL])),  # type: ignore[arg-type]
    ("path='': a file", lambda: jobs.engine("", [WELL])),
    ("path='postgresql.psycopg://me:.*@h/db': the address", lambda: jobs.engine("postgresql+psycopg://me:x@h/db", [])),
    ("path='PostgreSQL://h/db': the address", lambda: jobs.engine("PostgreSQL://h/db", [])),
    ("path='postgresql:/h/db': the address", lambda: jobs.engine("postgresql:/h/db", [])),
    ("path='sqlite:///x.db': the address", lambda: jobs.engine("sqlite:///x.db", [])),
    ("path='user=me dbname=db password=.*': the address", lambda: jobs.engine("user=me dbname=db password=x", [])),
    *((f"{one}=inf: seconds", lambda one=one: made(**{one: math.inf})) for one in ("lease", "keep", "poll", "grace")),
    ("keep=1e.18: seconds", lambda: made(keep=1e18)),
    ("place='moon'", lambda: crew(place="moon")),
    ("queues='mail': a tuple", lambda: crew(queues="mail")),
    ("for place='process'", lambda: crew(max_memory_bytes=1)),
    ("timeout=inf", lambda: kind(timeout=math.inf)),
    ("name=5: a text", lambda: kind(name=5)),
    ("queue='.ud800'", lambda: kind(queue="\ud800")),
    ("errors=1000000000", lambda: kind(retry=jobs.Retry(errors=10**9))),
    ("retry_after=3", lambda: kind(retry=jobs.Retry(retry_after=3))),  # type: ignore[arg-type]
    ("table=\\[1\\]", lambda: kind(retry=jobs.Retry(table=[1]))),  # type: ignore[arg-type]
    ("less than 1e\\+09 seconds", lambda: kind(retry=jobs.Retry(backoff=otpy.Backoff(first=1.0, most=1e300)))),
    ("put it into a function of your own", lambda: jobs.job(dict)),
    ("5: a function", lambda: jobs.job(5)),  # type: ignore[call-overload]
    ("has no name: give one", lambda: jobs.job(functools.partial(function, 1))),
    ("key=5: a text", lambda: WELL.new().opts(key=5)),
    ("key='': a text", lambda: WELL.new().opts(key="")),
    ("key='a.x00b': a text", lambda: WELL.new().opts(key="a\0b")),
    ("queue='': a text", lambda: WELL.new().opts(queue="")),
    ("tenant='.udcff': a text", lambda: WELL.new().opts(tenant="\udcff")),
    ("version='.udcff': a text", lambda: WELL.new().opts(version="\udcff")),
    ("priority=True", lambda: WELL.new().opts(priority=True)),
    ("deadline=0: seconds > 0", lambda: WELL.new().opts(deadline=0)),
    ("start_within=0: seconds > 0", lambda: WELL.new().opts(start_within=0)),
    ("on_conflict= says what becomes of a unique key", lambda: kind(on_conflict="debounce", max_wait=3.0)),
    ("until= says what becomes of a unique key", lambda: kind(until=3.0)),
    ("replaces= says what becomes of a unique key", lambda: kind(replaces={"args"})),
    ("on_conflict= says what becomes of a unique key", lambda: kind(unique=None, on_conflict="raise")),
    ("replaces= goes with on_conflict='replace' or 'debounce'", lambda: kind(unique=str, replaces={"args"})),
    ("most= goes with missed='all'", lambda: daily(most=5)),
    ("late= goes with missed='skip'", lambda: daily(missed="all", late=5.0)),
    ("id=5: a text", lambda: daily(id=5)),
    ("tz=5: a text", lambda: daily(tz=5)),
    ("expr=5: a text", lambda: jobs.cron(5, WELL.new())),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("problem", "make"), WRONG, ids=[problem for problem, _ in WRONG])
def test_what_cannot_work_is_refused_in_a_sentence(problem: str, make: Callable[[], Any]) -> None:
    with pytest.raises(SpecError, match=problem):
        make()


@pytest.mark.parametrize("path", ["a:b/jobs.db", "./sqlite:/jobs.db", "x=1/jobs.db", "my hosts.db", "postgres/jobs.db"])
def test_a_strange_path_is_one(path: str) -> None:
    assert jobs.engine(path, []).args[0].path == str(Path(path).absolute())


def test_one_kind_may_be_named_twice() -> None:
    assert made(kinds=[WELL, WELL]).args[0].kinds == {WELL.name: WELL}


def test_a_partial_with_a_name_is_a_kind() -> None:
    assert jobs.job(name="mail.send")(functools.partial(function, 1)).name == "mail.send"


def test_the_file_stays_where_it_is_when_the_program_goes_elsewhere(
    timed: otpy.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, a writer that was started again opened an empty file in the new folder."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    timed.start(made())
    client = jobs.of(timed)
    job = client.enqueue(WELL.new().opts(delay=3_600.0))
    os.chdir("elsewhere")
    timed.names["jobs/writer"].kill()
    timed.wait_idle()
    assert client.get(job.id) is not None
    assert list(Path().iterdir()) == []
