"""The whole engine: jobs are done, retried, given up; agents die and are replaced; a second program takes over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.core.doubts import doubts, stop_time
from otpy.core.part import SEALED
from otpy.errors import StartError
from otpy.events import ActorCrashed
from otpy.jobs.agents.context import current
from otpy.jobs.client import Client, of
from otpy.jobs.decisions import Cancel, Dead, Snooze
from otpy.jobs.engine import Engine, engine
from otpy.jobs.errors import KeyTakenError
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew, Queue
from otpy.testing import Gate, Recorder

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.jobs.model.job import Job
    from otpy.testing import VirtualClock

AT_ONCE = Retry(errors=3, backoff=otpy.Backoff(first=0.0, most=0.0))


def double(number: int) -> int:
    return number * 2


async def slowly(number: int) -> int:
    await asyncio.sleep(0)
    return number * 3


def attempt() -> tuple[int, int, str]:
    return current().attempt, current().token, current().key


def fail(text: str) -> None:
    raise ValueError(text)


def leave() -> None:
    raise SystemExit(3)


def decide(how: str) -> object:
    return {"snooze": Snooze(3600.0), "cancel": Cancel("not needed"), "dead": Dead("no use")}[how]


KINDS = [job(one) for one in (double, slowly, attempt, decide)]
DOUBLE, SLOWLY, ATTEMPT, DECIDE = KINDS
FAIL: Any = job(retry=AT_ONCE)(fail)
LEAVE: Any = job(retry=AT_ONCE)(leave)


def started(system: otpy.System, folder: Path, *more: Any, **options: Any) -> Client:
    """An engine with these kinds."""
    system.start(engine(folder / "jobs.db", [*KINDS, FAIL, LEAVE, *more], **options))
    return of(system)


def ended(client: Client, system: otpy.System, spec: Any) -> Job:
    """The job, once nobody has anything to do."""
    made = client.enqueue(spec)
    system.wait_idle()
    found = client.get(made.id)
    assert found is not None
    return found


def test_functions_and_coroutine_functions_are_done(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path)
    assert ended(client, system, DOUBLE.new(4)).result == b"\x08"
    assert ended(client, system, SLOWLY.new(4)).result == b"\x0c"


def test_a_handler_knows_its_attempt(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path)
    done = ended(client, system, ATTEMPT.new())
    assert (done.state, done.attempt, done.token) == ("done", 1, 1)


def test_what_fails_is_tried_again_and_then_given_up(system: otpy.System, tmp_path: Path) -> None:
    dead = ended(started(system, tmp_path), system, FAIL.new("no"))
    assert (dead.state, dead.reason, dead.errors, dead.crashes) == ("dead", "errors", 3, 0)
    assert [one.text for one in dead.attempts] == ["ValueError: no"] * 3


def test_what_takes_its_agent_along_is_counted_apart_and_the_agent_replaced(
    system: otpy.System, tmp_path: Path
) -> None:
    client = started(system, tmp_path)
    dead = ended(client, system, LEAVE.new().opts(key="once"))
    assert (dead.crashes, dead.errors, dead.reason, dead.attempts[0].failure) == (3, 0, "crashes", "crash")
    assert ended(client, system, DOUBLE.new(1)).state == "done"


@pytest.mark.parametrize(
    ("how", "state", "reason"),
    [("snooze", "scheduled", ""), ("cancel", "cancelled", "not needed"), ("dead", "dead", "no use")],
)
def test_a_handler_may_decide(system: otpy.System, tmp_path: Path, how: str, state: str, reason: str) -> None:
    found = ended(started(system, tmp_path), system, DECIDE.new(how))
    assert (found.state, found.reason, found.attempt) == (state, reason, 0 if how == "snooze" else 1)


def test_a_key_gives_the_first_job_and_no_other(system: otpy.System, tmp_path: Path) -> None:
    client = started(system, tmp_path)
    first = client.enqueue(DOUBLE.new(1).opts(key="a"))
    assert client.enqueue(DOUBLE.new(1).opts(key="a")).id == first.id
    with pytest.raises(KeyTakenError, match="belongs to job 1"):
        client.enqueue(DOUBLE.new(2).opts(key="a"))


def test_a_limit_of_a_queue_holds(system: otpy.System, tmp_path: Path) -> None:
    gate = Gate()

    def hold() -> None:
        gate.wait()

    kind = job(queue="few")(hold)
    crews = [Crew(name="many", size=8, spare=0), Crew(name="loop", place="loop")]
    client = started(system, tmp_path, kind, queues=[Queue("few", limit=2)], crews=crews)
    client.enqueue_all([kind.new() for _ in range(6)])
    assert len(gate.reached(2)) == 2
    assert ended(client, system, DOUBLE.new(1)).state == "done"
    assert client.queues()[1].numbers == {"ready": 4, "running": 2}
    gate.open()


def test_a_check_of_the_tree_has_nothing_to_say_against_an_engine(tmp_path: Path) -> None:
    """What it is made of is not the user's to mend."""

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [engine(tmp_path / "jobs.db", [job(double)])]

    found = survey("shop", otpy.child(Shop))
    assert found.errors == ()
    assert found.root is not None
    assert [(part.path, part.children, part.unknown) for part in found.root.children] == [("shop/jobs", (), SEALED)]
    assert list(doubts(found.root, 25.0)) == []
    assert list(tmp_path.iterdir()) == []


def test_the_stop_of_an_engine_is_counted_in_that_of_its_program(tmp_path: Path) -> None:
    """Its parts had 35 s together, in a program that had 30 for all of it, and a check of the tree saw none.

    What its agents have to end their jobs does not count: a drain has waited for these before anything is stopped.
    """

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [engine(tmp_path / "jobs.db", [job(double)]), otpy.child(nothing).opts(shutdown=16.0)]

    root = survey("shop", otpy.child(Shop)).root
    assert root is not None
    assert stop_time(root) == 26.0
    (said,) = doubts(root, 25.0)
    assert str(said).startswith("shop: to stop may take 26 s, and after 25 s (--shutdown) what is left is killed; ")
    assert "most of it is for shop/nothing (16 s), shop/jobs (10 s): " in str(said)


def nothing() -> None:
    """Is never run."""


def test_what_does_not_end_keeps_an_engine_no_longer_than_it_says(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, quiet: None
) -> None:
    """Four crews whose threads do not listen have 5 s each, one after the other: the duties have 15 for all."""
    with Gate() as gate:

        def hold() -> None:
            gate.wait()

        kinds = [job(name=f"hold-{number}", timeout=None)(hold) for number in range(4)]
        crews = [Crew(name=f"crew-{number}", size=1, kinds=(f"hold-{number}",)) for number in range(4)]
        made = timed.start(engine(tmp_path / "jobs.db", kinds, crews=crews, lease=60.0))
        of(timed).enqueue_all([kind.new() for kind in kinds])
        gate.reached(4)
        entries = made.actor.otpy_children().by_id.values()
        assert sum(one.shutdown for one in entries if one.spec.id != "duties") == Engine.sealed_stop()
        made.stop(block=False)
        clock.advance(Engine.sealed_stop())
        assert not made.is_alive()
        gate.open()


@pytest.mark.parametrize("name", ["no folder/jobs.db", "other.db"])
def test_a_file_that_cannot_be_opened_is_told_in_a_sentence(
    timed: otpy.System, tmp_path: Path, quiet: None, name: str
) -> None:
    """No actor is at fault, so none crashes, and nobody reads a traceback."""
    (tmp_path / "other.db").write_text("something else")
    with Recorder(timed, ActorCrashed) as crashes, pytest.raises(StartError) as failed:
        timed.start(engine(tmp_path / name, [job(double)]))
    assert f"shutdown: {tmp_path / name}: " in str(failed.value)
    assert crashes.events == []
