"""Reports of other job systems about keys, attempts, crews and times: what is right, shown here."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import otpy
from otpy.jobs.kind import job
from otpy.jobs.model.job import CRASHES
from otpy.jobs.store.sqlite import SqliteStore
from otpy.jobs.verdict import Failed, after_failure
from otpy.testing import Gate
from support import errands

from .agents.works import Ends, crew, seen, started
from .rows import row
from .store.shop import get, insert, numbers, one

if TYPE_CHECKING:
    from otpy.jobs.model import Inserted
    from otpy.testing import VirtualClock


@pytest.mark.report("J7", "oban-bg/oban#1093")
@pytest.mark.parametrize("is_kept", [True, False])
def test_a_replacement_is_written_into_the_row_that_really_was_kept(tmp_path: Path, is_kept: bool) -> None:  # noqa: FBT001
    """There a lock that was taken meant that a row would be there, though its transaction was then rolled back."""
    made: list[Inserted] = []
    first = SqliteStore(tmp_path / "jobs.db")

    def second() -> None:
        store = SqliteStore(tmp_path / "jobs.db")
        made.extend(insert(store, one("u", args=b"second", on_conflict="replace")))
        store.close()

    other = threading.Thread(target=second)
    try:
        with first.transaction() as tx:
            tx.insert([one("u", args=b"first")])
            other.start()
            if not is_kept:
                raise LookupError
    except LookupError:
        pass
    other.join()
    assert [each.how for each in made] == ["replaced" if is_kept else "new"]
    assert (get(first, made[0].id).args, numbers(first)) == (b"second", {"ready": 1})
    first.close()


@pytest.mark.report("J59", "kedacore/keda#2900", "kedacore/keda#3674", "kedacore/keda#2901")
def test_of_a_crew_that_shrinks_those_end_first_that_have_nothing_to_do(system: otpy.System, tmp_path: Path) -> None:
    """There the busy ones were taken away, and what they did was begun anew."""
    gate = Gate()
    kind: Any = job(name="held")(gate.wait)
    client = started(system, tmp_path, kind, crews=[crew("pool", size=4, spare=0)])
    client.enqueue_all([kind.new() for _ in range(2)])
    gate.reached(2)
    agents = {one.owner for one in client.find(state="running")}
    assert (client.scale("pool", 2).desired, len(agents)) == (2, 2)
    system.wait_idle()
    left = {one.path for one in system.records(limit=100) if "/pool/" in one.path}
    assert (left, client.crews()[0].ready, len(client.find(state="running"))) == (agents, 2, 2)
    gate.open()
    system.wait_idle()
    assert [(one.state, one.token) for one in client.find()] == [("done", 1)] * 2


@pytest.mark.report("J61", "circus-tent/circus#1044")
def test_what_a_job_has_started_is_gone_when_its_process_is_killed(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the parent died, and its children lived on beside those of the next one."""
    ends, pipe = Ends(monkeypatch), tmp_path / "pipe"
    os.mkfifo(pipe)
    client = started(timed, tmp_path, errands.leave_a_child, crews=[crew("process", size=1, spare=0)])
    made = client.enqueue(errands.leave_a_child.new(str(pipe)))
    both = [int(pid) for pid in pipe.read_text().split()]
    clock.advance(2.0)
    ends.wait(1)
    assert (seen(client, made.id).state, [pid for pid in both if is_there(pid)]) == ("dead", [])


@pytest.mark.report("J67", "kubernetes/kubernetes#60735")
@given(st.lists(st.sampled_from(["error", "timeout", "stalled", "crash", "lost", "stale"]), min_size=4, max_size=4))
def test_attempts_of_each_sort_are_as_many_as_were_allowed_and_no_more(failures: list[Any]) -> None:
    job, begun, backoff = row(max_errors=3, max_crashes=2), 0, otpy.Backoff(first=0.0, most=0.0)
    for failure in failures:
        begun += 1
        settled = after_failure(job, Failed(failure=failure, text=""), backoff, chance=0.5, now=0)
        crashed = failure in CRASHES
        job = job._replace(errors=job.errors + (not crashed), crashes=job.crashes + crashed)
        if settled.state == "dead":
            break
    assert (settled.state, begun <= 4) == ("dead", True)
    assert (job.errors, job.crashes) in {(3, 0), (3, 1), (0, 2), (1, 2), (2, 2)}


def is_there(pid: int) -> bool:
    """Whether such a process runs; one that nobody has waited for is a zombie, and does not."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return words.rpartition(") ")[2][0] != "Z"
