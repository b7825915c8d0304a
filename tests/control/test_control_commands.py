"""The control server: commands, which may take long, keep nobody waiting, and none is lost."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from otpy.control.limits import Limits
from otpy.control.verbs import Verb, VerbTable
from support.control import PATIENT, RawClient, request

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.control.server import ControlServer
    from support.fake_system import FakeSystem

    Serve = Callable[..., ControlServer]


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
