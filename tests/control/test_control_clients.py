"""The control server: one client never harms another, whatever it sends or leaves out."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from otpy.control.limits import Limits
from support.control import PATIENT, RawClient, control_threads, frame, request
from support.fake_system import FakeSystem, worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.control.server import ControlServer

    Serve = Callable[..., ControlServer]


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
