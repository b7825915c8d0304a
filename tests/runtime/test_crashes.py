"""Whatever escapes from a handler ends that actor, and nothing else."""

from __future__ import annotations

import gc
import logging
import sqlite3
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallExitError
from otpy.events import ActorCrashed, Event
from support.doer import BOOM, Doer, flush

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import Recorder


class Odd(BaseException):
    pass


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__


class Confused(Exception):
    def __bool__(self) -> bool:
        raise ValueError

    def __eq__(self, other: object) -> bool:
        raise ValueError

    __hash__ = None  # type: ignore[assignment]


class Unreadable(Exception):
    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise KeyboardInterrupt

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise SystemExit


def raising(error: BaseException | type[BaseException]) -> Callable[[Doer], None]:
    def deed(_: Doer) -> None:
        raise error

    return deed


ERRORS = [
    ValueError("plain"),
    SystemExit(3),
    KeyboardInterrupt(),
    GeneratorExit(),
    Odd("odd"),
    StopIteration(1),
    Unspeakable(),
    Confused(),
    Unreadable(),
    RecursionError(),
    MemoryError(),
    ExceptionGroup("many", [ValueError(), Unspeakable()]),
]


@pytest.mark.otp_case(230)
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.report("A38", "Tochemey/goakt#513")
@pytest.mark.report("B49", "jodal/pykka#187")
def test_whatever_a_handler_raises_ends_its_actor_alone(
    system: otpy.System, events: Recorder, error: BaseException, place: str
) -> None:
    """In pykka that stops every actor of the program. No error's own code can prevent the report."""
    other = system.start(Doer)
    for send in ("call", "cast", "tell", "terminate"):
        ref = system.start(otpy.child(Doer).opts(place=place))  # type: ignore[typeddict-item]
        monitor = ref.monitor()
        if send == "call":
            with pytest.raises(CallExitError):
                ref.call(Doer.do, raising(error))
        elif send == "cast":
            ref.cast(Doer.run, raising(error))
        elif send == "tell":
            ref.call(Doer.do, lambda self: setattr(self, "handle_info", raising(error)))
            ref.tell("x")
        else:
            ref.call(Doer.do, lambda self: setattr(self, "terminate", raising(error)))
            ref.stop(block=False)
        reason = monitor.wait().reason
        assert isinstance(reason, otpy.Crashed)
        assert str(reason)
    assert [type(event) for event in events.events] == [ActorCrashed] * 4
    assert flush(other) == []


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, Odd, ValueError])
def test_a_listener_that_raises_harms_nobody(system: otpy.System, error: type[BaseException]) -> None:
    """The death of an actor must reach all who wait for it, whatever a handler of events does."""

    def listener(_: Event) -> None:
        raise error

    detach = system.events.attach(listener)
    ref = system.start(Doer)
    with pytest.raises(CallExitError, match="boom"):
        ref.call(Doer.do, lambda _: otpy.exit(BOOM))
    if error is not KeyboardInterrupt:
        ref.tell("a dead letter")
    else:
        with pytest.raises(KeyboardInterrupt):  # in the main thread it is somebody's Ctrl-C
            ref.tell("a dead letter")
    assert flush(system.start(Doer)) == []
    detach()


def test_a_log_that_raises_harms_nobody(system: otpy.System) -> None:
    class Broken(logging.Filter):
        def filter(self, record: logging.LogRecord) -> bool:
            raise RuntimeError

    log = logging.getLogger("otpy")
    log.setLevel(logging.ERROR)
    broken = Broken()
    log.addFilter(broken)
    try:
        with pytest.raises(CallExitError, match="boom"):
            system.start(Doer).call(Doer.do, lambda _: otpy.exit(BOOM))
    finally:
        log.removeFilter(broken)


@pytest.mark.report("A28", "pathosDev/actor-ts#916")
@pytest.mark.report("B49", "jodal/pykka#187")
def test_crashes_are_logged_by_default(system: otpy.System, caplog: pytest.LogCaptureFixture) -> None:
    """One error each, with its traceback, under stdlib logging."""
    logging.getLogger("otpy").setLevel(logging.NOTSET)
    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.cast(Doer.run, divmod, 1)
    monitor.wait()
    [record] = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert record.levelno == logging.ERROR
    assert "t/Doer (Doer) crashed during cast run(<function divmod>, 1): TypeError: " in record.getMessage()
    assert "in run\n" in record.getMessage()
    assert isinstance(record.otpy, ActorCrashed)  # type: ignore[attr-defined]  # given as `extra`


def test_an_actors_own_attributes_do_not_disturb_reports(system: otpy.System, events: Recorder) -> None:
    """A user may name a property as he likes, and it may raise."""

    class Mine(Doer):
        @property
        def kind(self) -> str:
            raise SystemExit

        @property
        def strategy(self) -> str:
            raise SystemExit

    ref = system.start(Mine)
    assert system.record("t/Mine").kind == "Mine"
    with pytest.raises(CallExitError, match="boom"):
        ref.call(Doer.do, lambda _: otpy.exit(BOOM))
    assert [event.kind for event in events.of(ActorCrashed)] == ["Mine"]


@pytest.mark.report("F155", "erlang/otp#3269")
def test_a_messages_repr_is_never_run(system: otpy.System, events: Recorder) -> None:
    """It may raise, recurse or take ten seconds."""
    ran: list[bool] = []

    class Nasty:
        def __repr__(self) -> str:
            ran.append(True)
            raise SystemExit

    ref = system.start(Doer)
    monitor = ref.monitor()
    ref.call(Doer.do, lambda self: setattr(self, "handle_info", raising(ValueError)))
    ref.tell(Nasty())
    monitor.wait()
    assert len(events.of(ActorCrashed)) == 1
    assert ran == []


def test_a_thread_error_hints_at_a_thread_of_ones_own(system: otpy.System, events: Recorder) -> None:
    connection = sqlite3.connect(":memory:")
    ref = system.start(Doer)
    with pytest.raises(CallExitError):
        ref.call(Doer.do, lambda _: connection.execute("select 1"))
    connection.close()
    [event] = events.of(ActorCrashed)
    assert 'place="thread"' in str(event)


def test_deep_recursion_in_a_handler_ends_its_actor_alone(system: otpy.System) -> None:
    def dive(self: Doer) -> None:
        dive(self)

    with pytest.raises(CallExitError, match="RecursionError"):
        system.start(Doer).call(Doer.do, dive)
    assert flush(system.start(Doer)) == []


def test_an_exit_reason_keeps_nothing_of_the_actor_alive(system: otpy.System) -> None:
    class Big:
        pass

    def fail(_: Doer) -> None:
        big = Big()
        kept.append(weakref.ref(big))
        raise ValueError(big)

    kept: list[weakref.ref[Big]] = []
    ref = system.start(Doer)
    with pytest.raises(CallExitError):
        ref.call(Doer.do, fail)
    system.wait_idle()
    gc.collect()
    assert kept[0]() is None
    assert ref.reason is not None


def test_many_actors_crash_at_once(system: otpy.System) -> None:
    refs = [system.start(Doer) for _ in range(100)]
    barrier = threading.Barrier(1)
    for ref in refs:
        ref.cast(Doer.run, lambda _: (barrier.wait() and None) or 1 // 0)
    system.wait_idle()
    assert not any(ref.is_alive() for ref in refs)
    assert system.alive == 0
