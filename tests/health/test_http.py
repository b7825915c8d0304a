"""Probes over HTTP: answered whatever the actors do, and whatever other clients do."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, Self

import pytest

import otpy
from otpy.core.standstill import Standstill
from otpy.errors import SpecError, StartError
from otpy.events import ActorCrashed
from otpy.health import HttpHealth
from otpy.health.http import serving as servings
from otpy.runtime.pulse import Pulse
from otpy.testing import Recorder
from support.ports import own_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 20.0
"""Seconds a test waits; only a failing one does."""


class Doer(otpy.GenServer):
    @otpy.cast
    def do(self, deed: object) -> None:
        deed()  # type: ignore[operator]


class Metrics:
    """Tells metrics when the test lets it."""

    def __init__(self, system: otpy.System) -> None:
        self.accepts: list[str] = []
        self.entered = threading.Semaphore(0)
        self.opened = threading.Event()
        self.body = b"m 1\n"
        self.is_closed = False
        self.error: Exception | None = None
        METRICS.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.is_closed = True
        self.opened.set()

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        self.accepts.append(accept)
        self.entered.release()
        self.opened.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return "text/metrics", self.body


METRICS: list[Metrics] = []


@contextmanager
def served(system: otpy.System, **options: object) -> Iterator[HttpHealth]:
    """Serve probes in this system."""
    http = HttpHealth(bind="127.0.0.1:0", **options)  # type: ignore[arg-type]
    ref = system.start(http.child())
    try:
        yield http
    finally:
        ref.stop()


def visit(http: HttpHealth, data: bytes = b"") -> socket.socket:
    """A connection that has sent this."""
    assert http.address is not None
    host, _, port = http.address.rpartition(":")
    connected = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connected.sendall(data)
    return connected


def rest(connected: socket.socket) -> tuple[int, str]:
    """What comes until it is closed: the status, and the body."""
    data = bytearray()
    with connected:
        while chunk := connected.recv(65_536):
            data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body.decode()


def get(http: HttpHealth, path: str, method: str = "GET", headers: str = "") -> tuple[int, str]:
    """One whole visit."""
    return rest(visit(http, f"{method} {path} HTTP/1.1\r\nHost: here\r\n{headers}\r\n".encode()))


def let_time_pass(http: HttpHealth) -> None:
    """The patience with all who are visiting is over."""
    assert http.kept is not None
    serving = http.kept[1]
    for visitor in list(serving._visitors.values()):
        visitor.until = 0.0
    if serving.scrape is not None and serving.scrape._since is not None:
        serving.scrape._since -= http.patience
    serving.wake()


@pytest.fixture(autouse=True)
def forget_metrics() -> Iterator[None]:
    METRICS.clear()
    yield
    METRICS.clear()


def test_a_program_that_is_well_says_so() -> None:
    http = HttpHealth(bind="127.0.0.1:0")

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [http.child()]

    with otpy.run(Shop, control="off") as system:
        assert get(http, "/livez") == (200, "ok\n")
        assert get(http, "/readyz?verbose") == (200, "started: ok\ndraining: ok\nchildren: ok\nok\n")
        assert get(http, "/readyz", "HEAD") == (200, "")
        assert get(http, "/") == (404, "there are /livez, /readyz and /metrics\n")
        assert get(http, "/metrics") == (404, "no metrics: HttpHealth(…, metrics=otpy.metrics.Metrics)\n")
        assert get(http, "/livez", "POST") == (405, "Method Not Allowed\n")
        assert system.record("shop/health").kind == f"HttpHealth {http.address}"


def test_one_that_does_not_start_has_no_address_to_show(otpy_system: otpy.System) -> None:
    """Its crash was told as that of `HttpHealth None`."""

    def boom(_: otpy.System) -> Any:
        raise ImportError("no extra")

    with Recorder(otpy_system, ActorCrashed) as told, pytest.raises(StartError, match="no extra"):
        otpy_system.start(HttpHealth(bind="127.0.0.1:0", metrics=boom).child())
    assert [event.kind for event in told.events] == ["HttpHealth"]


def test_it_answers_all_the_time_while_the_program_stops_and_is_closed_last() -> None:
    """As first child; a load balancer hears that no new work is wanted, nobody that the program is to be killed."""
    http = HttpHealth(bind="127.0.0.1:0")
    seen = []

    class Last(otpy.GenServer):
        trap_exit = True

        def terminate(self, reason: otpy.Reason) -> None:
            seen.extend([get(http, "/readyz"), get(http, "/livez")])

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [http.child(), otpy.child(Last)]

    with otpy.run(Shop, control="off") as system:
        system.request_stop()
        assert get(http, "/readyz") == (503, "draining: request_stop() was called\nnot ok\n")

    assert seen == [(503, "draining: request_stop() was called\nnot ok\n"), (200, "ok\n")]


def test_it_answers_while_all_workers_are_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pulse, "take", lambda self: None)
    system = otpy.System("t", max_threads=1)
    entered, opened = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        opened.wait(PATIENCE)

    with served(system) as http:
        doer, other = system.start(Doer), system.start(Doer)
        doer.cast(Doer.do, hang)
        assert entered.wait(PATIENCE)
        other.cast(Doer.do, lambda: None)
        assert system.watchdog is not None
        system.watchdog.pulse.found = {"turns": Standstill(0, len(system.pool.queue), 120.0)}
        status, text = get(http, "/livez")
        opened.set()
    system.wait_idle()
    system.stop()

    assert status == 503
    assert text.startswith("turns: 1 wait for a turn")


def test_half_a_request_holds_up_nobody_and_ends_in_its_time(system: otpy.System) -> None:
    with served(system) as http:
        half = visit(http, b"GET /livez HT")
        assert get(http, "/livez") == (200, "ok\n")
        let_time_pass(http)
        assert rest(half) == (408, "Request Timeout\n")


def test_who_sends_too_much_is_told_and_whole_requests_may_come_in_pieces(system: otpy.System) -> None:
    with served(system) as http:
        assert get(http, "/livez", headers="a: b\r\n" * 3_000)[0] == 431
        piecewise = visit(http, b"GET /livez HTTP/1.1\r\n")
        piecewise.sendall(b"\r\n")
        assert rest(piecewise) == (200, "ok\n")


def test_the_oldest_client_makes_room_for_the_next(system: otpy.System) -> None:
    with served(system, max_clients=2) as http:
        first, second = visit(http), visit(http)
        assert get(http, "/livez") == (200, "ok\n")
        assert first.recv(1) == b""
        second.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert rest(second) == (200, "ok\n")
        first.close()


def test_who_comes_and_goes_leaves_nothing_behind(system: otpy.System) -> None:
    with served(system) as http:
        for number in range(300):
            visit(http, b"GET" if number % 2 else b"").close()
        assert get(http, "/livez") == (200, "ok\n")


def test_metrics_are_made_beside_and_once_for_all_who_wait(system: otpy.System) -> None:
    with served(system, metrics=Metrics) as http:
        [metrics] = METRICS
        first = visit(http, b"GET /metrics HTTP/1.1\r\nAccept: open/metrics\r\n\r\n")
        metrics.entered.acquire()
        second = visit(http, b"GET /metrics HTTP/1.1\r\n\r\n")
        assert get(http, "/livez") == (200, "ok\n")
        metrics.opened.set()
        assert [rest(first), rest(second)] == [(200, "m 1\n")] * 2
        assert metrics.accepts == ["open/metrics"]
        metrics.error = ValueError("oops")
        assert get(http, "/metrics") == (500, "metrics: ValueError: oops\n")
    assert metrics.is_closed


def test_the_metrics_of_otpy_fit(system: otpy.System) -> None:
    pytest.importorskip("prometheus_client")
    with served(system, metrics=import_module("otpy.metrics").Metrics) as http:
        status, text = get(http, "/metrics")

    assert (status, text.splitlines()[2].startswith("otpy_info")) == (200, True)


def test_metrics_that_hang_are_late_and_hold_up_nothing(system: otpy.System) -> None:
    with served(system, metrics=Metrics) as http:
        [metrics] = METRICS
        waiting = visit(http, b"GET /metrics HTTP/1.1\r\n\r\n")
        metrics.entered.acquire()
        let_time_pass(http)
        assert rest(waiting) == (503, "metrics: late\n")
        status, late = get(http, "/metrics")
        assert (status, re.sub(r"\d+ s", "some s", late)) == (503, "metrics: late, for some s now\n")
        assert get(http, "/livez") == (200, "ok\n")
        assert metrics.accepts == [""]


def test_a_long_answer_to_a_slow_reader_is_whole(system: otpy.System) -> None:
    with served(system, metrics=Metrics) as http:
        [metrics] = METRICS
        metrics.body = b"x" * 8_000_000
        metrics.opened.set()
        slow = visit(http, b"GET /metrics HTTP/1.1\r\n\r\n")
        metrics.entered.acquire()
        assert get(http, "/livez") == (200, "ok\n")
        assert len(rest(slow)[1]) == 8_000_000


def test_a_port_that_is_taken_is_told(system: otpy.System) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        bind = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=f"HttpHealth cannot listen on {bind}: Address already in use"):
            system.start(HttpHealth(bind=bind).child())


@pytest.fixture
def port() -> Iterator[int]:
    with own_port() as port:
        yield port


def test_one_that_was_killed_gives_its_port_to_the_next(port: int, system: otpy.System) -> None:
    http = HttpHealth(bind=f"127.0.0.1:{port}")

    class Shop(otpy.Supervisor):
        max_restarts = 10

        def children(self) -> list[otpy.ChildSpec]:
            return [http.child()]

    shop = system.start(Shop)
    for _ in range(10):
        ref = system.find(f"{shop.path}/health")
        assert ref is not None
        monitor = ref.monitor()
        system.kill(ref.path)
        monitor.wait(PATIENCE)
        shop.call(otpy.Supervisor.which_children)
        assert get(http, "/livez") == (200, "ok\n")
    assert system.record(f"{shop.path}/health").restarts == 10
    shop.stop()


def test_one_that_was_killed_while_a_client_reads_slowly_gives_its_port_to_the_next(
    port: int, system: otpy.System
) -> None:
    """It closes only when that client has had its time, which may be longer than its supervisor waits for it."""
    http = HttpHealth(bind=f"127.0.0.1:{port}", metrics=Metrics)

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [http.child()]

    shop = system.start(Shop)
    [metrics] = METRICS
    metrics.body = b"x" * 8_000_000
    metrics.opened.set()
    with visit(http, b"GET /metrics HTTP/1.1\r\n\r\n"):
        metrics.entered.acquire()
        assert get(http, "/livez") == (200, "ok\n")  # so the long answer has begun
        ref = system.find(f"{shop.path}/health")
        assert ref is not None
        monitor = ref.monitor()
        system.kill(ref.path)
        monitor.wait(PATIENCE)
        shop.call(otpy.Supervisor.which_children)
        assert get(http, "/livez") == (200, "ok\n")
    assert system.record(f"{shop.path}/health").restarts == 1
    shop.stop()


def test_each_port_has_one_who_serves_it(system: otpy.System) -> None:
    with served(system) as http, pytest.raises(StartError, match="is served by t/health: each needs"):
        system.start(http.child().opts(id="other"))


@pytest.mark.parametrize("bind", ["", "9090", ":9090", "localhost", "localhost:http", "127.0.0.1:70000", None])
def test_there_is_no_address_that_is_not_named(bind: str) -> None:
    with pytest.raises(SpecError, match="an address and a port"):
        HttpHealth(bind=bind)


@pytest.mark.parametrize(
    "options",
    [
        *({"patience": seconds} for seconds in (0, float("inf"), float("nan"), 1e12)),
        *({"max_clients": number} for number in (0, 0.5, True)),
        {"stalled_after": -1.0},
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    """One that only shows when a client comes would end the server again and again, and so the program."""
    with pytest.raises(SpecError, match=f"{next(iter(options))}="):
        HttpHealth(bind="127.0.0.1:0", **options)


@pytest.mark.parametrize("size", [1, 5_000_000])
def test_who_closes_its_half_after_asking_gets_the_whole_answer(system: otpy.System, size: int) -> None:
    """As `nc -N` does, and shells that pipe a request into a socket."""
    with served(system, metrics=Metrics) as http:
        [metrics] = METRICS
        metrics.body = b"x" * size
        client = visit(http, b"GET /metrics HTTP/1.1\r\n\r\n")
        client.shutdown(socket.SHUT_WR)
        metrics.entered.acquire()
        assert get(http, "/livez") == (200, "ok\n")  # so it has seen that end
        metrics.opened.set()
        assert rest(client) == (200, "x" * size)


def test_it_ends_in_its_time_whatever_clients_do(system: otpy.System) -> None:
    with served(system, metrics=Metrics) as http:
        idle, half = visit(http), visit(http, b"GET /livez")
        waiting = visit(http, b"GET /metrics HTTP/1.1\r\n\r\n")
        METRICS[0].entered.acquire()
    for one in (idle, half, waiting):
        one.close()


def test_a_thread_that_ends_by_a_mistake_is_replaced(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    http = HttpHealth(bind="127.0.0.1:0")
    real = servings.Serving._round

    def fail(self: servings.Serving, now: float) -> None:
        monkeypatch.setattr(servings.Serving, "_round", real)
        raise ValueError("oops")

    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [http.child()]

    shop = system.start(Shop)
    ref = system.find(f"{shop.path}/health")
    assert ref is not None
    monitor = ref.monitor()
    monkeypatch.setattr(servings.Serving, "_round", fail)
    with suppress(OSError):  # the thread may be between two rounds, and end before
        visit(http).close()
    down = monitor.wait(PATIENCE)
    assert "its thread has ended: ValueError: oops" in str(down)
    shop.call(otpy.Supervisor.which_children)
    assert get(http, "/livez") == (200, "ok\n")
    shop.stop()
