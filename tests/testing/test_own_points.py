"""The points of otpy itself: each is listed, and what fails there fails as the disk, the network or a kill would."""

from __future__ import annotations

import os
import re
import signal
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy import jobs
from otpy.core.points import OWN
from otpy.events import ChildTerminated, OutboxDegraded, RestartLimitReached, StoreFailed
from otpy.jobs import StoreError, StoreFullError
from otpy.resilience import OutboxFileError
from otpy.testing import Recorder, VirtualSystem, faults
from otpy.testing.faults import Script, armed
from support.outboxes import Hub, kept, outbox, values
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

USES = re.compile(r"\ba?point\(\"([\w.]+)\"")
FILES = re.compile(r"^    point=\"(\w+)\",$", re.MULTILINE)


def test_all_points_are_listed_and_told_of() -> None:
    sources = [path.read_text() for path in (ROOT / "otpy").rglob("*.py")]
    used = {name for source in sources for name in USES.findall(source)} - {"sender.before"}  # in a docstring
    used |= {f"{name}.commit.{when}" for s in sources for name in FILES.findall(s) for when in ("before", "after")}
    page = (ROOT / "docs/reference/testing.md").read_text()

    assert used == set(OWN)
    assert [name for name in OWN if f"| `{name}` | {OWN[name]} |" not in page] == []


@pytest.mark.parametrize("fault", [faults.disk_full(), faults.fsync_error()], ids=str)
def test_a_commit_of_an_outbox_that_fails_keeps_nothing(tmp_path: Path, fault: faults.Fault) -> None:
    system = VirtualSystem("full")
    one = kept(system, outbox(tmp_path / "o.db", Hub(tmp_path / "hub.db", "down").post))
    one.put("t", 1)
    with armed(Script().at("outbox.commit.before", fault)) as script, Recorder(system) as events:
        with pytest.raises(OutboxFileError, match="disk"):
            one.put("t", 2)
        one.put("t", 3)
    script.assert_fired()
    assert len(events.of(StoreFailed)) == 1
    system.stop()
    assert values(one) == [1, 3]


def test_a_program_killed_after_a_commit_has_kept_what_it_never_said(tmp_path: Path) -> None:
    path, hub = tmp_path / "o.db", Hub(tmp_path / "hub.db", "down")
    pid = os.fork()
    if not pid:
        with armed(Script().at("outbox.commit.after", faults.kill(), after=3)):
            one = kept(otpy.System("killed"), outbox(path, hub.post))
            for number in range(10):
                one.put("t", number)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    hub.mood = "well"
    system = VirtualSystem("again", seed=1)
    kept(system, outbox(path, hub.post))
    system.clock.advance(100.0)
    system.stop()
    assert [value for _, value in hub.rows()] in ([0, 1], [0, 1, 2])


@pytest.mark.parametrize("is_async", [False, True])
def test_a_sender_that_dies_or_hangs_is_tried_again_and_nothing_is_counted_twice(
    tmp_path: Path, *, is_async: bool
) -> None:
    hub = Hub(tmp_path / "hub.db")

    async def post(batch: object) -> None:
        hub.post(batch)  # type: ignore[arg-type]

    script = Script().at("outbox.send.after", faults.raises(ConnectionError, "the answer was lost"), times=4)
    script.at("outbox.send.before", faults.kill_actor(), after=1).at("outbox.send.before", faults.hang(), after=2)
    system = VirtualSystem("ill", seed=1)
    with armed(script), Recorder(system) as events:
        one = kept(system, outbox(tmp_path / "o.db", post if is_async else hub.post))
        for number in range(5):
            one.put("t", number)
        system.clock.advance(300.0)
    script.assert_fired()
    system.clock.advance(300.0)  # who hung on a thread has come back by now
    assert len(events.of(OutboxDegraded)) == 1
    assert [value for _, value in hub.rows()] == list(range(5))
    system.stop()


@jobs.job(name="noted")
def noted() -> None:
    """Is never run here."""


def test_a_store_of_jobs_says_that_its_disk_is_full(tmp_path: Path) -> None:
    system = VirtualSystem("jobs")
    system.start(jobs.engine(tmp_path / "jobs.db", [noted]))
    client = jobs.of(system)
    with armed(Script().at("jobs.commit.before", faults.disk_full())) as script, pytest.raises(StoreFullError):
        client.enqueue(noted.new())
    script.assert_fired()
    system.clock.advance(10.0)
    client.enqueue(noted.new())
    with (
        armed(Script().at("jobs.commit.before", faults.fsync_error())),
        pytest.raises(StoreError, match="disk does not"),
    ):
        client.enqueue(noted.new())
    system.stop()


DONE: list[int] = []


@jobs.job(name="count")
def tally(number: int) -> None:
    DONE.append(number)


@pytest.mark.parametrize("seed", range(3))
def test_jobs_go_on_through_a_store_that_fails_again_and_again(tmp_path: Path, seed: int) -> None:
    DONE.clear()
    system = VirtualSystem("ill", seed=seed)
    system.start(jobs.engine(tmp_path / "jobs.db", [tally], lease=30.0))
    client = jobs.of(system)
    for number in range(20):
        client.enqueue(tally.new(number))
    script = Script(seed).at("jobs.commit.before", faults.disk_full(), chance=0.3, times=None)
    script.at("jobs.commit.before", faults.fsync_error(), chance=0.1, times=None)
    with armed(script), Recorder(system, RestartLimitReached, ChildTerminated, StoreFailed) as events:
        system.clock.advance(120.0)
    script.assert_fired()
    system.clock.advance(120.0)
    assert {job.state for job in client.find()} == {"done"}
    assert set(DONE) == set(range(20))
    assert events.of(StoreFailed) != []
    assert events.of(RestartLimitReached) + events.of(ChildTerminated) == []
    system.stop()
