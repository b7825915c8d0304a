"""The folder: torn, empty, foreign, newer, older files; a full disk; a second program; an incarnation that lives on."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.disk.replacing import TEMPORARY
from otpy.errors import CallExitError, StartError
from otpy.events import ConfigurationDegraded, ConfigurationRecovered, ConfigurationSetAside
from otpy.resilience import ConfigurationError, ConfigurationFileError, Document
from otpy.resilience.configuration.document import MAGIC, sealed
from otpy.resilience.configuration.folder import Folder
from otpy.testing import Gate, Recorder, VirtualSystem, faults
from support.configurations import Rates, program, running
from support.forked import run
from support.forks import in_a_child

if TYPE_CHECKING:
    from otpy.resilience import Configuration


@pytest.fixture
def hub() -> Rates:
    return Rates()


@pytest.fixture(scope="module")
def proved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has version 2 in use, and 1 to fall back to; both are good."""
    path, hub = tmp_path_factory.mktemp("proved") / "limits", Rates()
    hub.has(1)
    one = running(path, hub)
    system = program(one)
    system.clock.advance(301.0)
    hub.has(2)
    one.refresh()
    system.clock.advance(301.0)
    assert (one.look().state, one.look().fallback) == ("good", 1)
    system.stop()
    return path


@pytest.fixture
def folder(tmp_path: Path, proved: Path, hub: Rates) -> Path:
    """A copy of it."""
    hub.has(2)
    return Path(shutil.copytree(proved, tmp_path / "limits"))


@pytest.fixture
def away(hub: Rates) -> Rates:
    hub.error = ConnectionError("no hub")
    return hub


def started(folder: Path, hub: Rates, **options: Any) -> tuple[int | None, list[str]]:
    """The version that the next program begins with, and the files it has moved aside."""
    one = running(folder, hub, **options)
    system = VirtualSystem("agent", seed=1)
    with Recorder(system) as events:
        try:
            system.start(one.child())
            assert one.version is None or one.current() == 10 * one.version
        finally:
            system.stop()
        return one.version, [event.problem for event in events.of(ConfigurationSetAside)]


SPOILT = {
    "empty": lambda _: b"",
    "torn": lambda data: data[: len(data) // 2],
    "without its head": lambda data: data[5:],
    "one bit turned": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "foreign": lambda _: b"[limits]\nlimit = 3\n",
    "of zeros": lambda data: bytes(len(data)),
    "with more": lambda data: data + b"x",
}


@pytest.mark.parametrize("how", SPOILT)
def test_of_a_document_that_is_spoilt_the_one_before_is_used(folder: Path, away: Rates, how: str) -> None:
    path = folder / "version-2"
    path.write_bytes(SPOILT[how](path.read_bytes()))
    version, problems = started(folder, away)
    assert (version, len(problems), (folder / "damaged-version-2").exists()) == (1, 1, True)
    away.error = None
    one = running(folder, away)
    system = program(one)
    assert one.refresh() == 2, "the hub gives it again"
    system.stop()


@pytest.mark.parametrize("slot", ["state-0", "state-1"])
@pytest.mark.parametrize("how", SPOILT)
def test_of_a_record_that_is_spoilt_the_one_before_holds(folder: Path, away: Rates, how: str, slot: str) -> None:
    path = folder / slot
    path.write_bytes(SPOILT[how](path.read_bytes()))
    version, problems = started(folder, away)
    assert (version, len(problems)) == (2, 1)


def test_without_any_record_what_is_kept_is_on_trial_again(folder: Path, away: Rates) -> None:
    for slot in ("state-0", "state-1"):
        (folder / slot).unlink()
    one = running(folder, away)
    system = program(one)
    assert (one.version, one.look().state, one.look().fallback) == (2, "trial", 1)
    system.stop()


def test_an_older_document_in_the_place_of_one_is_not_used(folder: Path, away: Rates) -> None:
    (folder / "version-2").write_bytes((folder / "version-1").read_bytes())
    assert started(folder, away) == (1, ["it is another one than was written"])


def test_another_document_of_the_same_version_is_not_used(folder: Path, away: Rates) -> None:
    (folder / "version-2").write_bytes(sealed(Document(2, {"limit": 99}).packed()))
    assert started(folder, away) == (1, ["it is another one than was written"])


@pytest.mark.parametrize("name", ["state-0", "state-1", "version-2"])
def test_files_of_a_newer_otpy_are_refused_and_left_alone(folder: Path, away: Rates, name: str) -> None:
    newer = MAGIC + b"2\nwhatever this is"
    (folder / name).write_bytes(newer)
    if name == "version-2":
        assert started(folder, away)[0] == 1
    else:
        with pytest.raises(StartError, match="format 2, and this otpy knows 1: run a newer one"):
            started(folder, away)
    assert (folder / name).read_bytes() == newer


def test_what_else_is_in_the_folder_is_left_alone(folder: Path, away: Rates) -> None:
    names = ["notes.txt", "version-x", "version-007", f"version-9.1{TEMPORARY}"]
    for name in names:
        (folder / name).write_text("mine")
    assert started(folder, away) == (2, [])
    assert [(folder / name).exists() for name in names] == [True, True, True, False]


def test_it_is_for_its_owner_alone(folder: Path) -> None:
    assert (folder.stat().st_mode & 0o777) == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


# A disk that is full, or fails.


@pytest.mark.parametrize("point", ["file.write", "file.sync", "file.rename"])
def test_on_a_full_disk_what_is_in_use_stays_so_and_new_ones_come_when_there_is_room(
    folder: Path, hub: Rates, point: str
) -> None:
    one = running(folder, hub)
    system = program(one)
    hub.has(3)
    with Recorder(system) as events:
        with faults.armed(faults.Script().at(point, faults.disk_full(), times=None)):
            for _ in range(3):
                with pytest.raises(ConfigurationError, match="cannot be kept: No space left"):
                    one.refresh()
        assert (one.version, one.current()) == (2, 20)
        assert sorted(path.name for path in folder.iterdir()) == [
            "lock-open",
            "state-0",
            "state-1",
            "version-1",
            "version-2",
        ]
        assert one.refresh() == 3
    assert [event.why for event in events.of(ConfigurationDegraded)][:1] == ["No space left on device"]
    assert len(events.of(ConfigurationRecovered)) == 1
    system.stop()


def test_an_agent_starts_on_a_full_disk(folder: Path, away: Rates) -> None:
    with faults.armed(faults.Script().at("file.write", faults.disk_full(), times=None)):
        one = running(folder, away)
        system = program(one)
        assert (one.version, one.look().why) == (2, "No space left on device")
    system.clock.advance(70.0)
    assert "No space" not in str(one.look().why)
    system.stop()


def test_one_on_trial_whose_crash_could_not_be_counted_is_passed_over(folder: Path, hub: Rates) -> None:
    one = running(folder, hub)
    system = program(one)
    hub.has(3)
    one.refresh()
    system.stop()
    hub.error = ConnectionError("no hub")
    with faults.armed(faults.Script().at("file.sync", faults.fsync_error(), times=None)):
        one = running(folder, hub)
        system = program(one)
        assert one.version == 2
    system.stop()


# Whose it is.


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_a_second_program_is_refused(folder: Path) -> None:
    script = """if 1:
        import sys
        from otpy.resilience import ConfigurationFileError
        from otpy.resilience.configuration.folder import Folder
        try:
            Folder(sys.argv[1], patience=0.05)
        except ConfigurationFileError as error:
            print(error.failure, error.problem)
    """
    held = Folder(str(folder))
    done = run([sys.executable, "-c", script, folder], text=True, check=True)
    held.close()
    assert done.stdout == "busy another program, or another configuration of this one, has it open\n"


def test_a_second_configuration_of_one_program_is_refused(
    folder: Path, away: Rates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Folder.__init__, "__kwdefaults__", {"lock": None, "patience": 0.05})
    system = program(running(folder, away))
    with pytest.raises(StartError, match="has it open"):
        program(running(folder, away), name="other")
    system.stop()


def test_one_configuration_cannot_be_in_two_trees(folder: Path, away: Rates) -> None:
    one = running(folder, away)
    system = program(one)
    with pytest.raises(StartError):
        system.start(one.child().opts(id="again"))
    assert one.version == 2
    system.stop()


def test_an_incarnation_that_was_killed_and_lives_on_writes_nothing_any_more(folder: Path) -> None:
    old = Folder(str(folder))
    record, before = old.record, sorted(path.name for path in folder.iterdir())
    lock = old.hand_over()
    new = Folder(str(folder), lock=lock)
    with pytest.raises(ConfigurationFileError, match="kept by another incarnation"):
        old.write(Document(9, {"limit": 1}))
    with pytest.raises(ConfigurationFileError, match="kept by another incarnation"):
        old.commit(record.using(1))
    assert sorted(path.name for path in folder.iterdir()) == before
    old.close()
    assert old.hand_over() is None
    new.commit(record.using(1))
    with pytest.raises(ConfigurationFileError, match="another program"):
        Folder(str(folder), patience=0.01)
    new.close()
    Folder(str(folder)).close()


def test_a_zombie_of_its_actor_keeps_no_other_from_starting_and_writes_nothing(
    folder: Path, hub: Rates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed in the middle of a write, its thread comes back when the next incarnation has long written another."""
    one = running(folder, hub)
    system = otpy.System("agent")
    system.start(one.child())
    hub.has(3)
    gate, sync, held = Gate(), os.fsync, [True]

    def fsync(fd: int) -> None:
        if held:
            held.pop()
            gate.wait()
        sync(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    asked = threading.Thread(target=refused, args=(one,))
    asked.start()
    gate.reached()
    system.kill("agent/limits/configuration")
    asked.join()
    await_living(system)
    hub.has(4)
    assert one.refresh() == 4
    gate.open()
    system.wait_idle()
    assert (one.version, sorted(path.name for path in folder.glob("version-*"))) == (4, ["version-2", "version-4"])
    system.stop()
    assert started(folder, hub)[0] == 4


def refused(one: Configuration[int]) -> None:
    with suppress(CallExitError):
        one.refresh()


def await_living(system: otpy.System) -> None:
    """The supervisor's answer proves that the restart is done."""
    tree = system.find("agent/limits")
    assert tree is not None
    tree.call(otpy.Supervisor.which_children)


@pytest.mark.report("J65", "rails/solid_queue#324")
def test_a_fork_leaves_it_to_its_parent(folder: Path) -> None:
    held = Folder(str(folder))

    def refuses() -> bool:
        try:
            held.commit(held.record)
        except ConfigurationFileError as error:
            held.close()
            return "before a fork" in error.problem
        return False

    assert in_a_child(refuses) == 0
    held.commit(held.record)
    held.close()
