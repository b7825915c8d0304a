"""An otpy actor is a pykka actor for its users; and a watch on the insides of pykka that otpy uses."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any

import pykka
import pytest
from pykka import messages
from pykka._envelope import Envelope

import otpy
from otpy.errors import CallExitError, NoProcError
from otpy.events import ActorCrashed
from otpy.runtime import pykka as insides
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.testing import Recorder


class Plain(otpy.Actor):
    """Written as pykka's users write actors."""

    def __init__(self, start: int = 0) -> None:
        super().__init__()
        self.number = start
        self.log: list[str] = []

    def on_start(self) -> None:
        self.log.append("on_start")

    def on_stop(self) -> None:
        LOG.append("on_stop")

    def on_receive(self, message: Any) -> Any:
        self.log.append(message)
        return f"got {message}"

    def add(self, number: int) -> int:
        self.number += number
        return self.number


LOG: list[str] = []


@pytest.fixture(autouse=True)
def no_pykka_actor_left() -> Iterator[None]:
    """No otpy actor enters pykka's registry."""
    LOG.clear()
    yield
    assert pykka.ActorRegistry.get_all() == []


def test_an_actor_written_for_pykka_runs(system: otpy.System) -> None:
    ref = system.start(Plain, 40)
    ref.tell("a")
    assert ref.ask("b") == "got b"
    assert ref.proxy().log.get() == ["on_start", "a", "b"]
    assert ref.proxy().add(2).get() == 42
    assert pykka.ActorRegistry.get_all() == []
    assert ref.stop() is True
    assert LOG == ["on_stop"]


def test_a_ref_is_a_pykka_ref(system: otpy.System) -> None:
    ref = system.start(Doer)
    assert isinstance(ref, pykka.ActorRef)
    assert isinstance(ref.actor, pykka.Actor)
    assert ref.actor_class is Doer
    assert ref.actor_urn == ref.actor.actor_urn != system.start(Doer).actor_urn
    assert ref.is_alive()
    assert not ref.actor_stopped.is_set()
    assert not ref.actor_stopped.wait(0)
    assert ref.stop() is True
    assert ref.actor_stopped.is_set()
    assert ref.actor_stopped.wait(0)


@pytest.mark.report("B61", "jodal/pykka#3")
def test_a_dead_ref_says_so(system: otpy.System) -> None:
    """It raises in pykka. A tell to the dead is silent here, as in OTP."""
    ref = system.start(Doer)
    ref.stop()
    assert ref.is_alive() is False
    assert ref.stop() is False
    ref.tell("x")
    with pytest.raises(pykka.ActorDeadError):
        ref.proxy()


def test_a_proxy_reads_writes_and_calls(system: otpy.System) -> None:
    ref = system.start(Doer)
    proxy = ref.proxy()
    proxy.colour = "red"
    assert proxy.colour.get() == "red"
    assert proxy.do(lambda self: self.colour).get() == "red"
    proxy.do.defer(lambda self: self.log.append("deferred"))
    assert flush(ref) == ["deferred"]


def test_a_proxy_sees_a_value_that_is_neither_true_nor_false(system: otpy.System) -> None:
    """As an array of numpy, whose truth is an error."""

    class Neither:
        def __bool__(self) -> bool:
            raise ValueError

    ref = system.start(Doer)
    ref.proxy().do.defer(lambda _: Neither())
    assert isinstance(ref.proxy().do(lambda _: Neither()).get(), Neither)
    assert ref.is_alive()


@pytest.mark.report("B56", "jodal/pykka#48")
def test_an_actor_may_keep_a_proxy_to_itself(system: otpy.System) -> None:
    """Introspection must not follow it."""
    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: setattr(self, "me", self.ref.proxy()))
    assert ref.proxy().log.get(timeout=5) == []
    assert system.record(ref.path).kind == "Doer"


def test_futures_work_as_in_pykka(system: otpy.System) -> None:
    refs = [system.start(Doer) for _ in range(3)]
    futures = [ref.ask(number, block=False) for number, ref in enumerate(refs)]
    assert pykka.get_all(futures, timeout=5) == [0, 1, 2]
    assert futures[0].map(lambda number: number + 10).get(timeout=5) == 10
    assert futures[0].get(timeout=5) == 0


@pytest.mark.report("D130", "dask/distributed#5708")
def test_several_threads_may_wait_for_one_future(system: otpy.System) -> None:
    kept: list[otpy.Caller] = []
    ref = system.start(Doer)
    future = ref.ask(lambda _, caller: kept.append(caller) or otpy.NoReply(), block=False)
    seen: list[object] = []
    threads = [threading.Thread(target=lambda: seen.append(future.get(timeout=5))) for _ in range(3)]
    for thread in threads:
        thread.start()
    flush(ref)
    with pytest.raises(pykka.Timeout):
        future.get(timeout=0.01)  # others who wait do not prolong it
    kept[0].reply("both")
    for thread in threads:
        thread.join(30)
    assert seen == ["both"] * 3


@pytest.mark.report(
    "D128", "ray-project/ray#459", "dask/distributed#1110", "dask/distributed#3196", "dask/distributed#301"
)
def test_a_future_fails_with_the_server(system: otpy.System) -> None:
    ref = system.start(Doer)
    future = ref.ask(lambda *_: otpy.exit(BOOM), block=False)
    with pytest.raises(CallExitError):
        future.get(timeout=5)
    with pytest.raises(NoProcError):
        ref.ask("x", block=False).get(timeout=5)


def test_a_future_that_somebody_else_has_set_harms_nobody(system: otpy.System) -> None:
    ref = system.start(Doer)
    future = ref.ask(lambda *_: "late", block=False)
    try:
        future.set("early")
    except Exception:
        future = None  # the server was first; the next line asserts what matters
    assert flush(ref) == []


def test_pykkas_stop_message_stops(system: otpy.System) -> None:
    ref = system.start(Doer)
    ref.tell(messages._ActorStop())
    assert ref.monitor().wait().reason in (otpy.Normal(), otpy.NoProc())
    ref = system.start(Doer)
    assert ref.ask(messages._ActorStop()) is None
    assert not ref.is_alive()


def test_envelopes_may_be_put_by_hand(system: otpy.System) -> None:
    ref = system.start(Doer)
    ref.actor_inbox.put(Envelope("told"))
    future: pykka.Future[Any] = pykka.ThreadingFuture()
    ref.actor_inbox.put(Envelope("asked", reply_to=future))
    assert future.get(timeout=5) == "asked"
    assert flush(ref) == ["told"]


def test_an_actor_stops_itself_as_in_pykka(system: otpy.System) -> None:
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.call(Doer.do, lambda self: self.stop())
    assert monitor.wait().reason == otpy.Normal()


@pytest.mark.report("B50", "jodal/pykka#63")
@pytest.mark.parametrize("how", ["future", "defer", "ask"])
def test_a_failure_that_nobody_waits_for_is_a_crash_like_any_other(
    system: otpy.System, events: Recorder, how: str
) -> None:
    """The future of a proxy's call is dropped unread."""
    ref = system.start(Doer)
    monitor = ref.monitor()
    match how:
        case "future":
            ref.proxy().do(lambda _: otpy.exit(BOOM))
        case "defer":
            ref.proxy().do.defer(lambda _: otpy.exit(BOOM))
        case _:
            ref.ask(lambda *_: otpy.exit(BOOM), block=False)
    assert monitor.wait().reason == BOOM
    assert [event.reason for event in events.of(ActorCrashed)] == [BOOM]


# Where pykka changes and these fail, otpy/runtime/pykka.py and its users have to follow.


def test_pykka_still_has_the_insides_that_otpy_uses() -> None:
    assert issubclass(messages._ActorStop, object)
    assert set(inspect.signature(messages.ProxyCall).parameters) == {"attr_path", "args", "kwargs"}
    assert set(inspect.signature(messages.ProxyGetAttr).parameters) == {"attr_path"}
    assert set(inspect.signature(messages.ProxySetAttr).parameters) == {"attr_path", "value"}
    assert list(inspect.signature(insides.get_attr_directly).parameters) == ["root", "attr_path"]


def test_pykkas_refs_still_have_the_attributes_that_otpy_makes_on_first_use() -> None:
    source = inspect.getsource(pykka.ActorRef)
    for name in ("_actor_weakref", "actor_class", "actor_urn", "actor_inbox", "actor_stopped"):
        assert f"self.{name}" in source
    public = {name for name in vars(pykka.ActorRef) if not name.startswith("_")}
    assert public == {"is_alive", "tell", "ask", "stop", "proxy"}
    assert set(inspect.signature(pykka.ActorRef.ask).parameters) == {"self", "message", "block", "timeout"}
    assert set(inspect.signature(pykka.ActorRef.stop).parameters) == {"self", "block", "timeout"}
    assert not hasattr(pykka.ActorRef, "__slots__") or pykka.ActorRef.__slots__ == ()


def test_pykkas_actors_still_have_the_hooks_that_otpy_overrides() -> None:
    expected = {
        "on_start",
        "on_stop",
        "on_failure",
        "on_receive",
        "_create_actor_inbox",
        "_create_future",
        "_start_actor_loop",
    }
    assert expected <= set(vars(pykka.Actor))
    assert {"_handle_receive", "actor_stopped", "actor_ref", "stop"} <= set(dir(pykka.Actor)) | {
        "actor_stopped",
        "actor_ref",
    }
    assert "self._actor_ref" in inspect.getsource(pykka.Actor) or "self.actor_ref" in inspect.getsource(pykka.Actor)


def test_pykkas_futures_are_still_set_once() -> None:
    future: pykka.Future[int] = pykka.ThreadingFuture()
    future.set(1)
    assert future.get(timeout=0) == 1
    failed: pykka.Future[int] = pykka.ThreadingFuture()
    failed.set_exception((ValueError, ValueError("x"), None))
    with pytest.raises(ValueError, match="x"):
        failed.get(timeout=0)
