"""The place `process`: what the inspector sees of the inside, and what it can do there, always within a time."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.control.client import connect_to
from otpy.control.snapshot import Detail, Snapshot, from_plain
from otpy.core.record import ActorRecord, MailboxRecord
from otpy.errors import ActorBusyError, ChildStateError, NoSuchActorError
from otpy.places.process import view
from otpy.places.process.plain import read, to_list
from otpy.runtime import inspection
from support.fake_system import worker
from support.far import Far, Near
from support.inner import Branch, Headlong, Secretive, Slow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def wait_for_answers(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Have whoever looks wait so long for the processes."""
    for user in (view, inspection):
        monkeypatch.setattr(user, "LOOK_TIME", seconds)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine must not make a process seem silent."""
    wait_for_answers(monkeypatch, 20.0)


@pytest.fixture
def near(farm: otpy.System) -> otpy.Ref[Near]:
    return farm.start(otpy.child(Near).opts(name="near"))


@pytest.fixture
def far(farm: otpy.System) -> otpy.Ref[Far]:
    return farm.start(otpy.child(Far).opts(place="process"))


@pytest.fixture
def branch(farm: otpy.System, near: otpy.Ref[Near]) -> otpy.Ref[Branch]:
    return farm.start(otpy.child(Branch, near).opts(place="process"))


@contextmanager
def stopped(farm: otpy.System, ref: otpy.Ref[Any]) -> Iterator[None]:
    """Have the process of a child answer nobody."""
    process = farm.record(ref.path).process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def busy(far: otpy.Ref[Far], near: otpy.Ref[Near]) -> None:
    """Have it wait in the middle of a message."""
    far.cast(Far.wait_for, near)
    near.call(Near.is_waited_for)


def test_the_tree_shows_what_is_inside(farm: otpy.System, branch: otpy.Ref[Branch]) -> None:
    own, *below = farm.records("t/Branch", within=20.0)
    assert [record.path for record in below] == ["t/Branch/pool", "t/Branch/thread", "t/Branch/loop"]
    assert [record.place for record in (own, *below)] == ["process", "pool", "thread", "loop"]
    assert (own.type, own.strategy, own.children) == ("supervisor", "one_for_one", 3)
    assert (own.id, own.number, own.restarts) == ("Branch", branch.number, 0)


def test_the_tree_counts_what_is_left_out_inside(farm: otpy.System, branch: otpy.Ref[Branch]) -> None:
    own, *below = farm.records("t", limit=1, within=20.0)[-2:]
    assert (own.children, len(below)) == (3, 1)


def test_one_inside_has_its_own_record(farm: otpy.System, branch: otpy.Ref[Branch]) -> None:
    farm.wait_idle()
    record = farm.record("t/Branch/pool")
    assert (record.kind, record.name, record.status, record.process) == ("Leaf", "leaf", "idle", None)
    with pytest.raises(NoSuchActorError, match="t/Branch has pool, thread, loop"):
        farm.record("t/Branch/nobody")


def test_its_process_is_shown_with_what_it_uses(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    process = farm.record(far.path).process
    assert process is not None
    assert process.pid == far.call(Far.where)[0]
    assert process.memory_bytes > 1_000_000
    assert process.cpu >= 0
    assert process.problem is None


def test_what_waits_and_what_is_handled_inside_is_seen(
    farm: otpy.System, far: otpy.Ref[Far], near: otpy.Ref[Near]
) -> None:
    busy(far, near)
    far.cast(Far.note, "secret")
    far.tell("secret")
    record, mailbox = farm.record(far.path), farm.mailbox(far.path)
    assert (record.status, record.current, record.waiting) == ("running", "cast wait_for", "t/Near in call wait")
    assert (record.queue, mailbox.length, mailbox.messages) == (2, 2, ("cast note", "info"))
    assert "in cast wait_for, waiting for t/Near in call wait" in farm.doing(far.path)
    stack = farm.stack(far.path)
    assert stack is not None
    assert stack.count("File") == 1
    assert "in wait_for" in stack
    near.cast(Near.go)


def test_its_state_is_told_by_itself_and_its_secrets_stay_inside(farm: otpy.System) -> None:
    ref = farm.start(otpy.child(Secretive, "hush").opts(place="process"))
    assert farm.state(ref.path).state == ("word = <hidden>", "size = 'no size'")
    assert farm.state(ref.path).status in {"idle", "running"}  # the turn in which it told may not be quite over


def test_the_redact_of_the_system_is_heeded_inside_or_all_is_hidden() -> None:
    system = otpy.System("t", redact=_short)
    for redact, seen in ((_short, "log = ['sh…']"), (lambda _name, value: value, "log = <hidden>")):
        system.redact = redact
        ref = system.start(otpy.child(Slow).opts(place="process"))
        ref.call(Slow.keep, "shown")
        assert seen in system.state(ref.path).state
    system.stop()


def _short(name: str, value: object) -> object:
    return f"{value[:2]}…" if isinstance(value, str) else value


def test_the_state_of_a_busy_one_is_not_waited_for_for_ever(
    farm: otpy.System, far: otpy.Ref[Far], near: otpy.Ref[Near]
) -> None:
    busy(far, near)
    record = farm.state(far.path, timeout=0.05)
    assert record.problem is not None
    assert record.problem.startswith("busy for ")
    assert record.stack is not None
    assert "in wait_for" in record.stack
    near.cast(Near.go)
    assert farm.state(far.path).problem is None


def test_one_inside_tells_its_state(farm: otpy.System, branch: otpy.Ref[Branch], near: otpy.Ref[Near]) -> None:
    assert farm.state("t/Branch/pool").state[0] == f"near = {near!r}"


def test_a_process_that_does_not_answer_is_said_to_be_silent(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_answers(monkeypatch, 0.05)
    with stopped(farm, far):
        record = farm.record(far.path)
        assert record.status == "silent"
        assert record.process is not None
        assert "has not answered" in str(record.process.problem)
        assert record.process.memory_bytes > 0
        assert "has not answered" in str(farm.stack(far.path))
        assert farm.state(far.path, timeout=0.05).status == "silent"
        assert farm.mailbox(far.path).status == "silent"
        with pytest.raises(ChildStateError, match="silent"):
            farm.record(f"{far.path}/below")
    wait_for_answers(monkeypatch, 20.0)
    farm.wait_idle()
    assert farm.record(far.path).status == "idle"


def test_looks_that_got_no_answer_are_no_messages_that_it_leaves_behind(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch
) -> None:
    wait_for_answers(monkeypatch, 0.05)
    with stopped(farm, far):
        assert farm.record(far.path).status == "silent"
        assert farm.state(far.path, timeout=0.05).status == "silent"
    monitor = far.monitor()
    far.kill()
    monitor.wait(20.0)
    assert [(exited.reason, exited.queue) for exited in farm.exits(far.path, limit=1)] == [("killed", 0)]


def test_it_is_suspended_and_resumed_inside(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    farm.suspend(far.path)
    far.cast(Far.note, 1)
    record = farm.record(far.path)
    assert record.status == "suspended"
    assert record.suspended is not None
    farm.resume(far.path)
    assert far.call(Far.read) == [1]


def test_one_that_crashes_as_soon_as_it_goes_on_has_been_resumed(farm: otpy.System) -> None:
    """Found by the oracle: the word that it was resumed came after that of its end, and the end was an error."""
    ref = farm.start(otpy.child(Headlong).opts(place="process"))
    monitor = ref.monitor()
    farm.suspend(ref.path)
    ref.cast(Headlong.crash)
    farm.resume(ref.path)
    assert isinstance(monitor.wait().reason, otpy.Crashed)


@pytest.mark.parametrize("verb", ["suspend", "resume", "state", "mailbox"])
def test_who_looks_at_one_that_ends_meanwhile_finds_nobody(
    farm: otpy.System, far: otpy.Ref[Far], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """Found by the oracle, as an error of a call that nobody has made."""
    os.kill(far.call(Far.where)[0], signal.SIGSTOP)
    wait = view.Look.wait

    def ended(look: view.Look, seconds: float | None) -> object:
        far.kill()
        far.monitor().wait()
        return wait(look, seconds)

    monkeypatch.setattr(view.Look, "wait", ended)
    with pytest.raises(NoSuchActorError):
        getattr(farm, verb)(far.path)


def test_a_suspended_one_still_stops(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    farm.suspend(far.path)
    far.stop(timeout=5)


def test_one_that_is_busy_is_suspended_later(farm: otpy.System, far: otpy.Ref[Far], near: otpy.Ref[Near]) -> None:
    busy(far, near)
    with pytest.raises(ActorBusyError, match="in cast wait_for"):
        farm.suspend(far.path, timeout=0.05)
    near.cast(Near.go)
    farm.suspend(far.path)
    farm.resume(far.path)


def test_those_inside_are_killed_stopped_and_restarted(
    farm: otpy.System, branch: otpy.Ref[Branch], near: otpy.Ref[Near]
) -> None:
    farm.kill("t/Branch/pool")
    near.call(Near.met_so_far, 4)
    assert branch.call(Branch.count_children).active == 3
    assert farm.record("t/Branch/pool").restarts == 1
    farm.terminate_child("t/Branch/loop")
    assert farm.record("t/Branch/loop").status == "stopped"
    farm.restart_child("t/Branch/loop")
    farm.wait_idle()  # its start is over before its first turn is
    assert farm.record("t/Branch/loop").status == "idle"
    farm.suspend("t/Branch/thread")
    assert farm.record("t/Branch/thread").status == "suspended"
    farm.resume("t/Branch/thread")
    with pytest.raises(NoSuchActorError):
        farm.kill("t/Branch/nobody")


def test_a_look_ends_when_the_process_does(farm: otpy.System, far: otpy.Ref[Far], near: otpy.Ref[Near]) -> None:
    busy(far, near)
    far.kill()
    with pytest.raises(NoSuchActorError):
        farm.record(far.path)


@pytest.mark.parametrize(
    "changes", [{"queue": "three"}, {"links": (1,)}, {"busy": "long"}, {"path": None}, {"trap_exit": 1}]
)
def test_a_record_of_the_wrong_kind_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it has no words
        read(ActorRecord, to_list(replace(worker("t/a"), **changes)))
    with pytest.raises(ValueError):  # noqa: PT011 - the same
        read(MailboxRecord, to_list(worker("t/a")))
    with pytest.raises(ValueError):  # noqa: PT011 - the same
        read(ActorRecord, "nothing")


def test_a_record_comes_back_as_it_went() -> None:
    record = worker("t/a", links=("t", "u"), busy=0.5)
    assert read(ActorRecord, to_list(record)) == record


def test_the_control_socket_shows_the_inside(tmp_path: Path) -> None:
    with otpy.run(Grove, name="grove", control_directory=tmp_path) as system:
        name = system.name
        with connect_to(name, tmp_path) as client:
            snapshot = from_plain(Snapshot, client.ask("tree"))
            detail = from_plain(Detail, client.ask("info", path=f"{name}/Far"))
            mailbox = from_plain(MailboxRecord, client.ask("mailbox", path=f"{name}/many/1"))
    assert [record.path for record in snapshot.records] == ["grove", "grove/Far", "grove/many", "grove/many/1"]
    assert detail.record.process is not None
    assert mailbox.length == 0


class Grove(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Far).opts(place="process"), otpy.child(Many).opts(id="many", place="process")]


class Many(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Slow).opts(id="1")]
