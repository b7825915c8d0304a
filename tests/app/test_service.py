"""A program as a service: what its manager hears, over a real socket."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Self

import pytest

import otpy
from otpy.app import service as services
from otpy.errors import StartError
from otpy.health import HealthLine, HealthLook
from otpy.runtime.draining import Draining
from support.programs import Program

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WELL = HealthLook(lines=())
VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")


class Manager:
    """A service manager that listens, as systemd does."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.settimeout(20.0)
        self._socket.bind("\0" + address[1:] if address.startswith("@") else address)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def hear(self) -> str:
        """The next thing that is said."""
        return self._socket.recv(4_096).decode()

    def hear_until(self, wanted: str) -> list[str]:
        """All that is said until this, and this."""
        heard = [self.hear()]
        while not heard[-1].startswith(wanted):
            heard.append(self.hear())
        return heard


@pytest.fixture(params=["file", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    address = str(tmp_path / "notify") if request.param == "file" else f"@otpy-test-{os.getpid()}"
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with Manager(address) as made:
        yield made


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return []


def test_a_manager_hears_that_the_tree_is_up_and_that_it_is_told_to_stop(manager: Manager) -> None:
    with otpy.run(Shop, control="off") as system:
        assert "STATUS=shop runs" in manager.hear_until("STATUS=shop runs")
        system.request_stop()
        heard = manager.hear_until("STATUS=shop drains (request_stop() was called), 2")  # of 25 s, or a little less

    assert heard[:2] == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=15000000"]


def test_it_hears_ready_once_and_not_before_the_tree_is_up(manager: Manager) -> None:
    class Slow(otpy.GenServer):
        def init(self) -> None:
            assert manager.hear() == "STATUS=slow starts"

    with otpy.run(otpy.child(Slow), control="off", name="slow"):
        assert manager.hear() == "READY=1"
        assert manager.hear() == "STATUS=slow runs"
    assert manager.hear() == "STOPPING=1"


def test_a_tree_that_does_not_start_is_never_ready(manager: Manager) -> None:
    class Broken(otpy.GenServer):
        def init(self) -> object:
            return otpy.Stop(otpy.Exit("no"))

    with pytest.raises(StartError), otpy.run(otpy.child(Broken), control="off"):
        pass

    assert "READY=1" not in manager.hear_until("STOPPING=1")


def test_children_of_the_process_do_not_speak_for_it_and_a_later_block_does(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "60000000")
    with otpy.run(Shop, control="off"):
        seen = subprocess.run(
            [sys.executable, "-c", f"import os; print([name in os.environ for name in {VARIABLES}])"],
            check=True,
            capture_output=True,
            text=True,
        )
    manager.hear_until("STOPPING=1")
    assert seen.stdout == "[False, False, False]\n"
    assert os.environ["WATCHDOG_USEC"] == "60000000"
    with otpy.run(Shop, control="off"):
        assert "READY=1" in manager.hear_until("READY=1")


def test_it_hears_that_the_program_lives_as_long_as_it_does(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [WELL]
    limits = []
    monkeypatch.setattr(services, "liveness", lambda system, stalled_after: limits.append(stalled_after) or looks[0])
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    with otpy.run(Shop, control="off"):
        manager.hear_until("STATUS=shop runs")
        assert [manager.hear() for _ in range(3)] == ["WATCHDOG=1"] * 3
        looks[0] = HealthLook(lines=(HealthLine(name="turns", problem="stuck"),))
        assert set(manager.hear_until("STATUS=shop is not live: turns: stuck")[:-1]) <= {"WATCHDOG=1"}
        looks[0] = WELL
        assert manager.hear_until("STATUS=shop runs") == ["WATCHDOG=1", "STATUS=shop runs"]

    assert set(limits) == {120.0}


def test_a_look_that_fails_does_not_keep_the_manager_from_hearing_more(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = iter([ValueError("oops")])

    def look(system: otpy.System) -> HealthLook:
        for error in looks:
            raise error
        return WELL

    monkeypatch.setattr(services, "readiness", look)
    monkeypatch.setattr(services, "TICK", 0.01)
    with otpy.run(Shop, control="off"):
        assert "READY=1" in manager.hear_until("STATUS=shop runs")


def test_another_processs_watchdog_is_not_ours(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "100000")
    monkeypatch.setenv("WATCHDOG_PID", "1")
    with otpy.run(Shop, control="off"):
        pass

    assert "WATCHDOG=1" not in manager.hear_until("STOPPING=1")


def test_the_status_says_why_it_is_not_ready(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "TICK", 0.01)
    with otpy.run(Shop, control="off") as system:
        manager.hear_until("STATUS=shop runs")
        system.checks["database"] = lambda: "no route"
        assert manager.hear() == "STATUS=shop is not ready: database: no route"


def test_time_is_asked_for_as_long_as_the_stop_has_some(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "TICK", 0.01)
    with otpy.run(Shop, control="off") as system:
        manager.hear_until("STATUS=shop runs")
        system.request_stop()
        heard = manager.hear_until("STATUS=shop drains")
        system.draining = Draining("by hand", 0.0, system.clock.now() - 1.0)
        manager.hear_until("STATUS=shop is late in stopping")

    assert heard[:2] == ["STOPPING=1", "EXTEND_TIMEOUT_USEC=30000"]


@pytest.mark.parametrize("address", ["/nowhere/at/all", "@nobody", "vsock:2:1"])
def test_a_manager_that_is_not_there_is_no_trouble(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", address)
    with otpy.run(Shop, control="off"):
        pass


def test_without_a_manager_there_is_no_thread_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    with otpy.run(Shop, control="off"):
        names = [thread.name for thread in threading.enumerate()]
    assert "otpy-notify" not in names


def test_a_program_of_asyncio_tells_the_same(manager: Manager) -> None:
    async def program() -> None:
        async with otpy.run_async(Shop, control="off") as system:
            system.request_stop()
            await system.await_end()

    asyncio.run(program())

    assert [word for word in manager.hear_until("STOPPING=1") if word in {"READY=1", "STOPPING=1"}] == [
        "READY=1",
        "STOPPING=1",
    ]


def test_a_signal_is_told_at_once_while_the_tree_takes_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    os.mkfifo(tmp_path / "go")
    source = """
    class Slow(otpy.GenServer):
        trap_exit = True
        def terminate(self, reason):
            (FOLDER / "go").read_text()
    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Slow)]
    sys.exit(otpy.main(Tree, name="tree", control="off"))
    """
    with Manager(str(tmp_path / "notify")) as manager, Program(tmp_path, source) as program:
        manager.hear_until("READY=1")
        program.send(signal.SIGTERM)
        heard = manager.hear_until("STATUS=tree drains (SIGTERM), ")
        (tmp_path / "go").write_text("")
        code, _, _ = program.end()

    assert "STOPPING=1" in heard
    assert code == 0
