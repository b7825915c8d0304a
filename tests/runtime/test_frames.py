"""The frames of another thread."""

from __future__ import annotations

import gc
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest

from otpy.runtime.frames import frames_of

if TYPE_CHECKING:
    from collections.abc import Callable


def deep(number: int, then: Callable[[], object]) -> None:
    if number:
        deep(number - 1, then)
    else:
        then()


def in_a_thread(then: Callable[[int], object], depth: int = 3) -> None:
    """Do that while another thread, of this number, is so deep."""
    begun, go = threading.Event(), threading.Event()
    thread = threading.Thread(target=deep, args=(depth, lambda: (begun.set(), go.wait())))
    thread.start()
    begun.wait()
    try:
        then(thread.ident or 0)
    finally:
        go.set()
        thread.join()


def test_they_come_the_outermost_first() -> None:
    names: list[str] = []

    in_a_thread(lambda ident: names.extend(frame.f_code.co_name for frame in frames_of(ident)))

    assert names[:3] == ["_bootstrap", "_bootstrap_inner", "run"]
    assert names[3:9] == ["deep", "deep", "deep", "deep", "<lambda>", "wait"]


def test_a_thread_that_is_not_there_has_none() -> None:
    assert frames_of(0) == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there it happens between two steps of Python")
def test_nothing_is_collected_in_the_middle_of_them() -> None:
    """CPython 3.11 would run finalisers where it makes a frame, and others meanwhile: it has crashed of it."""
    where: set[str] = set()

    def note(phase: str, _: dict[str, Any]) -> None:
        where.add(f"{phase} {sys._getframe(1).f_code.co_name}")

    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1, 1, 100)
    try:
        in_a_thread(lambda ident: [frames_of(ident) for _ in range(20)], depth=200)
        assert gc.isenabled()
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(note)
    assert where
    assert not {"start _walk", "stop _walk"} & where


def test_a_collector_that_was_off_stays_so() -> None:
    gc.disable()
    try:
        assert frames_of(threading.get_ident())
        assert not gc.isenabled()
    finally:
        gc.enable()
