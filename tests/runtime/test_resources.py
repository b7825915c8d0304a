"""`self.use`: what an incarnation entered is closed when it ends, in reverse, whatever the end."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import StartError
from otpy.testing import Gate, Probe
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LOG: list[object] = []


@pytest.fixture(autouse=True)
def empty_log() -> None:
    LOG.clear()


@contextmanager
def resource(name: str, at_exit: Callable[[], object] | None = None) -> Iterator[str]:
    LOG.append(f"+{name}")
    yield name
    if at_exit is not None:
        at_exit()
    LOG.append(f"-{name}")


def use_two(self: Doer) -> None:
    assert self.use(resource("a")) == "a"
    self.use(resource("b"))


OPENED_AND_CLOSED = ["+a", "+b", "-b", "-a"]

ENDS: dict[str, Callable[[otpy.Ref[Doer]], object]] = {
    "stop": lambda ref: ref.stop(),
    "crash": lambda ref: ref.cast(Doer.run, lambda _: 1 // 0),
    "exit signal": lambda ref: ref.exit(BOOM),
    "kill": lambda ref: ref.kill(),
    "own kill": lambda ref: ref.cast(Doer.run, lambda self: self.ref.kill() and None),
}


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("place", ["pool", "thread"])
def test_resources_are_closed_in_reverse_whatever_the_end(system: otpy.System, end: str, place: str) -> None:
    ref = system.start(otpy.child(Doer, deed=use_two).opts(place=place))
    ENDS[end](ref)
    system.wait_idle()
    assert not ref.is_alive()
    assert LOG == OPENED_AND_CLOSED


@pytest.mark.parametrize("outcome", [otpy.Ignore(), otpy.Stop(BOOM), otpy.Fail(BOOM), "bad"])
def test_resources_of_a_failed_init_are_closed(system: otpy.System, outcome: object) -> None:
    with pytest.raises(StartError):
        system.start(Doer, deed=lambda self: use_two(self) or outcome)
    assert LOG == OPENED_AND_CLOSED


def test_resources_are_closed_before_anybody_hears_of_the_end(system: otpy.System) -> None:
    probe = Probe(system)
    ref = system.start(Doer, deed=use_two)
    probe.monitor(ref)
    ref.cast(Doer.run, lambda _: 1 // 0)
    probe.expect(1)
    assert LOG == OPENED_AND_CLOSED


def test_a_zombies_resources_are_closed_when_its_code_returns(system: otpy.System) -> None:
    with Gate() as gate:
        ref = system.start(Doer, deed=use_two)
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        ref.kill()
        assert LOG == ["+a", "+b"]
    system.wait_idle()
    assert LOG == OPENED_AND_CLOSED


def test_one_that_fails_to_close_keeps_none_of_the_others_open(system: otpy.System) -> None:
    def use_three(self: Doer) -> None:
        self.use(resource("a"))
        self.use(resource("bad", lambda: 1 // 0))
        self.use(resource("worse", lambda: (_ for _ in ()).throw(SystemExit)))

    system.start(Doer, deed=use_three).stop()
    assert LOG == ["+a", "+bad", "+worse", "-a"]


def test_a_resource_that_fails_to_open_is_the_actors_failure(system: otpy.System) -> None:
    @contextmanager
    def broken() -> Iterator[None]:
        raise OSError("no such device")
        yield

    with pytest.raises(StartError, match="no such device"):
        system.start(Doer, deed=lambda self: self.use(resource("a")) and self.use(broken()))
    assert LOG == ["+a", "-a"]


VARIABLE: ContextVar[str] = ContextVar("VARIABLE")


@pytest.mark.parametrize("end", ENDS)
def test_resources_are_closed_in_the_context_they_were_opened_in(system: otpy.System, end: str) -> None:
    """A token of a ContextVar is only good in its own context: decimal, structlog and others rely on that."""

    @contextmanager
    def bound() -> Iterator[None]:
        token = VARIABLE.set("mine")
        yield
        VARIABLE.reset(token)
        LOG.append("reset")

    ref = system.start(Doer, deed=lambda self: self.use(bound()))
    ENDS[end](ref)
    system.wait_idle()
    assert LOG == ["reset"]


@pytest.mark.parametrize("end", ["stop", "crash", "exit signal"])
def test_closing_a_resource_may_call_other_actors(system: otpy.System, end: str) -> None:
    """It is the last thing the actor does while it is alive."""
    server = system.start(Doer)

    @contextmanager
    def checked_out() -> Iterator[None]:
        yield
        server.call(Doer.do, lambda self: self.log.append("returned"))

    ref = system.start(Doer, deed=lambda self: self.use(checked_out()))
    ENDS[end](ref)
    system.wait_idle()
    assert flush(server) == ["returned"]


def test_resources_are_listed_while_they_are_open(system: otpy.System) -> None:
    ref = system.start(Doer, deed=use_two)
    assert system.record(ref.path).resources == ("_GeneratorContextManager",) * 2
