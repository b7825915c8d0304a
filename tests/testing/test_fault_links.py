"""A link between two programs: cut, stalled, slow, losing what it carries, and lying about it."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pytest

from otpy.testing import faults
from otpy.testing.faults import FaultError, Link, Script, armed

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 10.0


class Server:
    """Answers each line by `ok` and the line; remembers what has come."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.came = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = self._socket.getsockname()
        self._threads = [threading.Thread(target=self._accept, name="server", daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                one, _ = self._socket.accept()
            except OSError:
                return
            self._threads.append(threading.Thread(target=self._serve, args=(one,), daemon=True))
            self._threads[-1].start()

    def _serve(self, one: socket.socket) -> None:
        with one:
            try:
                while data := one.recv(1000):
                    self.heard.append(data)
                    self.came.release()
                    if data.endswith(b"\n"):
                        one.sendall(b"ok " + data)
            except OSError:
                pass
            finally:
                self.ended.release()

    def close(self) -> None:
        if self._socket.fileno() < 0:
            return
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for thread in self._threads:
            thread.join(PATIENCE)


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


@pytest.fixture
def link(server: Server) -> Iterator[Link]:
    with Link(server.address, name="line") as one:
        yield one


def is_refused(link: Link) -> bool:
    """Whether a new connection is reset: at once, or when it is used."""
    try:
        with Client(link) as client:
            return client.is_reset()
    except ConnectionResetError:
        return True


class Client:
    def __init__(self, link: Link) -> None:
        self.socket = socket.create_connection(link.address, timeout=PATIENCE)

    def ask(self, text: bytes) -> bytes:
        self.socket.sendall(text)
        return self.socket.recv(1000)

    def is_reset(self) -> bool:
        try:
            return self.socket.recv(1000) == b"never"
        except ConnectionResetError:
            return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def test_it_forwards_both_ways_until_both_have_said_all(server: Server, link: Link) -> None:
    with Client(link) as client:
        assert client.ask(b"one\n") == b"ok one\n"
        assert client.ask(b"two\n") == b"ok two\n"
        assert (link.mode, link.connections) == ("up", 1)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.socket.recv(1000) == b""
    assert server.ended.acquire(timeout=PATIENCE)
    assert server.heard == [b"one\n", b"two\n"]


def test_one_that_is_cut_resets_what_is_open_and_what_comes(server: Server, link: Link) -> None:
    with Client(link) as client:
        client.ask(b"one\n")
        link.cut()
        assert client.is_reset()
    assert is_refused(link)
    link.heal()
    with Client(link) as client:
        assert client.ask(b"two\n") == b"ok two\n"
    assert server.heard == [b"one\n", b"two\n"]


def test_one_that_stalls_loses_nothing(server: Server, link: Link) -> None:
    with Client(link) as client:
        client.ask(b"one\n")
        link.stall()
        client.socket.sendall(b"two\n")
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.socket.recv(1000)
        assert server.heard == [b"one\n"]
        link.heal()
        client.socket.settimeout(PATIENCE)
        assert client.socket.recv(1000) == b"ok two\n"


def test_one_that_lies_delivers_and_loses_the_answer(server: Server, link: Link) -> None:
    with Client(link) as client:
        link.lie()
        client.socket.sendall(b"one\n")
        assert client.is_reset()
    assert server.heard == [b"one\n"]


def test_half_of_a_request_arrives(server: Server, link: Link) -> None:
    with Client(link) as client:
        link.half()
        client.socket.sendall(b"12345678\n")
        assert client.is_reset()
    assert server.ended.acquire(timeout=PATIENCE)
    assert server.heard == [b"1234"]


@pytest.mark.parametrize(("way", "heard"), [("request", []), ("reply", [b"one\n"]), ("both", [])])
def test_what_is_dropped_is_lost_and_the_connection_stays(
    server: Server, link: Link, way: str, heard: list[bytes]
) -> None:
    tell, told = link._told, threading.Semaphore(0)
    link._told = lambda way: (tell(way), told.release())[0]  # type: ignore[method-assign]
    with Client(link) as client:
        link.drop(way)  # type: ignore[arg-type]
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.ask(b"one\n")
        for _ in ("request", "reply") if heard else ("request",):
            assert told.acquire(timeout=PATIENCE)  # what is on its way when the link is healed would arrive
        assert server.heard == heard
        client.socket.settimeout(PATIENCE)
        link.heal()
        assert client.ask(b"two\n") == b"ok two\n"


def test_a_slow_one_takes_its_time(link: Link) -> None:
    with Client(link) as client:
        link.slow(0.05)
        before = time.monotonic()
        assert client.ask(b"one\n") == b"ok one\n"
        assert time.monotonic() - before >= 2 * 0.05


def test_a_script_says_which_answer_is_lost(server: Server, link: Link) -> None:
    script = Script(seed=3).at("line.reply", faults.cut(), after=2).at("line.connect", faults.cut(), after=1)
    with armed(script), Client(link) as client:
        assert client.ask(b"1\n") == b"ok 1\n"
        assert client.ask(b"2\n") == b"ok 2\n"
        client.socket.sendall(b"3\n")
        assert client.is_reset()
        assert is_refused(link)
    script.assert_fired()
    assert server.heard == [b"1\n", b"2\n", b"3\n"]


def test_a_script_has_a_piece_hang_until_it_is_released(server: Server, link: Link) -> None:
    with armed(Script().at("line.request", faults.hang())) as script, Client(link) as client:
        client.socket.sendall(b"1\n")
        client.socket.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.socket.recv(1000)
        assert server.heard == []
        script.release()
        client.socket.settimeout(PATIENCE)
        assert client.socket.recv(1000) == b"ok 1\n"


def test_it_links_unix_sockets_too(server: Server, tmp_path: Path) -> None:
    inner, outer = tmp_path / "inner", str(tmp_path / "outer")
    with Link(server.address, listen=str(inner)) as first, Link(inner, listen=outer) as second:
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(PATIENCE)
        one.connect(second.address)
        one.sendall(b"1\n")
        assert one.recv(1000) == b"ok 1\n"
        first.cut()
        assert one.recv(1000) == b""  # a Unix socket knows no reset
        one.close()
    assert not inner.exists()


def test_what_connects_while_the_server_is_away_is_reset(server: Server) -> None:
    away = socket.create_server(("127.0.0.1", 0))
    address = away.getsockname()
    away.close()
    with Link(address) as link:
        assert is_refused(link)


def test_one_that_cannot_listen_says_so_and_leaves_no_thread(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        Link(("127.0.0.1", 1), listen=str(tmp_path / "none" / "socket"))


@pytest.mark.parametrize("mode", ["up", "stall", "lie"])
def test_one_that_is_closed_with_callers_at_the_door_leaves_nothing_open(server: Server, mode: str) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    link = Link(server.address)
    if mode != "up":
        getattr(link, mode)()
    callers = [socket.create_connection(link.address) for _ in range(50)]  # some are taken in, some not yet

    link.close()

    assert not asyncio.all_tasks(link._loop)
    for caller in callers:
        caller.close()
    server.close()
    assert len(list(Path("/proc/self/fd").iterdir())) < before


def test_many_may_close_one_at_once_and_then_it_says_so(link: Link) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: link.close(), range(8)))

    with pytest.raises(FaultError, match="link line is closed"):
        link.cut()


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "1"])
def test_no_time_is_refused(link: Link, seconds: Any) -> None:
    with pytest.raises(FaultError, match="seconds >= 0"):
        link.slow(seconds)
