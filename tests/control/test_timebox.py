"""Foreign code that makes text is given a time and a thread of its own, and then up."""

from __future__ import annotations

import threading

import pytest

from otpy.core.text import safe_repr
from otpy.runtime.timebox import TimeBox


def test_a_quick_answer_is_taken() -> None:
    assert TimeBox()(lambda: "quick") == "quick"


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit(), RecursionError()])
def test_what_it_raises_stays_inside(raised: BaseException) -> None:
    def fail() -> str:
        raise raised

    assert TimeBox()(fail).startswith(f"<raised {type(raised).__name__}")


def test_an_answer_that_is_no_text_is_an_error() -> None:
    assert (
        TimeBox()(lambda: 3) == "<raised TypeError: descriptor '__str__' requires a 'str' object but received a 'int'>"
    )


@pytest.mark.report("F155", "erlang/otp#3269")
def test_a_repr_that_recurses_for_ever_is_an_error() -> None:
    class Recursive:
        def __repr__(self) -> str:
            return repr(self)

    assert "<raised RecursionError" in safe_repr(Recursive(), box=TimeBox())


@pytest.mark.report("F155", "erlang/otp#3269")
def test_a_slow_one_is_left_behind_and_the_number_of_those_is_bounded() -> None:
    release = threading.Event()
    box = TimeBox(seconds=0.01, max_threads=2)

    def slow() -> str:
        release.wait()
        return "late"

    first = [box(slow) for _ in range(3)]
    release.set()

    assert first == ["<took longer than 0.01 s>"] * 2 + ["<not asked: earlier ones still run>"]


def test_a_place_is_free_again_after_the_answer() -> None:
    box = TimeBox(max_threads=1)

    assert [box(lambda: "a"), box(lambda: "b")] == ["a", "b"]
