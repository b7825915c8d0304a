"""Names: one holder each, free before anybody hears of the holder's end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import otpy
from otpy.errors import CallTimeoutError, NameTakenError, NoProcError, SpecError, StartError
from otpy.events import DeadLetter
from otpy.testing import Gate, Recorder
from support.doer import BOOM, Doer, flush

IT = otpy.name(Doer, "it")


@pytest.mark.otp_case(28, 42)
def test_a_taken_name_fails_the_start_and_leaves_its_holder(system: otpy.System) -> None:
    holder = system.start(otpy.child(Doer).opts(name="it"))
    with pytest.raises(NameTakenError) as caught:
        system.start(otpy.child(Doer).opts(name="it"))
    assert caught.value.holder is holder
    assert system.whereis("it") is holder
    assert system.alive == 1


@pytest.mark.otp_case(28)
def test_an_actor_registers_one_name_and_no_second(system: otpy.System) -> None:
    ref = system.start(Doer)

    def register(self: Doer) -> None:
        self.register("one")
        with pytest.raises(
            NameTakenError, match="t/Doer cannot register 'two': it has the name 'one', and an actor has"
        ):
            self.register("two")

    ref.call(Doer.do, register)
    assert system.whereis("one") is ref


@pytest.mark.parametrize("name", [5, ("it", 1), IT, "", None])
def test_a_name_that_is_no_text_is_refused(system: otpy.System, name: Any) -> None:
    """Whatever looks at all names, as metrics and the doctor, takes them for texts."""
    ref = system.start(Doer)

    def register(self: Doer) -> None:
        with pytest.raises(SpecError, match="a text"):
            self.register(name)

    ref.call(Doer.do, register)
    assert dict(system.names) == {}


def test_a_living_actor_that_registers_a_taken_name_is_not_told_that_it_did_not_start(system: otpy.System) -> None:
    system.start(otpy.child(Doer).opts(name="it"))
    ref = system.start(Doer)

    def register(self: Doer) -> None:
        with pytest.raises(NameTakenError, match="t/Doer-2 cannot register 'it': it is taken by <Ref t/Doer"):
            self.register("it")

    ref.call(Doer.do, register)


def test_a_name_is_there_before_init_and_gone_after_a_failed_one(system: otpy.System) -> None:
    """Semantics 4.4: whoever learns of the failure can start anew at once."""
    seen: list[object] = []

    def fail(self: Doer) -> otpy.Stop:
        seen.append(self.system.whereis("it") is self.ref)
        return otpy.Stop(BOOM)

    for _ in range(3):
        with pytest.raises(StartError):
            system.start(otpy.child(Doer, deed=fail).opts(name="it"))
        assert system.whereis("it") is None
    assert seen == [True, True, True]


@pytest.mark.otp_case(48)
@pytest.mark.report("B77", "hew-lang/hew#2124")
def test_a_name_nobody_holds_is_noproc_for_calls_and_a_dead_letter_for_the_rest(system: otpy.System) -> None:
    """Semantics 4.2 differs for tell, which never fails here."""
    handle = system.ref("nobody")
    with Recorder(system, DeadLetter) as letters:
        handle.cast(Doer.read)  # type: ignore[arg-type]  # whatever it is, nobody is there
        handle.tell("x")
        with pytest.raises(NoProcError, match="nobody"):
            handle.call(Doer.read)
        with pytest.raises(NoProcError):
            handle.ask("x")
    assert [event.path for event in letters.of(DeadLetter)] == ["nobody", "nobody"]
    assert handle.monitor().wait().reason == otpy.NoProc()
    assert not handle.kill()


@pytest.mark.report("A41", "sasa1977/elixir-in-action#23")
@pytest.mark.report("B74", "discord/gen_registry#15")
def test_a_name_never_leads_to_an_actor_whose_end_was_seen(system: otpy.System, rounds: int = 100) -> None:
    """Look in a tight loop while holders come and go."""
    gone: set[object] = set()
    wrong: list[object] = []
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            before = set(gone)
            found = system.whereis("it")
            if found in before:
                wrong.append(found)

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(rounds):
        ref = system.start(otpy.child(Doer).opts(name="it"))
        monitor = ref.monitor()
        ref.kill()
        monitor.wait()
        gone.add(ref)
    done.set()
    looker.join(30)
    assert wrong == []


def test_a_killed_actors_name_is_free_at_once(system: otpy.System) -> None:
    ref = system.start(otpy.child(Doer).opts(name="it"))
    ref.kill()
    assert system.whereis("it") is None
    assert flush(system.start(otpy.child(Doer).opts(name="it"))) == []


def test_two_systems_have_their_own_names(system: otpy.System) -> None:
    """Design decision 2."""
    other = otpy.System("other")
    one = system.start(otpy.child(Doer).opts(name="it"))
    two = other.start(otpy.child(Doer).opts(name="it"))
    assert (system.whereis("it"), other.whereis("it")) == (one, two)
    assert one.path == "t/Doer"
    assert two.path == "other/Doer"
    other.stop()
    assert one.is_alive()
    assert system.find("other/Doer") is None


def test_starts_of_the_same_class_get_ids_of_their_own(system: otpy.System) -> None:
    refs = [system.start(Doer) for _ in range(300)]
    assert len({ref.path for ref in refs}) == 300
    assert [ref.path for ref in refs[:3]] == ["t/Doer", "t/Doer-2", "t/Doer-3"]
    assert all(system.find(ref.path) is ref for ref in refs)


@pytest.mark.report("B77", "hew-lang/hew#2124")
def test_a_call_by_name_while_its_holder_starts_again_is_answered_by_the_next(system: otpy.System) -> None:
    """The name is taken before `init` begins, so that only the moment between the two is NoProc."""
    gate = Gate()
    starts: list[otpy.Ref[Doer]] = []

    def slow(self: Doer) -> None:
        starts.append(self.ref)
        if len(starts) == 2:
            gate.wait()

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Doer, deed=slow).opts(name="it")]

    system.start(Tree)
    client, handle = system.start(Doer), system.ref(IT)
    starts[0].kill()
    gate.reached()
    client.cast(Doer.run, lambda self: self.log.append(handle.call(Doer.do, lambda it: it.ref)))
    system.wait_idle()
    gate.open()
    assert flush(client) == [starts[1]]


def test_a_name_has_pykkas_ways_of_asking(system: otpy.System) -> None:
    """Of who holds it now; a future of nobody has the error, a proxy of nobody is one."""
    handle = system.ref(IT)
    with pytest.raises(NoProcError, match="call of proxy to name 'it': nobody is there"):
        handle.proxy()
    nobody = handle.ask("x", block=False)
    with pytest.raises(NoProcError, match="call of ask to name 'it'"):
        nobody.get(timeout=5.0)
    handle.exit(BOOM)

    first = system.start(otpy.child(Doer).opts(name=IT))
    assert handle.ask("x", block=False).get(timeout=5.0) == "x"
    assert handle.ask("x", timeout=5.0) == "x"
    proxy = handle.proxy()
    assert proxy.log.get(timeout=5.0) == []
    assert handle.stop(block=False)
    first.monitor().wait(30.0)
    second = system.start(otpy.child(Doer).opts(name=IT))
    assert handle.proxy().log.get(timeout=5.0) == []
    with pytest.raises(NoProcError):
        proxy.log.get(timeout=5.0)
    monitor = second.monitor()
    handle.exit(BOOM)
    assert monitor.wait(30.0).reason == BOOM


@pytest.mark.parametrize("time", [0.0, 0.01])
def test_the_time_for_a_question_by_name_is_its_own_or_that_of_the_handle(system: otpy.System, time: float) -> None:
    system.start(otpy.child(Doer).opts(name=IT))
    handle = system.ref(IT)
    with Gate() as gate:
        for ask in (handle.within(time).ask, lambda request: handle.ask(request, timeout=time)):
            with pytest.raises(CallTimeoutError, match=f"within {time:g} s"):
                ask(lambda self, caller: gate.wait())
