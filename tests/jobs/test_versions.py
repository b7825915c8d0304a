"""Two versions of a program on one store: the active one leads and works, the other one drains, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.errors import SpecError
from otpy.events import LeaderElected, LeaderLost, LeaderResigned
from otpy.jobs.errors import NoSuchVersionError
from otpy.testing import Gate

from .fleet import DOERS, LEASE, ONE, Fleet, held

if TYPE_CHECKING:
    from collections.abc import Callable

    from .pair import Pair


def test_the_active_version_leads_and_works_and_the_other_one_drains(fleet: Callable[..., Fleet], gate: Gate) -> None:
    """Blue to green, and back: what was begun is ended by who has begun it."""
    kind = held(gate)
    two = fleet(1, [kind], crews=ONE, version="blue")
    two.begin("b", version="green")
    two.activate("blue")
    assert two.leads() == ["a"]
    two.client("b").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(2.0)
    assert two.running() == {"a": 1}

    two.activate("green")
    assert two.leads() == ["b"]
    assert [(event.is_well, event.why) for event in two.told("a", LeaderResigned)] == [
        (True, "version green is active")
    ]
    assert two.told("a", LeaderLost) == []
    assert two.running() == {"a": 1, "b": 1}

    gate.open()
    two.clock.advance(1.0)
    assert two.rows("state, attempt") == [("done", 1), ("done", 1)]
    green = two.client("a").enqueue(kind.new())
    blue = two.client("b").enqueue(kind.new().opts(version="blue"))
    two.clock.advance(2.0)
    assert DOERS[green.id] == "b"
    assert DOERS[blue.id] == "a"

    two.activate("blue")
    assert two.leads() == ["a"]
    again = two.client("b").enqueue(kind.new())
    two.clock.advance(2.0)
    assert DOERS[again.id] == "a"
    assert [event.epoch for event in two.told("a", LeaderElected)] == [1, 3]


def test_with_no_active_version_all_work(fleet: Callable[..., Fleet], gate: Gate) -> None:
    kind = held(gate)
    two = fleet(1, [kind], crews=ONE, version="blue")
    two.begin("b", version="green")
    two.activate("red")
    two.client("a").enqueue_all([kind.new() for _ in range(2)])
    two.clock.advance(LEASE)
    assert (two.running(), two.leads()) == ({}, [])
    two.activate(None)
    two.clock.advance(LEASE)
    assert two.running() == {"a": 1, "b": 1}
    assert len(two.leads()) == 1


def test_a_version_that_nobody_has_is_activated_only_by_force(fleet: Callable[..., Fleet]) -> None:
    jobs = fleet(2, [held(Gate())], version="blue").client("a")
    with pytest.raises(NoSuchVersionError, match=r"no program .* has the version 'blu': did you mean 'blue'\?"):
        jobs.activate("blu")
    with pytest.raises(SpecError, match="5: a text, or None"):
        jobs.activate(5)  # type: ignore[arg-type]  # as somebody does who checks nothing
    assert jobs.active() is None
    assert [jobs.activate("blue"), jobs.activate("red", force=True), jobs.activate(None)] == [None, "blue", "red"]


def test_on_a_file_who_leads_is_of_the_active_version(make: Callable[..., Pair]) -> None:
    two = make({"version": "blue"}, {"version": "green"})
    assert two.client(1).hosts() == []
    with pytest.raises(NoSuchVersionError, match="none has any"):
        two.client(1).activate("green")
    two.client(1).activate("green", force=True)
    two.clock.advance(3.0)
    assert two.leads() == ["b"]
    two.client(1).activate("blue", force=True)
    two.clock.advance(3.0)
    assert two.leads() == ["a"]
    assert [event.is_well for event in two.told(1, LeaderResigned)] == [True]
