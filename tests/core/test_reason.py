"""Exit reasons: values that compare, that read as text, and that keep nothing alive."""

from __future__ import annotations

import gc
import weakref

import pytest

from otpy.core.frames import MAX_FRAMES, frames_of
from otpy.core.reason import (
    MAX_CAUSES,
    BadReturn,
    Crashed,
    Exit,
    Exited,
    FailedChild,
    Kill,
    Killed,
    NoProc,
    Normal,
    Reason,
    RestartLimit,
    Shutdown,
    Signalled,
    TimedOut,
    check_reason,
)


def crashed_by(work: object) -> Crashed:
    try:
        work()  # type: ignore[operator]
    except BaseException as error:
        return Crashed.of(error)
    raise AssertionError


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (Normal(), "normal"),
        (Shutdown(), "shutdown"),
        (Shutdown("asked"), "shutdown: asked"),
        (Kill(), "kill"),
        (Killed(), "killed"),
        (NoProc(), "noproc"),
        (TimedOut(), "timed out"),
        (Exit(("why", 3)), "exit: ('why', 3)"),
        (BadReturn("'zz'"), "bad return value: 'zz'"),
        (Crashed("ValueError", "boom"), "ValueError: boom"),
        (Crashed("KeyboardInterrupt", ""), "KeyboardInterrupt"),
        (
            Shutdown(RestartLimit("shop", "feed", 3, 5.0, Killed())),
            "shutdown: shop reached the restart limit of 3 restarts in 5 s with child feed (killed)",
        ),
        (Exited(3), "its process ended with exit code 3"),
        (Signalled(11), "its process was killed by SIGSEGV (segmentation fault)"),
        (Signalled(24), "its process was killed by SIGXCPU (CPU time limit exceeded)"),
        (Signalled(9), "its process was killed by SIGKILL: by the kernel's out-of-memory killer, or somebody outside"),
        (Signalled(9, "somebody outside"), "its process was killed by SIGKILL: by somebody outside"),
        (Signalled(99), "its process was killed by signal 99"),
        (Shutdown(FailedChild("feed", Exit(1))), "shutdown: child feed did not start: exit: 1"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_reads_as_text(reason: Reason, text: str) -> None:
    assert str(reason) == text


def test_equal_reasons_are_one() -> None:
    assert {Shutdown("a"), Shutdown("a"), Exit(1), Exit(1), Normal(), Normal()} == {Shutdown("a"), Exit(1), Normal()}
    assert Shutdown() != Normal()


class Awkward:
    def __repr__(self) -> str:
        raise RuntimeError("no repr today")


def test_term_whose_repr_raises_harms_nobody() -> None:
    assert "Awkward" in str(Exit(Awkward()))


def test_crash_keeps_where_it_came_from_and_what_led_to_it() -> None:
    def work() -> None:
        try:
            raise KeyError("first")
        except KeyError as error:
            raise ValueError("second") from error

    reason = crashed_by(work)
    assert (reason.type, reason.text) == ("ValueError", "second")
    assert reason.frames[-1].function == "work"
    assert reason.cause is not None
    assert reason.cause.type == "KeyError"
    lines = reason.traceback.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert "which led to:" in lines
    assert lines[-1] == "ValueError: second"
    assert '    raise ValueError("second") from error' in lines


def test_a_traceback_of_otpys_own_frames_alone_keeps_the_innermost() -> None:
    """As of a request with arguments that its method does not take."""
    with pytest.raises(TypeError) as caught:
        check_reason("here", None)
    whole = caught.value.__traceback__
    assert whole is not None
    assert [frame.function for frame in frames_of(whole.tb_next)] == ["check_reason"]


def test_the_password_of_an_address_in_an_exceptions_text_is_hidden() -> None:
    """As drivers of databases put it there."""
    error = ConnectionError("no route to postgresql://shop:s3cret@db.example/shop")

    assert Crashed.of(error).text == "no route to postgresql://shop:<hidden>@db.example/shop"


def test_suppressed_cause_is_left_out() -> None:
    def work() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second") from None

    assert crashed_by(work).cause is None


def test_deep_tracebacks_and_long_chains_are_bounded() -> None:
    def deep(levels: int) -> None:
        if levels:
            deep(levels - 1)
        raise ValueError("deep")

    def chain(levels: int) -> None:
        try:
            if levels:
                chain(levels - 1)
        finally:
            raise ValueError(str(levels))

    assert len(crashed_by(lambda: deep(100)).frames) == MAX_FRAMES
    reason, length = crashed_by(lambda: chain(30)), 1
    while reason.cause is not None:
        reason, length = reason.cause, length + 1
    assert length == MAX_CAUSES


def test_crash_keeps_nothing_alive() -> None:
    """Decision 6: no live traceback, which would keep the dead incarnation's state."""

    class State: ...

    def work() -> None:
        state = State()
        watched.append(weakref.ref(state))
        raise ValueError("boom")

    watched: list[weakref.ref[State]] = []
    reason = crashed_by(work)
    gc.collect()
    assert watched[0]() is None
    assert reason.text == "boom"
