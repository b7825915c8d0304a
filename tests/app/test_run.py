"""`otpy.run` and `otpy.main` inside one process: what ends a program, and with which exit code."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.exit_codes import ExitCode
from otpy.errors import StartError, TreeFailedError
from otpy.testing import Gate
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from pathlib import Path


class Tree(otpy.Supervisor):
    max_restarts = 0

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Doer).opts(name="it")]


def test_a_program_runs_as_long_as_its_block() -> None:
    with otpy.run(Tree, control="off") as system:
        assert system.name == "tree"
        assert flush(system.ref(otpy.name(Doer, "it"))) == []  # type: ignore[arg-type]  # a NamedRef serves as well
        root = system.root
    assert root is not None
    assert root.reason == otpy.Shutdown()
    assert system.left == []


def test_a_program_that_is_told_to_stop_ends_clean() -> None:
    with otpy.run(Tree, control="off") as system:
        threading.Timer(0.01, system.request_stop).start()
        assert system.wait() is None
        assert system.wait() is None


@pytest.mark.parametrize(
    ("control", "hint"), [("off", ""), ("read", "; `otpy tree till` in another terminal shows it")]
)
def test_main_says_when_the_tree_is_up(
    control: Any, hint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def at_once() -> None:
        """End by itself."""

    assert otpy.main(at_once, name="till", control=control, control_directory=tmp_path) == ExitCode.CLEAN

    assert capsys.readouterr().err == f"till runs{hint}\n"


def test_main_says_it_in_the_log_where_somebody_reads_one(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Among the lines of JSON that `otpy.logs` writes it was the one that was none."""
    caplog.set_level(logging.INFO, "otpy")

    assert otpy.main(lambda: None, name="till", control="off") == ExitCode.CLEAN

    assert "till runs" in caplog.messages
    assert capsys.readouterr().err == ""


def test_several_threads_may_wait() -> None:
    seen: list[object] = []
    with otpy.run(Tree, control="off") as system:
        threads = [threading.Thread(target=lambda: seen.append(system.wait())) for _ in range(3)]
        for thread in threads:
            thread.start()
        system.request_stop()
        for thread in threads:
            thread.join(30)
    assert seen == [None] * 3


def test_a_root_that_ends_by_itself_ends_the_program() -> None:
    """An actor is a tree, and so is a function."""
    with otpy.run(Doer, control="off") as system:
        system.find("doer").stop()  # type: ignore[union-attr]
        assert system.wait() == otpy.Normal()
    with otpy.run(at_once, control="off") as system:
        assert system.wait() == otpy.Normal()


def at_once() -> None:
    """End before anybody could watch it."""


@pytest.mark.report("A31", "robinhood/faust#301")
def test_a_root_that_gave_up_fails_the_program() -> None:
    with pytest.raises(TreeFailedError, match="restart limit") as caught, otpy.run(Tree, control="off") as system:
        system.ref("it").kill()
        assert isinstance(system.wait(), otpy.Shutdown)
    assert caught.value.failure.startswith("tree reached the restart limit")


def test_a_root_that_crashed_fails_the_program() -> None:
    with pytest.raises(TreeFailedError, match="boom"), otpy.run(Doer, control="off") as system:
        system.find("doer").exit(BOOM)  # type: ignore[union-attr]
        system.wait()


def test_a_tree_that_does_not_start_leaves_nothing(tmp_path: Path) -> None:
    tree = otpy.child(Doer, deed=lambda _: otpy.Stop(BOOM))
    with pytest.raises(StartError, match="boom"), otpy.run(tree, control_directory=tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_error_in_the_block_stops_the_tree_and_comes_out() -> None:
    seen: list[otpy.Application] = []
    with pytest.raises(LookupError), otpy.run(Tree, control="off") as system:
        seen.append(system)
        raise LookupError
    assert seen[0].root is not None
    assert not seen[0].root.is_alive()


def test_a_system_stopped_within_its_block_is_stopped_once() -> None:
    with otpy.run(Tree, control="off") as system:
        system.stop()


def test_nothing_stays_registered_at_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[Any] = []
    monkeypatch.setattr(atexit, "register", lambda function, **_: registered.append(function))
    monkeypatch.setattr(atexit, "unregister", registered.remove)
    with otpy.run(Tree, control="off"):
        assert len(registered) == 1
    assert registered == []


@pytest.mark.parametrize(
    ("tree", "code"),
    [
        (at_once, ExitCode.CLEAN),
        (lambda: otpy.exit(otpy.Shutdown("done")), ExitCode.CLEAN),
        (lambda: otpy.exit(BOOM), ExitCode.FAILED),
        (lambda: 1 // 0, ExitCode.FAILED),
    ],
)
def test_the_exit_code_tells_how_it_ended(tree: Any, code: ExitCode) -> None:
    assert otpy.main(tree, control="off", name="program") == code


def test_a_tree_that_does_not_start_is_a_failure() -> None:
    class Failing(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer, deed=lambda _: otpy.Stop(BOOM))]

    assert otpy.main(Failing, control="off") == ExitCode.FAILED


@pytest.mark.report("D100", "pathosDev/actor-ts#920")
def test_something_left_over_has_a_code_of_its_own() -> None:
    gate = Gate()

    class Stuck(otpy.GenServer):
        trap_exit = True

        def init(self) -> None:
            self.ref.tell("go")

        def handle_info(self, message: object) -> None:
            threading.Timer(0.0, self.system.request_stop).start()  # type: ignore[attr-defined]
            gate.wait()

    with gate:
        assert otpy.main(Stuck, control="off", shutdown=0.05) == ExitCode.LEFT_OVER


def test_too_many_zombies_are_a_failure() -> None:
    """`max_zombies`: the program ends for whatever keeps it running."""
    gate = Gate()

    class Nursery(otpy.Supervisor):
        max_restarts = 100

        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer, deed=lambda self: self.ref.cast(Doer.run, lambda _: gate.wait())).opts(name="it")]

    with (
        pytest.raises(TreeFailedError, match="more than 2 killed actors still run"),
        otpy.run(Nursery, control="off", max_zombies=2, shutdown=1.0) as system,
    ):
        for number in range(1, 4):
            gate.reached(number)
            system.ref("it").kill()
        system.wait()
        gate.open()


@pytest.mark.report("D100", "pathosDev/actor-ts#920")
def test_three_slow_levels_share_one_deadline() -> None:
    """Each would take its own time, and the sum would be too long."""
    gate = Gate()

    class Slow(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            gate.wait()

    def level(below: otpy.ChildSpec | None) -> type[otpy.Supervisor]:
        class Level(otpy.Supervisor):
            def children(self) -> list[otpy.ChildSpec]:
                own = otpy.child(Slow, traps=True).opts(id="slow", shutdown=otpy.INFINITY)
                return [own] if below is None else [own, below]

        return Level

    tree = level(otpy.child(level(otpy.child(level(None)).opts(id="c"))).opts(id="b"))
    before = time.monotonic()
    with gate:
        with otpy.run(tree, name="deep", control="off", shutdown=0.2) as system:
            lowest = system.find("deep/b/c/slow")
            assert lowest is not None
            lowest.cast(Doer.run, lambda _: gate.wait())
            gate.reached()
        assert time.monotonic() - before < 3.0
        assert {left.path for left in system.left} == {"deep/b/c/slow"}
        assert system.alive == 0


def test_a_thread_other_than_the_main_one_may_run_a_program() -> None:
    """Without signals, which only the main thread can set."""
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(otpy.main(at_once, control="off")))
    thread.start()
    thread.join(10)
    assert codes == [ExitCode.CLEAN]
