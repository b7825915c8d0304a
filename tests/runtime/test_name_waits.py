"""Calls by name that wait until somebody holds it: as long as they were told, and no longer than they live."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import CallError, CallExitError, NoProcError
from otpy.runtime import name_wait
from otpy.testing import explore
from support.doer import AsyncDoer, Doer, flush

if TYPE_CHECKING:
    from otpy.testing import VirtualClock, VirtualSystem

IT = otpy.name(Doer, "it")


class Tree(otpy.Supervisor):
    """A holder of the name that is started again after a second."""

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Doer).opts(id="it", name=IT, backoff=otpy.Backoff(first=1.0, jitter=0.0))]


def ask(client: otpy.Ref[Any], handle: otpy.NamedRef[Doer]) -> None:
    """Have an actor call by name, or await the call; its log has the answer, or the error."""

    def note(self: Doer, error: BaseException) -> None:
        self.log.append("nobody" if isinstance(error, NoProcError) else "it ended")

    def call(self: Doer) -> None:
        try:
            self.log.append(handle.call(Doer.do, number))
        except CallExitError as error:
            note(self, error)

    async def acall(self: Doer) -> None:
        try:
            self.log.append(await handle.acall(Doer.do, number))
        except CallExitError as error:
            note(self, error)

    client.cast(Doer.run, acall if client.actor_class is AsyncDoer else call)


def number(it: Doer) -> int:
    return it.ref.number


BOTH = pytest.mark.parametrize("kind", [Doer, AsyncDoer])


@pytest.mark.report("B77", "hew-lang/hew#2124")
@BOTH
def test_a_call_in_the_restart_window_waits_when_told_to(
    timed: otpy.System, clock: VirtualClock, kind: type[Doer]
) -> None:
    timed.start_root(otpy.child(Tree))
    handle, (patient, hasty) = timed.ref(IT), (timed.start(kind), timed.start(kind))
    handle.kill()
    timed.wait_idle()
    ask(patient, handle.within(5.0, wait_for_name=2.0))
    ask(hasty, handle)
    timed.wait_idle()
    assert timed.record(patient.path).waiting == "name 'it'"
    assert flush(hasty) == ["nobody"]
    clock.advance(1.0)
    holder = handle.whereis()
    assert holder is not None
    assert flush(patient) == [holder.number]
    assert timed.awaited_names == {}


@BOTH
def test_it_waits_as_long_as_told_on_the_systems_clock(
    timed: otpy.System, clock: VirtualClock, kind: type[Doer]
) -> None:
    client = timed.start(kind)
    ask(client, timed.ref(IT).within(None, wait_for_name=2.0))
    clock.advance(1.9)
    assert timed.record(client.path).waiting == "name 'it'"
    clock.advance(0.1)
    assert flush(client) == ["nobody"]
    assert (timed.awaited_names, timed.timers.pending()) == ({}, [])


@BOTH
def test_all_who_wait_are_woken_by_whoever_takes_the_name(timed: otpy.System, kind: type[Doer]) -> None:
    clients = [timed.start(kind) for _ in range(20)]
    other = timed.start(Doer)
    for client in clients:
        ask(client, timed.ref(IT).within(5.0, wait_for_name=None))
    timed.wait_idle()
    other.call(Doer.do, lambda self: self.register("other"))
    holder = timed.start(Doer)
    holder.call(Doer.do, lambda self: self.register("it"))
    assert [flush(client) for client in clients] == [[holder.number]] * 20


@BOTH
@pytest.mark.parametrize("end", [otpy.Kill(), otpy.Exit("boom")])
def test_one_that_is_told_to_die_waits_no_longer(timed: otpy.System, end: otpy.Reason, kind: type[Doer]) -> None:
    client = timed.start(kind)
    ask(client, timed.ref(IT).within(5.0, wait_for_name=60.0))
    timed.wait_idle()
    client.exit(end)
    timed.wait_idle()
    assert not client.is_alive()
    assert (timed.awaited_names, timed.zombies(), timed.timers.pending()) == ({}, [], [])


def test_one_that_keeps_the_name_from_being_taken_waits_in_vain(timed: otpy.System, clock: VirtualClock) -> None:
    """Nobody knows who would take it, so this circle is seen by nobody; the time ends it."""
    seen: list[object] = []

    def wait(self: Doer) -> None:
        with pytest.raises(NoProcError):
            self.system.ref(IT).within(5.0, wait_for_name=3.0).call(Doer.read)
        seen.append(clock.now())

    class Knot(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer, deed=wait).opts(id="a"), otpy.child(Doer).opts(name=IT)]

    begun = clock.now()
    starter = timed.start(Doer)
    starter.cast(Doer.run, lambda self: self.system.start(Knot))
    timed.wait_idle()
    clock.advance(3.0)
    assert seen == [begun + 3.0]
    assert timed.whereis(IT) is not None


@pytest.mark.parametrize("taken", [True, False])
def test_a_thread_outside_waits_too(system: otpy.System, *, taken: bool) -> None:
    """And not for a system that has stopped."""
    outcome: list[object] = []
    waits = threading.Event()

    class Watched(dict[str, Any]):
        def setdefault(self, *args: Any) -> Any:
            waits.set()
            return super().setdefault(*args)

    system.awaited_names = Watched()

    def wait() -> None:
        try:
            outcome.append(system.ref(IT).within(5.0, wait_for_name=60.0).call(Doer.read))
        except NoProcError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    assert waits.wait(10.0)
    if taken:
        system.start(otpy.child(Doer).opts(name=IT))
    else:
        system.close()
    thread.join(10.0)
    assert [one if one == [] else type(one) for one in outcome] == [[] if taken else NoProcError]


def test_virtual_time_that_stands_still_is_no_endless_wait(timed: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_wait, "STANDSTILL", 0.01)
    with pytest.raises(CallError, match="virtual time stands still"):
        timed.ref(IT).within(5.0, wait_for_name=1.0).call(Doer.read)
    assert (timed.awaited_names, timed.timers.pending()) == ({}, [])


def test_no_call_by_name_in_any_order_of_turns_meets_nobody() -> None:
    """Whoever waits long enough is answered by one holder or the next, however often it is killed."""

    def scenario(system: VirtualSystem) -> None:
        system.start_root(otpy.child(Tree))
        handle = system.ref(IT)
        clients = [system.start(Doer) for _ in range(3)]
        for client in clients:
            ask(client, handle.within(5.0, wait_for_name=10.0))
        handle.kill()
        clients[0].kill()
        for client in clients[1:]:
            ask(client, handle.within(5.0, wait_for_name=10.0))
        assert isinstance(handle.within(5.0, wait_for_name=10.0).call(Doer.do, lambda it: it.ref.number), int)
        system.wait_idle()
        for client in clients[1:]:
            log = flush(client)
            assert "nobody" not in log
            assert len(log) >= 1
        assert system.awaited_names == {}

    explore(scenario, 200)
