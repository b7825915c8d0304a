"""Names that actors of every place take, and by which those of every place reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.testing.arrivals import PATIENCE, Arrivals
from support import deeds
from support.stage import BOOM, do, ends, run, seen
from support.steps import named

if TYPE_CHECKING:
    from support.stage import Place, Stage


@pytest.mark.report("B76", "JuliaActors/Actors.jl#22")
def test_a_name_reaches_whoever_holds_it(stage: Stage, one: Place, other: Place) -> None:
    """The same handle is good for the next incarnation, here and in the hands of another actor."""
    asker, handle = stage.start(one), stage.system.ref("it")
    for _ in range(2):
        holder = stage.start(other, name="it")
        assert do(asker, deeds.ask, handle, named(deeds.path)) == holder.path
        assert do(asker, deeds.ask_name, "it", named(deeds.path)) == holder.path
        assert do(asker, deeds.find, "it") is holder
        do(asker, deeds.tell, handle, "told")
        assert seen(holder, 1) == ["told"]
        assert handle.stop()
    assert do(asker, deeds.find, "it") is None


@pytest.mark.otp_case(28)
def test_an_actor_registers_one_name_and_no_second(stage: Stage, one: Place, other: Place) -> None:
    ref, rival = stage.start(one), stage.start(other)
    outcome = do(ref, deeds.register_two, "first", "second")
    assert outcome[:2] == ("error", "NameTakenError")
    assert stage.system.whereis("first") is ref
    assert stage.system.whereis("second") is None
    assert do(rival, deeds.attempt, deeds.take_name, "first")[:2] == ("error", "NameTakenError")
    assert stage.system.whereis("first") is ref


@pytest.mark.parametrize("end", ["kill", "stop", "exit"])
def test_a_name_is_free_when_the_end_is_seen(stage: Stage, place: Place, end: str) -> None:
    for _ in range(2):
        ref = stage.start(place)
        do(ref, deeds.take_name, "it")
        assert stage.system.whereis("it") is ref
        ends(ref, {"kill": ref.kill, "stop": ref.stop, "exit": lambda ref=ref: ref.exit(BOOM)}[end])
        assert stage.system.whereis("it") is None


def test_the_name_of_a_spec_is_there_before_init(stage: Stage, place: Place) -> None:
    notes = stage.notes()
    ref = stage.start(place, deeds.note_holder, "it", log=notes, name="it")
    assert notes.so_far() == [ref.path]


class Awaited(dict[str, Any]):
    """Who waits for which name; a test is told of each who begins to."""

    def __init__(self) -> None:
        super().__init__()
        self.arrivals: Arrivals[str] = Arrivals()

    def setdefault(self, name: str, default: Any = None) -> Any:
        self.arrivals.add(name)
        return super().setdefault(name, default)


@pytest.fixture
def awaited(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Awaited:
    made = Awaited()
    monkeypatch.setattr(stage.system, "awaited_names", made)
    return made


@pytest.mark.report("B77", "hew-lang/hew#2124")
def test_a_call_may_wait_until_somebody_holds_the_name(
    stage: Stage, awaited: Awaited, place: Place, other: Place
) -> None:
    """That one is started when the caller waits already: one that is there first is found at once."""
    waiter, notes = stage.start(place), stage.notes()
    run(waiter, deeds.wait_for_name, notes.ref, "it")
    assert awaited.arrivals.wait(1, PATIENCE) == ["it"]
    holder = stage.start(other, name="it")
    assert notes.expect(1) == [holder.path]
    assert awaited == {}


def test_it_waits_as_long_as_told(stage: Stage, place: Place) -> None:
    waiter = stage.start(place)
    outcome = do(waiter, deeds.attempt, deeds.ask_waiting, "nobody", 0.02, named(deeds.path))
    assert outcome == ("error", "NoProcError", otpy.NoProc())


@pytest.mark.parametrize("end", [otpy.Kill(), BOOM], ids=str)
def test_one_that_is_told_to_die_waits_for_no_name(
    stage: Stage, awaited: Awaited, place: Place, end: otpy.Reason
) -> None:
    waiter = stage.start(place)
    run(waiter, deeds.wait_for_name, stage.notes().ref, "it")
    assert awaited.arrivals.wait(1, PATIENCE) == ["it"]
    assert ends(waiter, lambda: waiter.exit(end)) == (otpy.Killed() if isinstance(end, otpy.Kill) else end)
    stage.system.wait_idle()
    assert awaited == {}
