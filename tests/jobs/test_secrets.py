"""What jobs carry and return is shown by nobody but `otpy jobs show`, and there without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from otpy.core.text import safe_repr
from otpy.events import ActorCrashed
from otpy.jobs.agents.desk import Desk
from otpy.jobs.args import encode, pack
from otpy.jobs.kind import job
from otpy.jobs.model.claim import Once, Settled
from otpy.jobs.retry import Retry
from otpy.jobs.shown import job_whole
from otpy.jobs.spec import new_job
from otpy.testing import Recorder

from .agents.works import crew, started
from .rows import row

if TYPE_CHECKING:
    from pathlib import Path

    import otpy


@job(name="login", retry=Retry(errors=1, crashes=1))
def login(user: str, password: str) -> None:
    raise SystemExit


CARRIED = login.new("ann", "hunter2")


@pytest.mark.parametrize(
    "value",
    [
        CARRIED,
        new_job(CARRIED, 0),
        row(args=CARRIED.args, result=pack("hunter2"), checkpoint=pack("hunter2")),
        Settled(id=1, token=1, state="done", result=pack("hunter2")),
        Once("done", pack("hunter2")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_packed_is_in_no_text(value: Any) -> None:
    assert "hunter2" not in repr(value) + str(value) + safe_repr([value], 10_000)


def test_the_report_of_an_agent_that_a_job_has_ended_does_not_tell_the_arguments(
    system: otpy.System, tmp_path: Path
) -> None:
    with Recorder(system, ActorCrashed) as events:
        client = started(system, tmp_path, login, crews=[crew("pool")])
        client.wait(client.enqueue(CARRIED).id, timeout=20.0)
        (crash,) = events.of(ActorCrashed)
    assert "at job 1, login, attempt 1" in str(crash)
    assert "hunter2" not in str(crash) + repr(crash)


def test_a_report_of_the_scheduler_does_not_tell_what_jobs_return() -> None:
    said = ("done", pack("hunter2"))
    assert safe_repr(said, show=lambda name, value: Desk.redact(None, name, value)) == "('done', <8 bytes>)"  # type: ignore[arg-type]


def test_what_is_shown_of_a_job_goes_through_the_redact_of_its_engine() -> None:
    done = row(args=encode(("ann", "hunter2"), {}), result=pack("for ann"))
    shown = job_whole(done, 0, login, lambda _, value: value, lambda text: text.replace("ann", "***"))
    assert (shown["arguments"], shown["result"]) == (["user='***'", "password='hunter2'"], "'for ***'")
    assert job_whole(row(args=encode((), {})), 0, None, lambda _, value: value)["result"] is None
