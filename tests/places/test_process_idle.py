"""The place `process`: what is at rest when `wait_idle` returns."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import otpy
from otpy.places.process.child import Child
from otpy.places.process.origin import Origin
from otpy.places.process.output import Pipe
from otpy.places.process.ports import ports_of
from otpy.testing import Gate
from otpy.testing.arrivals import PATIENCE, Arrivals
from support.far import Far
from support.processes import children_of, descriptors
from support.wild import Wild

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pytest


def far() -> otpy.ChildSpec:
    return otpy.child(Far).opts(place="process")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A helper that tells nothing for a while."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def is_idle(system: otpy.System) -> bool:
    try:
        system.wait_idle(timeout=0.0)
    except TimeoutError:
        return False
    return True


def test_an_actor_that_was_killed_is_waited_for_until_nothing_is_left_of_its_process(farm: otpy.System) -> None:
    first = farm.start(far())
    farm.start(far()).stop()
    farm.wait_idle()
    fds, helper = descriptors(), first.call(Far.where)[1]
    ref = farm.start(far())
    pid = ref.call(Far.where)[0]
    farm.wait_idle()
    assert descriptors() > fds
    with stopped(helper):
        ref.kill()
        assert ref.reason == otpy.Killed()
        assert not is_idle(farm)
    farm.wait_idle()
    assert descriptors() == fds
    assert pid not in children_of(helper)


def test_one_that_has_said_its_last_word_is_waited_for(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end is on its way, and so are the messages about it."""
    heard: Arrivals[str] = Arrivals()
    monkeypatch.setattr(Child, "expect_end", lambda child: heard.add(child.path))
    ref = farm.start(far())
    with stopped(ref.call(Far.where)[1]):
        assert ref.stop(block=False)
        assert heard.wait(1, PATIENCE) == [ref.path]
        assert not is_idle(farm)
    farm.wait_idle()
    assert not ref.is_alive()


def test_a_process_that_is_being_made_is_waited_for(farm: otpy.System) -> None:
    ref = farm.start(far())
    farm.wait_idle()
    with stopped(ref.call(Far.where)[1]):
        ports_of(farm).add_spare(Origin.of(Wild, (), {}))
        assert not is_idle(farm)
    farm.wait_idle()
    assert ports_of(farm).spares.by_module[Wild.__module__].pid is not None


def test_the_last_line_that_was_printed_is_logged(farm: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    ref = farm.start(far())
    with Gate() as gate:
        monkeypatch.setattr(Pipe, "write_rest", lambda _: gate.wait())
        ref.kill()
        gate.reached()
        assert not is_idle(farm)
    farm.wait_idle()
