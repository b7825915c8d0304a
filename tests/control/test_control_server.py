"""The control server: one client never harms another, whatever it sends or leaves out."""

from __future__ import annotations

import multiprocessing
import os
import random
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from otpy.control.claim import NameClaim, claim_name
from otpy.control.errors import DirectoryError
from otpy.control.limits import Limits
from otpy.control.peers import Peer, may_talk, peer_of
from otpy.control.server import ControlServer
from otpy.control.verbs import Verb, VerbTable
from otpy.control.wire import PROTOCOL
from support.control import RawClient, frame, request
from support.fake_system import FakeSystem, worker

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.sharedctypes import Synchronized
    from pathlib import Path

    Serve = Callable[..., ControlServer]

PATIENT = Limits(frame_time=30.0, write_time=30.0, idle_time=30.0)
"""For tests in which no time may run out."""


def control_threads() -> list[str]:
    return sorted(thread.name for thread in threading.enumerate() if thread.name.startswith("otpy-control"))


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


@pytest.mark.report(
    "D113", "circus-tent/circus#847", "circus-tent/circus#831", "circus-tent/circus#1154", "circus-tent/circus#1179"
)
def test_a_command_that_waits_keeps_nobody_waiting(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=PATIENT)

    with RawClient(server.path) as slow, RawClient(server.path) as quick:
        slow.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
        for number, verb in enumerate(["stop", "tree", "kill"]):
            quick.send(request(verb, number, path="shop/cache"))
        quick.reply()
        replies = [quick.reply()["id"] for _ in range(3)]
        release.set()
        slow.reply()

        assert slow.reply() == {"id": 1, "ok": None}
    assert replies == [0, 1, 2]
    assert system.done == [("stop", "shop/cache"), ("kill", "shop/cache"), ("stop", "shop/feed")]


def test_more_commands_than_may_run_are_refused_and_looking_goes_on(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=Limits(max_commands=1))

    with RawClient(server.path) as slow, RawClient(server.path) as other:
        slow.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
        other.send(request("stop", path="shop/cache") + request("summary"))
        other.reply()
        refused, summary = other.reply(), other.reply()
        release.set()

    assert refused["error"] == {"kind": "BusyError", "text": "1 commands run already: wait for one of them"}
    assert "ok" in summary


def test_closing_waits_for_a_command_and_delivers_its_reply(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        client.reply()
        client.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
        closer = threading.Thread(target=server.close)
        closer.start()
        release.set()
        closer.join()

        assert client.reply() == {"id": 1, "ok": None}


def test_closing_does_not_wait_for_ever_and_names_what_goes_on(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        client.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)

        assert server.close(timeout=0.01) == ["otpy-control-stop"]
        release.set()


def test_a_client_that_hangs_up_does_not_undo_its_command(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve()

    with RawClient(server.path) as client:
        client.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
    release.set()
    server.close()

    assert system.done == [("stop", "shop/feed")]


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff\xff\xff", b"\x00\x01\x00\x01", frame([]), frame(None), b"GET / HTTP/1.1\r\n\r\n", b"\x00\x00\x00\x00"],
    ids=["4 GiB", "one byte too long", "list", "nothing", "http", "empty"],
)
def test_what_is_no_request_is_answered_and_hung_up_on(serve: Serve, data: bytes) -> None:
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        client.send(data)
        client.reply()
        error = client.reply()["error"]

        assert isinstance(error, dict)
        assert error["kind"] == "WireError"
        assert client.is_hung_up_on()


@pytest.mark.parametrize("depth", [20, 1_500, 30_000])
def test_deep_nesting_is_refused(serve: Serve, depth: int) -> None:
    server = serve(limits=PATIENT)
    nested = b"\x91" * depth + b"\xc0"

    with RawClient(server.path) as client:
        client.send(len(nested).to_bytes(4, "big") + nested)
        client.reply()

        assert "error" in client.reply()
        assert client.is_hung_up_on()


@pytest.mark.parametrize("part", [b"\x00", b"\x00\x00\x00\x09", request("tree")[:-1]], ids=["length", "head", "most"])
def test_half_a_request_ends_by_its_time_and_others_are_served_meanwhile(serve: Serve, part: bytes) -> None:
    server = serve(limits=Limits(frame_time=0.05))

    with RawClient(server.path) as half, RawClient(server.path) as whole:
        half.send(part)
        whole.send(request("tree"))
        whole.reply()

        assert "ok" in whole.reply()
        assert half.is_hung_up_on()


def test_dripping_bytes_do_not_prolong_the_time_of_a_request(serve: Serve) -> None:
    server = serve(limits=Limits(frame_time=0.05))
    stop = threading.Event()

    with RawClient(server.path) as client:

        def drip() -> None:
            try:
                while not stop.wait(0.01):
                    client.send(b"\x00" if not stop.is_set() else b"")
            except OSError:
                return

        client.send(b"\x00\x00\xf0\x00")
        thread = threading.Thread(target=drip)
        thread.start()

        assert client.is_hung_up_on()
        stop.set()
        thread.join()


def test_a_quiet_client_ends_by_its_time(serve: Serve) -> None:
    server = serve(limits=Limits(idle_time=0.05))

    with RawClient(server.path) as client:
        assert client.is_hung_up_on()


def big_system() -> FakeSystem:
    return FakeSystem([worker(f"shop/{number}", last_exit="x" * 500) for number in range(5_000)])


def test_one_that_does_not_read_its_reply_ends_by_its_time_and_others_are_served(serve: Serve) -> None:
    server = serve(big_system(), limits=Limits(write_time=0.05))

    with RawClient(server.path) as slow, RawClient(server.path) as quick:
        slow.send(request("tree", limit=5_000))
        quick.send(request("summary"))
        quick.reply()
        assert "ok" in quick.reply()
        assert slow.is_hung_up_on_unread()


def test_a_long_reply_reaches_one_that_reads_slowly(serve: Serve) -> None:
    server = serve(big_system(), limits=PATIENT)

    with RawClient(server.path) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.reply()
        client.send(request("tree", limit=5_000))
        reply = client.reply()["ok"]

    assert isinstance(reply, dict)
    assert len(reply["records"]) == 5_000


def test_fifty_clients_at_once_are_all_served(serve: Serve) -> None:
    server = serve(limits=PATIENT)

    with ExitStack() as stack:
        clients = [stack.enter_context(RawClient(server.path)) for _ in range(50)]
        for number, client in enumerate(clients):
            client.send(request("tree", number))
        replies = [(client.reply(), client.reply()["id"])[1] for client in clients]

    assert replies == list(range(50))


def test_the_one_that_is_quiet_longest_makes_room(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=Limits(max_clients=2))

    with RawClient(server.path) as busy, RawClient(server.path) as quiet:
        busy.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
        quiet.reply()
        with RawClient(server.path) as third:
            third.send(request("summary"))
            third.reply()
            assert "ok" in third.reply()
            assert quiet.is_hung_up_on()
        release.set()
        busy.reply()
        assert busy.reply() == {"id": 1, "ok": None}


def test_nobody_is_thrown_out_while_his_command_runs(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=Limits(max_clients=1))

    with RawClient(server.path) as busy:
        busy.send(request("stop", path="shop/feed"))
        assert system.entered.acquire(timeout=5.0)
        with RawClient(server.path) as other:
            assert other.reply()["refused"] == "1 clients are connected and all have commands running"
            assert other.is_hung_up_on()
        release.set()
        busy.reply()
        assert "ok" in busy.reply()


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
    monkeypatch.setattr("otpy.control.loop.REST", 0.01)
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        assert client.reply()["name"] == "shop"
    assert Starved.failures == 2


def test_a_verb_that_ends_its_thread_ends_nothing_else(serve: Serve) -> None:
    verbs = VerbTable()

    def leave(_system: object, _params: object) -> None:
        raise SystemExit

    verbs.add(Verb(name="inline", right="read", run=leave, inline=True))
    verbs.add(Verb(name="apart", right="read", run=leave))
    server = serve(verbs=verbs, limits=PATIENT)

    with RawClient(server.path) as client:
        client.send(request("inline", 1) + request("apart", 2) + request("inline", 3))
        client.reply()

        assert [client.reply()["id"] for _ in range(3)] == [1, 2, 3]


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


def misbehave(chance: random.Random, client: RawClient) -> None:
    """One of the many ways to be a bad client."""
    good = request("tree", 1, path="shop", limit=3)
    match chance.randrange(6):
        case 0:
            client.send(chance.randbytes(chance.randrange(1, 200)))
        case 1:
            client.send(good[: chance.randrange(len(good))])
        case 2:
            payload = bytearray(good)
            payload[chance.randrange(4, len(payload))] ^= 1 << chance.randrange(8)
            client.send(bytes(payload))
        case 3:
            client.send(chance.randbytes(4) + good)
        case 4:
            client.send(good * chance.randrange(2, 50))
        case _:
            client.socket.shutdown(chance.choice([socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR]))


def test_a_crowd_of_bad_clients_harms_nobody(serve: Serve) -> None:
    chance = random.Random(20_261_129)
    server = serve(limits=Limits(frame_time=30.0, write_time=30.0, idle_time=30.0, max_clients=40))

    with ExitStack() as stack, RawClient(server.path) as good:
        good.reply()
        for number in range(150):
            bad = stack.enter_context(RawClient(server.path))
            try:
                misbehave(chance, bad)
            except OSError:  # thrown out meanwhile
                continue
            if number % 10 == 0:
                good.send(request("summary", number))
                assert good.reply()["id"] == number
        assert control_threads() == ["otpy-control-shop"]
