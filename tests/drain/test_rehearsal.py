"""What a rehearsal sees of a system, and that it disturbs nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.rehearsal import Running
from otpy.drain import foresight, rehearsal
from otpy.drain.rehearsal import rehearsal_of
from otpy.testing import Gate
from support.doer import Doer

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.testing import VirtualClock


class Kept(Doer):
    """Takes part in drains."""

    def persist(self) -> dict[str, Any]:
        return {}

    def handle_flush(self, drain: object) -> None: ...


def nap(_: Doer, seconds: float) -> None:
    otpy.sleep(seconds)


def nothing(_: Doer) -> None: ...


def held(gate: Gate) -> Callable[[Doer], None]:
    return lambda _: gate.wait()


class Tree(otpy.Supervisor):
    """Two workers, a dynamic supervisor, and a function."""

    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Doer).opts(id="a", name="a", shutdown=1.0),
            otpy.child(Kept).opts(id="b", name="b", shutdown=otpy.BRUTAL_KILL),
            otpy.dynamic(Doer).opts(id="many", name="many"),
            otpy.child(otpy.sleep, 1e9).opts(id="f"),
        ]


def test_what_an_actor_does_and_what_waits_for_it_is_seen(timed: otpy.System, clock: VirtualClock) -> None:
    timed.start_root(otpy.child(Tree))
    a = timed.ref(otpy.name(Doer, "a"))
    for _ in range(2):
        a.cast(Doer.run, nap, 3_000.0)
    clock.advance(20.0)
    found = rehearsal_of(timed, within=30.0)
    assert [(one.level, one.path, one.by) for one in found.late] == [("late", "t/a", 22.0)]
    assert "it has been in cast run for 20 s, where it waits for sleep, at " in found.late[0].text
    assert found.hooks == (("t/b", "persist, handle_flush"),)
    assert rehearsal_of(timed, "t/b", within=30.0).late == ()
    clock.advance(6_000.0)  # nobody was disturbed
    assert rehearsal_of(timed, within=30.0).late == ()


def test_a_suspended_actor_with_a_message_never_ends(system: otpy.System) -> None:
    system.start_root(otpy.child(Tree))
    system.suspend("t/a")
    assert not rehearsal_of(system, within=30.0).is_late
    system.ref(otpy.name(Doer, "a")).cast(Doer.run, nothing)
    assert [one.path for one in rehearsal_of(system, within=30.0).late] == ["t/a"]
    system.resume("t/a")


def test_shutdown_times_are_those_of_the_specs(system: otpy.System) -> None:
    system.start_root(otpy.child(Tree))
    many = system.ref(otpy.name(otpy.DynamicSupervisor, "many"))
    for _ in range(3):
        many.call(otpy.DynamicSupervisor.start_with)
    (doubt,) = rehearsal_of(system, within=5.0).late
    assert "would be 11 s of 5 s" in doubt.text  # 1 of a, 5 of all in many, 5 of f


def test_the_pace_of_a_mailbox_is_measured_without_its_actor(system: otpy.System) -> None:
    with Gate() as first, Gate() as second:
        gates = [first, second]
        ref = system.start(Doer)
        for gate in gates:
            ref.cast(Doer.run, held(gate))
        for _ in range(8):
            ref.cast(Doer.run, nothing)
        first.reached()
        before = ref.mailbox.copy()
        assert rehearsal._begun(ref, before) == 0
        first.open()
        second.reached()
        assert rehearsal._begun(ref, before) == 1
        second.open()
        system.wait_idle()
        assert rehearsal._begun(ref, before) == 9


def test_a_zombie_is_told_with_its_place(system: otpy.System) -> None:
    with Gate() as gate:
        ref = system.start(otpy.child(Doer).opts(id="z"))
        ref.cast(Doer.run, held(gate))
        gate.reached()
        ref.kill()
        (late,) = rehearsal_of(system, within=30.0).late
    assert late.path == "t/z"
    assert "it was killed and its code still runs, at " in late.text


def test_other_parts_tell_of_their_work(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "FORESEERS", found := [])
    monkeypatch.setattr(rehearsal, "FORESEERS", found)

    @foresight.foresees
    def work(_: otpy.System) -> list[Running]:
        return [Running(path="t/a", what="job 17, mail", since=40.0)]

    system.start_root(otpy.child(Tree))
    assert [str(one) for one in rehearsal_of(system, within=30.0).late] == [
        (
            "t/a: job 17, mail has been running for 40 s, and nobody knows how long its like takes: as long again, "
            "which is 22 s too late"
        )
    ]
    assert not rehearsal_of(system, "t/many", within=30.0).is_late
    with pytest.raises(otpy.errors.NoSuchActorError):
        rehearsal_of(system, "t/nobody", within=30.0)


def test_what_is_in_flight_is_judged_by_since_when(timed: otpy.System, clock: VirtualClock) -> None:
    def carry(seconds: float) -> None:
        with otpy.in_flight():
            otpy.sleep(seconds)

    timed.start(otpy.child(carry, 100.0).opts(id="f"))
    with timed.in_flight():
        clock.advance(20.0)
        found = rehearsal_of(timed, within=25.0)
    first, second = sorted(found.late, key=lambda one: one.path)
    assert first.path.startswith("t (thread ")
    assert (second.path, second.by) == ("t/f", 5.0)
    assert second.text.startswith("what it holds in flight has been running for 20 s, and nobody knows ")
    assert [one.path for one in rehearsal_of(timed, "t/f", within=25.0).late] == ["t/f"]
    clock.advance(100.0)
    assert not rehearsal_of(timed, within=25.0).is_late
