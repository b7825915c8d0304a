"""The control server: it opens and closes, lets its own user in, and goes on whatever happens around it."""

from __future__ import annotations

import multiprocessing
import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from otpy.control.claim import NameClaim, claim_name
from otpy.control.errors import DirectoryError
from otpy.control.peers import Peer, may_talk, peer_of
from otpy.control.server import ControlServer
from otpy.control.wire import PROTOCOL
from support.control import PATIENT, RawClient, control_threads, request
from support.fake_system import FakeSystem

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.sharedctypes import Synchronized
    from pathlib import Path

    Serve = Callable[..., ControlServer]


def test_it_greets_and_answers(serve: Serve) -> None:
    server = serve()

    with RawClient(server.path) as client:
        hello = client.reply()
        client.send(request("tree", 1) + request("summary", "two"))

        assert hello["protocol"] == PROTOCOL
        assert (hello["name"], hello["pid"], hello["rights"]) == ("shop", os.getpid(), "operate")
        assert [client.reply()["id"], client.reply()["id"]] == [1, "two"]


def test_its_thread_has_a_name_of_ours_and_is_a_daemon(serve: Serve) -> None:
    serve()

    assert control_threads() == ["otpy-control-shop"]
    assert all(thread.daemon for thread in threading.enumerate() if thread.name.startswith("otpy-control"))


def test_closing_leaves_nothing_and_may_be_repeated(serve: Serve, directory: Path) -> None:
    server = serve()
    client = RawClient(server.path)

    left = [server.close(), server.close()]

    assert left == [[], []]
    assert list(directory.iterdir()) == []
    assert control_threads() == []
    assert (server.name, server.path) == (None, None)
    assert client.is_hung_up_on()
    client.socket.close()


def test_it_can_be_opened_again(serve: Serve) -> None:
    server = serve()
    server.close()
    server.start()
    server.start()

    assert server.name == "shop"


def test_switched_off_there_is_no_thread_and_no_file(serve: Serve, directory: Path) -> None:
    server = serve(rights="off")

    assert control_threads() == []
    assert not directory.exists()
    assert server.close() == []


def test_a_directory_that_cannot_be_used_fails_the_start_and_leaves_nothing(
    directory: Path, system: FakeSystem
) -> None:
    directory.mkdir(mode=0o755)
    server = ControlServer(system, directory=directory)

    with pytest.raises(DirectoryError):
        server.start()

    assert control_threads() == []
    assert server.close() == []


def test_a_name_claimed_before_is_used_and_released(directory: Path) -> None:
    first = claim_name("shop", directory)
    claim = claim_name("shop", directory)
    server = ControlServer(FakeSystem(name=claim.name), claim=claim)
    server.start()

    assert server.name == "shop-2"
    server.close()
    assert sorted(path.name for path in directory.iterdir()) == ["shop.lock"]
    first.release()


def test_a_second_system_of_the_same_name_is_numbered_and_answers_to_it(serve: Serve) -> None:
    serve()
    second = FakeSystem()
    server = serve(second)

    with RawClient(server.path) as client:
        client.reply()
        client.send(request("kill", path="shop-2/cache"))
        client.reply()

    assert server.name == "shop-2"
    assert second.done == [("kill", "shop/cache")]


@pytest.mark.parametrize(
    ("peer", "own", "expected"),
    [(Peer(5, 1), 5, True), (Peer(0, 1), 5, True), (Peer(6, 1), 5, False), (Peer(5, 1), 0, False), (None, 5, True)],
)
def test_the_same_user_and_root_may_talk(peer: Peer | None, own: int, expected: bool) -> None:  # noqa: FBT001
    assert may_talk(peer, own) is expected


def test_another_user_is_turned_away(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("otpy.control.loop.peer_of", lambda _socket: Peer(os.geteuid() + 1, 1))
    server = serve()

    with RawClient(server.path) as client:
        assert client.reply()["refused"] == "this program belongs to another user"
        assert client.is_hung_up_on()


def test_the_kernel_tells_who_is_there() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, socket.socket() as no_unix_socket:
        assert peer_of(ours) in {Peer(os.getuid(), os.getpid()), None}
        assert peer_of(no_unix_socket) in {Peer(0, None), Peer(-1, None), Peer(2**32 - 1, None), None}


class Starved(socket.socket):
    """A listening socket of a process that has no descriptor left, twice."""

    failures = 0

    def accept(self) -> tuple[socket.socket, object]:
        if Starved.failures < 2:
            Starved.failures += 1
            raise OSError(24, "Too many open files")
        return super().accept()


def test_a_process_without_descriptors_rests_and_serves_on(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    listen = NameClaim.listen

    def starved(claim: NameClaim) -> socket.socket:
        with_failures = Starved(fileno=listen(claim).detach())
        with_failures.settimeout(0.0)
        return with_failures

    monkeypatch.setattr(NameClaim, "listen", starved)
    monkeypatch.setattr("otpy.control.door.REST", 0.01)
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        assert client.reply()["name"] == "shop"
    assert Starved.failures == 2


def inspect_in_child(server: ControlServer, result: Synchronized[int]) -> None:
    path = server.path
    left = server.close(timeout=1.0)
    assert path is not None
    result.value = 1 if not left and path.is_socket() else 2


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_does_not_take_the_parents_socket_away(serve: Serve) -> None:
    server = serve(limits=PATIENT)
    context = multiprocessing.get_context("fork")
    result = context.Value("i", 0)

    with RawClient(server.path) as client:
        client.reply()
        child = context.Process(target=inspect_in_child, args=(server, result))
        child.start()
        child.join()
        client.send(request("summary"))

        assert "ok" in client.reply()
    assert (child.exitcode, result.value) == (0, 1)
    child.close()
