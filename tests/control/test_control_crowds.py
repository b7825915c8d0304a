"""The control socket in a crowd: a hundred clients, halves of frames, readers that never read, clients that vanish."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

import pytest

from otpy.control.connection import Connection
from otpy.control.desk import Desk
from otpy.control.limits import Limits
from otpy.control.loop import ControlLoop
from otpy.control.verbs import VERBS
from otpy.testing.remains import ends_within
from support.control import RawClient, request
from support.fake_system import FakeSystem, worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.control.server import ControlServer

    Serve = Callable[..., ControlServer]

CROWD = 100
ENDLESS = {"frame_time": 60.0, "write_time": 60.0, "idle_time": 60.0}
PATIENT = Limits(**ENDLESS)  # type: ignore[arg-type]
"""For tests in which no time may run out."""


def crowd(server: ControlServer, stack: ExitStack, count: int = CROWD) -> list[RawClient]:
    """So many clients, connected and greeted one after the other."""
    clients: list[RawClient] = []
    for _ in range(count):
        clients.append(stack.enter_context(RawClient(server.path)))
        clients[-1].reply()
    return clients


def served(client: RawClient, number: int = 1) -> bool:
    client.send(request("summary", number))
    return client.reply()["id"] == number


def alone(server: ControlServer, good: RawClient) -> bool:
    """Whether the others are gone; the loop has seen that they hung up after a few of its rounds."""
    assert server._loop is not None
    return any(served(good, number) and len(server._loop._clients) == 1 for number in range(1_000))


def test_of_a_hundred_clients_the_quietest_make_room_for_the_rest(serve: Serve) -> None:
    server = serve(limits=PATIENT)

    with ExitStack() as stack:
        clients = crowd(server, stack)
        out = CROWD - PATIENT.max_clients

        assert all(client.is_hung_up_on() for client in clients[:out])
        assert all(served(client, number) for number, client in enumerate(clients[out:]))


def test_a_hundred_halves_of_requests_keep_nobody_waiting(serve: Serve) -> None:
    server = serve(limits=PATIENT)
    whole = request("summary", 7)

    with ExitStack() as stack, RawClient(server.path) as good:
        good.reply()
        halves = []
        for number in range(CROWD):
            halves.append(stack.enter_context(RawClient(server.path)))
            halves[-1].send(whole[: 1 + number % (len(whole) - 1)])
            assert served(good, number)
        rest = whole[1 + (CROWD - 1) % (len(whole) - 1) :]
        halves[-1].send(rest)
        halves[-1].reply()

        assert halves[-1].reply()["id"] == 7
    assert alone_after(server)


def alone_after(server: ControlServer) -> bool:
    with RawClient(server.path) as good:
        good.reply()
        return alone(server, good)


def big_system() -> FakeSystem:
    return FakeSystem([worker(f"shop/{number}", last_exit="x" * 500) for number in range(1_000)])


def test_readers_that_never_read_cost_no_more_than_the_limit(serve: Serve) -> None:
    limit = 2 * 1024 * 1024
    server = serve(big_system(), limits=Limits(max_waiting_bytes=limit, **ENDLESS))  # type: ignore[arg-type]

    with ExitStack() as stack, RawClient(server.path) as good:
        good.reply()
        slow = crowd(server, stack, 30)
        for number, client in enumerate(slow):
            client.send(request("tree", limit=1_000))
            assert served(good, number)
        assert served(good)  # in a later round than the last of them
        waiting = [client.waiting_bytes for client in loop_of(server)._clients.values() if client.has_to_write]

        assert slow[0].is_hung_up_on_unread()
        assert 0 < sum(waiting) - waiting[-1] <= limit
        assert slow[-1].reply()["ok"]


def loop_of(server: ControlServer) -> ControlLoop:
    assert server._loop is not None
    return server._loop


@pytest.mark.parametrize("data", [b"", b"\0\0", request("tree"), request("tree") * 500, request("kill", path="shop/x")])
def test_clients_that_vanish_leave_nothing(serve: Serve, data: bytes) -> None:
    server = serve(limits=PATIENT)

    with RawClient(server.path) as good:
        good.reply()
        for _ in range(CROWD):
            with RawClient(server.path) as client:
                client.send(data)

        assert alone(server, good)
    for thread in threading.enumerate():
        if thread.name.startswith("otpy-control-k"):  # its command was done, and nobody waits for its end
            assert ends_within(thread, 30.0)


def test_clients_that_vanish_while_their_commands_run_leave_nothing(serve: Serve, system: FakeSystem) -> None:
    release = system.stuck_on["shop/feed"] = threading.Event()
    server = serve(limits=PATIENT)

    with RawClient(server.path) as good:
        good.reply()
        with ExitStack() as stack:
            for client in crowd(server, stack, PATIENT.max_commands):
                client.send(request("stop", path="shop/feed"))
            assert all(system.entered.acquire(timeout=5.0) for _ in range(PATIENT.max_commands))
            good.send(request("stop", path="shop/cache"))
            refused = good.reply()["error"]
        release.set()
        for thread in loop_of(server).running():
            thread.join()

        assert refused == {"kind": "BusyError", "text": "16 commands run already: wait for one of them"}
        assert alone(server, good)


def test_requests_sent_at_once_are_all_answered_though_the_client_closed_its_end_behind_them(serve: Serve) -> None:
    """The end of the stream was seen before the last of them was looked at."""
    server = serve(limits=PATIENT)

    with RawClient(server.path) as client:
        client.send(b"".join(request("summary", number) for number in range(200)))
        client.socket.shutdown(socket.SHUT_WR)
        client.reply()

        assert [client.reply()["id"] for _ in range(200)] == list(range(200))
        assert client.is_hung_up_on()


@pytest.fixture
def by_hand(tmp_path: object, system: FakeSystem) -> Iterator[tuple[ControlLoop, str]]:
    """A loop whose rounds the test makes, and where it listens."""
    listener = socket.socket(socket.AF_UNIX)
    address = f"{tmp_path}/s"
    listener.bind(address)
    listener.listen()
    listener.settimeout(0.0)
    loop = ControlLoop(listener, Desk(system, "shop", "read", VERBS, PATIENT), PATIENT)
    loop.open()
    yield loop, address
    loop.let_go()


def test_one_that_sends_without_end_is_read_no_faster_than_it_is_answered(by_hand: tuple[ControlLoop, str]) -> None:
    """It was read in each round and answered once: requests piled up in the program, and its turns with them."""
    loop, address = by_hand
    flood = request("summary") * 2_000

    with RawClient(address) as client:  # type: ignore[arg-type]
        client.socket.settimeout(0.0)
        kept = []
        for _ in range(300):
            with suppress(BlockingIOError):
                client.socket.send(flood)
            loop._round(0.0)
            with suppress(BlockingIOError):
                client.socket.recv(65536)
            kept += [len(one._reader._buffer) for one in loop._clients.values()]

        assert len(loop._ready) == 1
        assert max(kept) <= 2 * 65536


def test_the_time_of_a_request_runs_from_the_answer_of_the_one_before_it() -> None:
    """Half of the next one came along with a command that took its time, and nobody read the other half meanwhile."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0.0)
        client = Connection(ours, PATIENT, 0.0)
        theirs.sendall(request("stop") + request("summary")[:9])
        client.receive(1.0)
        assert client.next_frame(1.0) is not None
        client.busy = True
        assert client.next_frame(2.0) is None
        client.busy = False
        client.send(b"done", 500.0)

        assert client.next_frame(500.0) is None
        assert client.deadline == 500.0 + PATIENT.frame_time
        theirs.sendall(b"\0")
        client.receive(510.0)
        assert client.next_frame(510.0) is None
        assert client.deadline == 500.0 + PATIENT.frame_time
