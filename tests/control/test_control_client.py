"""The client: finds programs, asks them, and never waits without end."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otpy.control.claim import NameClaim, claim_name
from otpy.control.client import Endpoint, connect, connect_to, listed
from otpy.control.errors import (
    DirectoryError,
    GoneError,
    NoAnswerError,
    NoSuchSystemError,
    RefusedError,
    RemoteError,
    VersionError,
    WireError,
)
from otpy.control.loop import ControlLoop
from otpy.control.peers import Peer
from otpy.control.snapshot import Snapshot, from_plain
from support.control import frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.control.server import ControlServer
    from support.fake_system import FakeSystem

    Serve = Callable[..., ControlServer]

ROOT = Path(__file__).parents[2]
HELLO = {"protocol": 1, "version": "9", "name": "shop", "pid": 7, "rights": "read"}


@contextmanager
def program(directory: Path, *replies: bytes) -> Iterator[NameClaim]:
    """A program that says the first bytes, then the next ones to a request, and hangs up; without any it is silent."""
    claim = claim_name("shop", directory)
    with claim.listen() as listener:
        listener.settimeout(None)

        def serve() -> None:
            connected, _ = listener.accept()
            with connected, suppress(OSError):
                connected.sendall(replies[0])
                for reply in replies[1:]:
                    connected.recv(1_000)
                    connected.sendall(reply)

        thread = threading.Thread(target=serve)
        if replies:
            thread.start()
        yield claim
        if replies:
            thread.join()
    claim.release()


def test_a_program_is_found_and_asked(serve: Serve, directory: Path) -> None:
    serve(rights="read")

    with connect_to("shop", directory) as client:
        snapshot = from_plain(Snapshot, client.ask("tree", path="shop/sessions", limit=1))

        assert (client.hello.name, client.hello.pid, client.hello.rights) == ("shop", os.getpid(), "read")
    assert [record.path for record in snapshot.records] == ["shop/sessions", "shop/sessions/1"]


def test_one_connection_serves_many_questions(serve: Serve, directory: Path, system: FakeSystem) -> None:
    serve()

    with connect_to("shop", directory) as client:
        for _ in range(3):
            client.ask("restart", path="shop/cache")

    assert system.done == [("restart", "shop/cache")] * 3


def test_every_socket_is_listed(serve: Serve, directory: Path) -> None:
    serve()
    serve()

    assert listed(directory) == [Endpoint("shop", directory), Endpoint("shop-2", directory)]


def test_nothing_is_listed_where_nothing_is(directory: Path) -> None:
    assert listed(directory) == []


def test_without_a_directory_all_places_of_the_user_are_looked_at(
    serve: Serve, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve()
    (tmp_path / "unsafe").mkdir(mode=0o755)
    monkeypatch.setattr("otpy.control.client.search", lambda: [tmp_path / "no", tmp_path / "unsafe", directory])

    assert listed() == [Endpoint("shop", directory)]


def test_a_directory_that_is_not_safe_is_refused_when_asked_for(tmp_path: Path) -> None:
    (tmp_path / "unsafe").mkdir(mode=0o755)

    with pytest.raises(DirectoryError, match="chmod 700"):
        listed(tmp_path / "unsafe")


def test_a_misspelt_name_is_answered_with_the_nearest(serve: Serve, directory: Path) -> None:
    serve()

    with pytest.raises(NoSuchSystemError, match=r"no program 'shpo' runs: did you mean 'shop'\?"):
        connect_to("shpo", directory)


def test_dead_programs_are_not_named_among_those_that_run(serve: Serve, directory: Path) -> None:
    stale = claim_name("shopping", directory)
    stale.listen().close()
    serve()

    with pytest.raises(NoSuchSystemError, match=r"no program 'shoppin' runs: did you mean 'shop'\?"):
        connect_to("shoppin", directory)
    with pytest.raises(NoSuchSystemError, match=r"no program 'x' runs: known are shop$"):
        connect_to("x", directory)
    stale.release()


@pytest.mark.report("D121", "thespianpy/Thespian#69")
def test_a_stale_socket_is_no_program(directory: Path) -> None:
    claim = claim_name("shop", directory)
    claim.listen().close()

    with pytest.raises(
        NoSuchSystemError, match=f"no program 'shop' runs, nor any other of yours in {directory}: otpy run "
    ):
        connect_to("shop", directory)

    claim.release()


@pytest.mark.report("D121", "thespianpy/Thespian#69")
def test_a_living_program_is_found_behind_a_stale_socket_of_its_name(
    serve: Serve, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = claim_name("shop", tmp_path / "first")
    stale.listen().close()
    serve()
    monkeypatch.setattr("otpy.control.client.search", lambda: [tmp_path / "first", directory])

    connect_to("shop").close()

    stale.release()


def test_an_error_over_there_is_raised_here_as_text(serve: Serve, directory: Path) -> None:
    serve()

    with connect_to("shop", directory) as client, pytest.raises(RemoteError) as caught:
        client.ask("info", path="shop/cahce")

    assert caught.value.kind == "NoSuchActorError"
    assert str(caught.value).startswith("no actor 'shop/cahce'")


def test_a_program_that_takes_the_connection_and_says_nothing_is_named(directory: Path) -> None:
    with program(directory), pytest.raises(NoAnswerError) as caught:
        connect_to("shop", directory, hello_time=0.01)

    expected = f"it may be in a call that keeps the interpreter lock; pid {os.getpid()} (shop, waited 0.01 s)"
    assert str(caught.value) == f"the program does not answer: {expected}"


def test_one_whose_backlog_is_full_is_named_too(directory: Path) -> None:
    claim = claim_name("shop", directory)
    waiting = []
    with claim.listen() as listener:
        listener.listen(0)
        for _ in range(2):
            waiting.append(client := socket.socket(socket.AF_UNIX))
            client.settimeout(0.0)
            try:
                client.connect(str(claim.path))
            except BlockingIOError:
                break
        with pytest.raises(NoAnswerError, match=f"pid {os.getpid()}"):
            connect_to("shop", directory, hello_time=0.01)
    for client in waiting:
        client.close()
    claim.release()


def test_the_pid_comes_from_the_lock_file_where_the_kernel_does_not_tell(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("otpy.control.client.peer_of", lambda _socket: None)

    with program(directory) as claim, pytest.raises(NoAnswerError) as caught:
        connect(Endpoint(claim.name, directory), hello_time=0.01)

    assert caught.value.pid == os.getpid()


@pytest.mark.parametrize("hello", [frame(HELLO)[:5], frame(HELLO)[:-1]])
def test_one_that_ends_in_the_middle_of_a_word_is_gone(directory: Path, hello: bytes) -> None:
    with program(directory, hello), pytest.raises(GoneError, match="shop has ended"):
        connect_to("shop", directory)


def test_one_that_ends_before_its_answer_is_gone(directory: Path) -> None:
    with program(directory, frame(HELLO)), connect_to("shop", directory) as client, pytest.raises(GoneError):
        client.ask("tree")


@pytest.mark.parametrize("version", [2, None, "1", [1]])
@pytest.mark.report(
    "F154",
    "zhongwencool/observer_cli#62",
    "zhongwencool/observer_cli#86",
    "zhongwencool/observer_cli#38",
    "zhongwencool/observer_cli#71",
    "zhongwencool/observer_cli#96",
)
def test_another_protocol_is_named_with_both_versions(directory: Path, version: object) -> None:
    hello = frame(HELLO | {"protocol": version})

    with program(directory, hello), pytest.raises(VersionError) as caught:
        connect_to("shop", directory)

    assert str(caught.value).startswith(f"shop speaks control protocol {version} (otpy 9), this is protocol 1 (otpy ")
    assert str(caught.value).endswith("use the otpy that shop runs with")


def test_a_refusal_is_passed_on(directory: Path) -> None:
    with program(directory, frame(HELLO | {"refused": "too\x1b[1m many"})), pytest.raises(RefusedError) as caught:
        connect_to("shop", directory)

    assert str(caught.value) == r"shop: too\x1b[1m many"


def test_a_program_that_is_about_to_be_gone_is_gone(
    serve: Serve, system: FakeSystem, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`otpy drain --watch` connects twice, and said of a program that had just drained that it refuses to talk."""
    release, closing, close_by = threading.Event(), threading.Event(), ControlLoop.close_by
    monkeypatch.setattr(ControlLoop, "close_by", lambda self, moment: (close_by(self, moment), closing.set()))
    system.stuck_on["shop/feed"] = release
    server = serve()
    with connect_to("shop", directory) as client:
        command = threading.Thread(target=lambda: client.ask("stop", path="shop/feed"))
        command.start()
        assert system.entered.acquire(timeout=5.0)
        closer = threading.Thread(target=server.close)
        closer.start()
        assert closing.wait(30.0)
        with pytest.raises(GoneError, match="shop: this program is ending"):
            connect_to("shop", directory)
        release.set()
        command.join()
        closer.join()


def test_a_socket_of_another_user_is_not_believed(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otpy.control.client.peer_of", lambda _socket: Peer(os.getuid() + 5, 1))
    monkeypatch.setattr("otpy.control.client.ROOT", -1)

    with program(directory, frame(HELLO)), pytest.raises(RefusedError, match="another user's program"):
        connect_to("shop", directory)


@pytest.mark.parametrize("reply", [b"\xff\xff\xff\xff", frame([1]), b"\x00\x00\x00\x01\xc1"])
def test_a_reply_that_makes_no_sense_is_refused(directory: Path, reply: bytes) -> None:
    with program(directory, frame(HELLO), reply), connect_to("shop", directory) as client, pytest.raises(WireError):
        client.ask("tree")


def test_an_answer_that_comes_too_late_is_not_taken_for_the_next_one(
    serve: Serve, directory: Path, system: FakeSystem
) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    serve()

    with connect_to("shop", directory) as client:
        with pytest.raises(NoAnswerError):
            client.ask("stop", within=0.01, path="shop/feed")
        release.set()

        assert client.ask("tree", limit=1) is not None


HOLDS_THE_LOCK = """
import ctypes, sys
from pathlib import Path
from otpy.control.server import ControlServer
from support.fake_system import FakeSystem
server = ControlServer(FakeSystem(), directory=Path(sys.argv[1]))
server.start()
print("ready", flush=True)
sys.stdin.readline()
ctypes.PyDLL(None).usleep(700_000)
sys.stdin.readline()
server.close()
"""


def greet_until_silent(directory: Path) -> None:
    """Connect again and again: the call may begin a moment after it was asked for."""
    while True:
        connect_to("shop", directory, hello_time=0.1).close()


def test_a_program_in_a_call_that_keeps_the_interpreter_lock_is_said_to_be(directory: Path) -> None:
    paths = {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "PATH": os.environ.get("PATH", "")}
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(directory)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=paths) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.readline()
        with connect_to("shop", directory, hello_time=5.0) as client:
            assert client.hello.pid == child.pid
        child.stdin.write("\n")
        child.stdin.flush()

        with pytest.raises(NoAnswerError, match=f"interpreter lock; pid {child.pid} "):
            greet_until_silent(directory)
        connect_to("shop", directory, hello_time=5.0).close()
        child.stdin.write("\n")
    assert child.returncode == 0
