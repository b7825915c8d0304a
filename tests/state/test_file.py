"""The file of states: one program has it, a full disk, damage, kills, forks, and who may no longer write."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import sys
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import (
    CallExitError,
    SpecError,
    StartError,
    StartTimeoutError,
    StateError,
    StateFileError,
    TreeFailedError,
)
from otpy.events import StateFileSetAside, StateSetAside, StoreFailed
from otpy.state.file import States, Tables
from otpy.testing import Recorder
from support.forked import run
from support.forks import in_a_child
from support.programs import Program
from support.source import ROOT
from support.states import Counter, drained, started

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.events.event import Event

COUNTER = otpy.child(Counter).opts(id="counter")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.state"


def count(file: Path) -> int:
    """What the next program begins with."""
    with started(file) as system:
        found: int = system.start(COUNTER).call(Counter.look)[0]
        return found


# Whose it is.


def test_a_second_program_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(States.__init__, "__kwdefaults__", {"patience": 0.05})
    with started(file), pytest.raises(StateFileError, match="has it open") as caught, started(file):
        pass
    assert caught.value.failure == "busy"


def test_an_older_program_writes_nothing_more(file: Path) -> None:
    """As where the lock does not hold: a file that two machines share, or one whose lock was deleted."""
    with started(file) as older:
        ref = older.start(COUNTER)
        ref.call(Counter.add)
        ref.call(Counter.save)
        file.with_name("shop.state-open").unlink()
        with started(file) as newer:
            assert newer.start(COUNTER).call(Counter.look) == (1, False)
            ref.call(Counter.add)
            with pytest.raises(CallExitError, match="another program has opened it since"):
                ref.call(Counter.save)
    assert count(file) == 1


def test_it_is_for_its_owner_alone(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER).call(Counter.save)
        assert {stat.S_IMODE(each.stat().st_mode) for each in file.parent.glob("shop.state*")} == {0o600}


def test_a_fork_writes_nothing(file: Path) -> None:
    with started(file) as system:
        ref, store = system.start(COUNTER), system.states
        assert store is not None

        def deed() -> bool:
            try:
                store.save([store.snapshot(ref, {"count": 9})], is_final=True)
            except StateFileError as error:
                return "before a fork" in str(error)
            return False

        assert in_a_child(deed) == 0
        ref.call(Counter.save)
    assert count(file) == 0


def test_a_program_without_a_file_says_so() -> None:
    with started(None) as system, pytest.raises(CallExitError, match="run it with state="):  # type: ignore[arg-type]
        system.start(COUNTER).call(Counter.save)


# What is on the disk.


def test_what_save_state_has_returned_for_is_there_after_kill_9(file: Path, tmp_path: Path) -> None:
    source = f"""
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from support.states import Counter
        with otpy.run(otpy.child(Counter).opts(id="counter"), name="shop", control="off", state={str(file)!r}) as shop:
            while True:
                shop.root.call(Counter.add)
                say(shop.root.call(Counter.save))
    """
    last = 0
    for _ in range(2):
        with Program(tmp_path, source) as program:
            first = int(program.line())
            assert first - last in {1, 2}  # the one that it was killed in may be there, too
            for last in range(first + 1, first + 5):
                assert int(program.line()) == last
            program.send(signal.SIGKILL)
            last = int((program.process.communicate()[0].decode().splitlines() or [last])[-1])


def test_a_full_disk_keeps_what_there_was(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 4})
        with monkeypatch.context() as patch:
            patch.setattr("otpy.state.file.Tables.save", failing("SQLITE_FULL"))
            with pytest.raises(StateFileError, match="the disk is full") as caught:
                drained(system, counter={"count": 5})
        assert caught.value.failure == "full"
        drained(system, counter={"count": 6})
    assert count(file) == 6


def test_a_start_that_cannot_be_noted_lives(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 4})
    with started(file) as system, Recorder(system, StoreFailed) as recorded:
        monkeypatch.setattr("otpy.state.file.Tables.note", failing("SQLITE_FULL"))
        assert system.start(COUNTER).call(Counter.look) == (4, True)
        assert len(recorded.of(StoreFailed)) == 1


def failing(code: str) -> Any:
    def fail(*_: object) -> None:
        error = sqlite3.OperationalError("no")
        error.sqlite_errorname = code
        raise error

    return fail


def test_all_states_of_a_drain_are_written_or_none(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with started(file) as system:
        for ident in ("counter", "last"):
            system.start(otpy.child(Counter).opts(id=ident))
        save, fail = Tables.save, failing("SQLITE_IOERR_WRITE")
        with monkeypatch.context() as patch:
            patch.setattr(Tables, "save", lambda *args: fail() if args[1] == "last" else save(*args))
            with pytest.raises(StateFileError):
                drained(system, counter={"count": 1}, last={"count": 1})
    assert count(file) == 0


# Damage.


def damage(file: Path) -> None:
    with file.open("r+b") as handle:
        handle.write(b"no database at all, whatever it says")


def test_a_damaged_file_is_refused(file: Path) -> None:
    assert count(file) == 0
    damage(file)
    with pytest.raises(StateFileError) as caught, started(file):
        pass
    assert caught.value.failure == "broken"


def test_a_damaged_file_is_set_aside_where_that_is_wanted(file: Path) -> None:
    assert count(file) == 0
    damage(file)
    events: list[Event] = []
    where = otpy.StateFile(file, damaged="set_aside")
    with otpy.run(COUNTER, name="shop", control="off", state=where, on_event=events.append) as system:
        assert system.root is not None
        assert system.root.call(Counter.save) == 0
    (event,) = [each for each in events if isinstance(each, StateFileSetAside)]
    assert event.aside == f"{file}.damaged-1"
    assert os.path.lexists(event.aside)


def test_a_file_of_a_newer_otpy_is_refused(file: Path) -> None:
    assert count(file) == 0
    with sqlite3.connect(file) as db:
        db.execute("update otpy_state_note set value = 2 where name = 'version'")
    db.close()
    with pytest.raises(StateFileError, match="it has version 2, and this otpy knows 1"), started(file):
        pass


def test_options_that_cannot_be_are_refused() -> None:
    for wrong in ({"path": ""}, {"path": "x", "damaged": "mend"}, {"path": "x", "max_bytes": 0}):
        with pytest.raises(SpecError):
            otpy.StateFile(**wrong)  # type: ignore[arg-type]


def test_a_state_that_is_too_large_is_refused_by_its_key(file: Path) -> None:
    with started(otpy.StateFile(file, max_bytes=1_000)) as system:  # type: ignore[arg-type]
        system.start(COUNTER)
        with pytest.raises(StateError, match="more than 1000: 'all' alone has 2003"):
            drained(system, counter={"few": b"x", "all": b"x" * 2_000})


@pytest.mark.parametrize(
    ("state", "problem"),
    [
        ([1], "persist returned list, not a dict"),
        ({1: 2}, "a dict with the key 1: keys are texts"),
        ({"when": {"start": object()}}, r"persist\(\)\['when'\]\['start'\]: object is no plain data"),
    ],
)
def test_what_is_no_plain_data_is_refused(file: Path, state: object, problem: str) -> None:
    with started(file) as system:
        system.start(COUNTER)
        with pytest.raises(StateError, match=problem):
            drained(system, counter=state)


def test_plain_data_comes_back_as_it_was(file: Path) -> None:
    state = {"count": 1, "tuple": (1, b"2"), "set": {3}, "deep": [{"a": {4: None}}], "float": 0.5}
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter=state)
    with started(file) as system:
        store = system.states
        assert store is not None
        found = store.take("shop/counter", (1,))
        assert found is not None
        assert found.data == state
        assert store.age("shop/counter") == 0.0


# Starts that fail.


class Slow(Counter):
    """Never gets on with its state."""

    def init(self, *_: object, **__: object) -> None:
        if self.restored is not None:
            otpy.sleep(1_000.0)


def test_an_init_that_takes_too_long_counts(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 4})
    with started(file) as system:
        given_up: list[float] = []

        def start() -> None:
            with pytest.raises(StartTimeoutError):
                system.start(otpy.child(Slow).opts(id="counter", start_timeout=1.0))
            given_up.append(system.clock.now())

        for _ in range(2):
            system.start(start)
            system.clock.advance(1.0)
        assert given_up == [1.0, 2.0]
        assert system.start(COUNTER).call(Counter.look) == (0, None)


class Declines(Counter):
    def init(self, *_: object, **__: object) -> object:  # type: ignore[override]
        return otpy.Ignore()


def test_a_start_that_has_nothing_to_do_does_not_count(file: Path) -> None:
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 4})
        system.tops["counter"].stop()
        for _ in range(3):
            with pytest.raises(StartError):
                system.start(otpy.child(Declines).opts(id="counter"))
        assert system.start(COUNTER).call(Counter.look) == (4, True)


def test_a_state_that_takes_the_program_with_it_is_set_aside(file: Path) -> None:
    """The start counts before it begins: who dies in it writes nothing more."""
    with started(file) as system:
        system.start(COUNTER)
        drained(system, counter={"count": 4})
    script = """if 1:
        import os, sys
        import otpy
        class Deadly(otpy.GenServer):
            def init(self):
                if self.restored is not None:
                    os.kill(os.getpid(), 9)
            def persist(self): return {}
        with otpy.run(otpy.child(Deadly).opts(id="shop"), name="x", control="off", state=sys.argv[1]): pass
    """
    with started(file) as system:  # at the path of the root, which the script has
        system.start_root(otpy.child(Counter).opts(id="shop"))
        store, root = system.states, system.root
        assert store is not None
        assert root is not None
        store.save([store.snapshot(root, {"count": 8})], is_final=True)
    codes = [run([sys.executable, "-c", script, file]).returncode for _ in range(2)]
    assert codes == [-signal.SIGKILL, -signal.SIGKILL]
    with started(file) as system, Recorder(system, StateSetAside) as recorded:
        assert system.start_root(otpy.child(Counter).opts(id="shop")).call(Counter.look) == (0, None)
        assert [event.path for event in recorded.of(StateSetAside)] == ["shop"]


def test_a_tree_that_does_not_start_lets_go_of_the_file(file: Path) -> None:
    class Bad(otpy.GenServer):
        def init(self) -> object:
            return otpy.Fail(otpy.Shutdown("no"))

    with pytest.raises((StartError, TreeFailedError)), otpy.run(Bad, name="shop", control="off", state=file):
        pass
    assert count(file) == 0


# Order.


def test_a_later_snapshot_of_the_same_actor_is_not_overwritten_by_an_earlier_one(file: Path) -> None:
    with started(file) as system:
        ref, store = system.start(COUNTER), system.states
        assert store is not None
        early, late = (store.snapshot(ref, {"count": number}) for number in (1, 2))
        assert store.save([late], is_final=False) == store.save([early], is_final=False) == {}
    assert count(file) == 2


def test_an_incarnation_that_another_has_followed_is_refused(file: Path) -> None:
    with started(file) as system:
        ref, store = system.start(COUNTER), system.states
        assert store is not None
        late = store.snapshot(ref, {"count": 9})
        store.take("shop/counter", (ref.number + 1,))
        assert "a later incarnation runs" in str(store.save([late], is_final=False)["shop/counter"])
    assert count(file) == 0


def test_the_last_three_that_were_set_aside_are_kept(file: Path) -> None:
    with started(file) as system, Recorder(system, StateSetAside) as recorded:
        for number in range(5):
            ref = system.start(COUNTER)
            drained(system, counter={"count": number})
            ref.stop()
            for _ in range(2):
                with pytest.raises(StartError):
                    system.start(otpy.child(Counter, fails=True).opts(id="counter"))
            system.start(COUNTER).stop()
        assert len(recorded.of(StateSetAside)) == 5
    with sqlite3.connect(file) as db:
        assert db.execute("select count(*), min(number) from otpy_state_aside").fetchone() == (3, 3)
    db.close()
