"""Supervisor: who is restarted, and whom that takes along. OTP cases E and F."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Killed, Normal, Reason, Shutdown
from otpy.errors import CallExitError
from otpy.runtime.links import drop_link
from support.lab import BOOM, Asker, Worker, ids, short, started, states, tree

if TYPE_CHECKING:
    from support.lab import Lab

SUP = otpy.Supervisor

FOUR = "abcd"


# E. Restart types.


@pytest.mark.otp_case(97)
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), Shutdown("z"), BOOM], ids=str)
def test_permanent_child_is_restarted_whatever_its_reason(lab: Lab, reason: Reason) -> None:
    started(lab, lab.worker("p"))
    lab.end("p", reason)
    assert lab.trace() == f"-p({short(reason)}) +p"


@pytest.mark.otp_case(98)
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), Shutdown("z")], ids=str)
@pytest.mark.report("A37", "slawlor/ractor#107")
def test_transient_child_that_ends_well_is_not_restarted(lab: Lab, reason: Reason) -> None:
    sup = started(lab, lab.worker("t").opts(restart="transient"))
    lab.end("t", reason)
    assert lab.trace() == f"-t({reason})"
    assert states(sup) == {"t": "stopped"}
    counts = sup.call(SUP.count_children)
    assert (counts.specs, counts.active) == (1, 0)
    assert sup.call(SUP.which_child, "t").ref is None


def test_transient_child_that_crashes_is_restarted(lab: Lab) -> None:
    started(lab, lab.worker("t").opts(restart="transient"))
    lab.end("t")
    assert lab.trace() == "-t(boom) +t"


@pytest.mark.otp_case(100)
@pytest.mark.parametrize("reason", [Normal(), Shutdown(), BOOM], ids=str)
def test_temporary_child_is_forgotten_and_its_id_is_free(lab: Lab, reason: Reason) -> None:
    sup = started(lab, lab.worker("t").opts(restart="temporary"))
    lab.end("t", reason)
    lab.trace()
    assert states(sup) == {}
    assert sup.call(SUP.count_children).specs == 0
    sup.call(SUP.start_child, lab.worker("t"))
    assert lab.trace() == "+t"


@pytest.mark.otp_case(102)
def test_child_that_unlinked_itself_and_died_is_listed_and_can_be_stopped(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    child = lab.refs["a"]
    child.call(child.actor_class.ask_to_do, lambda worker: worker.unlink(sup))
    lab.kill("a")
    assert lab.trace() == "✝a"
    assert [info.ref for info in sup.call(SUP.which_children)] == [child]
    assert sup.call(SUP.count_children).active == 0
    sup.call(SUP.terminate_child, "a")
    assert states(sup) == {"a": "stopped"}


# F. Strategies.


@pytest.mark.otp_case(104, 105, 106)
@pytest.mark.parametrize(
    ("strategy", "killed", "trace"),
    [
        ("one_for_one", "b", "✝b +b"),
        ("rest_for_one", "b", "✝b -d(shutdown) -c(shutdown) +b +c +d"),
        ("rest_for_one", "d", "✝d +d"),
        ("rest_for_one", "a", "✝a -d(shutdown) -c(shutdown) -b(shutdown) +a +b +c +d"),
        ("one_for_all", "b", "✝b -d(shutdown) -c(shutdown) -a(shutdown) +a +b +c +d"),
        ("one_for_all", "a", "✝a -d(shutdown) -c(shutdown) -b(shutdown) +a +b +c +d"),
    ],
)
def test_strategy(lab: Lab, strategy: str, killed: str, trace: str) -> None:
    sup = started(lab, *lab.workers(FOUR), strategy=strategy)
    before = {ident: lab.refs[ident] for ident in FOUR}
    lab.kill(killed)
    assert lab.trace() == trace
    untouched = {ident for ident in FOUR if lab.refs[ident] is before[ident]}
    assert untouched == {ident for ident in FOUR if f"+{ident}" not in trace}
    assert ids(sup) == "d c b a"


@pytest.mark.otp_case(108)
def test_rest_for_one_brings_back_who_was_not_running_but_no_temporary(lab: Lab) -> None:
    a, t = lab.worker("a"), lab.worker("t").opts(restart="temporary")
    tr, m0, m = lab.worker("tr").opts(restart="transient"), lab.worker("m0"), lab.worker("m")
    sup = started(lab, m0, a, t, tr, m, lab.worker("z"), strategy="rest_for_one")
    sup.call(SUP.terminate_child, "m0")
    sup.call(SUP.terminate_child, "m")
    lab.end("tr", Normal())
    assert lab.trace() == "-m0(shutdown) -m(shutdown) -tr(normal)"
    lab.kill("a")
    assert lab.trace() == "✝a -z(shutdown) -t(shutdown) +a +tr +m +z"
    assert states(sup) == {"m0": "stopped", "a": "running", "tr": "running", "m": "running", "z": "running"}


@pytest.mark.otp_case(109)
def test_end_of_a_temporary_child_never_restarts_its_group(lab: Lab) -> None:
    sup = started(
        lab, lab.worker("a"), lab.worker("t").opts(restart="temporary"), lab.worker("b"), strategy="one_for_all"
    )
    lab.kill("t")
    assert lab.trace() == "✝t"
    assert states(sup) == {"a": "running", "b": "running"}


@pytest.mark.otp_case(110)
def test_clean_end_of_a_transient_child_never_restarts_its_group(lab: Lab) -> None:
    sup = started(
        lab, lab.worker("a"), lab.worker("t").opts(restart="transient"), lab.worker("b"), strategy="one_for_all"
    )
    lab.end("t", Shutdown("x"))
    assert lab.trace() == "-t(shutdown: x)"
    assert states(sup) == {"a": "running", "t": "stopped", "b": "running"}


@pytest.mark.otp_case(112)
def test_restarted_child_keeps_its_place_and_a_new_one_goes_to_the_end(lab: Lab) -> None:
    sup = started(lab, *lab.workers("abd"))
    sup.call(SUP.terminate_child, "a")
    sup.call(SUP.restart_child, "a")
    assert ids(sup) == "d b a"
    sup.call(SUP.terminate_child, "b")
    sup.call(SUP.delete_child, "b")
    sup.call(SUP.start_child, lab.worker("b"))
    assert ids(sup) == "b d a"


def killed_while_suspended(lab: Lab, sup: otpy.Ref[Any], *idents: str) -> str:
    lab.system.suspend(sup.path)
    lab.kill(*idents)
    lab.settle()
    lab.trace_now()
    lab.system.resume(sup.path)
    return lab.trace()


@pytest.mark.otp_case(113)
def test_simultaneous_ends_are_counted_one_by_one_in_one_for_one(lab: Lab) -> None:
    sup = started(lab, *lab.workers("abc"), max_restarts=1)
    assert killed_while_suspended(lab, sup, "a", "c") == "+a -b(shutdown) -a(shutdown) SUP(shutdown)"


@pytest.mark.otp_case(113)
def test_simultaneous_ends_within_the_limit_are_all_restarted(lab: Lab) -> None:
    sup = started(lab, *lab.workers("abc"), max_restarts=2)
    assert killed_while_suspended(lab, sup, "a", "c") == "+a +c"


@pytest.mark.otp_case(114)
@pytest.mark.parametrize(
    ("killed", "trace"),
    [("ac", "-b(shutdown) +a +b +c"), ("ca", "-b(shutdown) +a +b +c"), ("abc", "+a +b +c")],
)
def test_simultaneous_ends_are_one_restart_in_one_for_all(lab: Lab, killed: str, trace: str) -> None:
    sup = started(lab, *lab.workers("abc"), strategy="one_for_all", max_restarts=1)
    assert killed_while_suspended(lab, sup, *killed) == trace
    assert sup.is_alive()


@pytest.mark.otp_case(116)
def test_nested_supervisor_that_gives_up_is_restarted_with_those_after_it(lab: Lab) -> None:
    inner = tree(*(lab.worker(ident) for ident in ("i1", "i2")), id="in", max_restarts=0)
    sup = started(lab, lab.worker("a"), inner, lab.worker("z"), strategy="rest_for_one")
    kept = lab.refs["a"]
    lab.kill("i1")
    assert lab.trace() == "✝i1 -i2(shutdown) -z(shutdown) +i1 +i2 +z"
    assert lab.refs["a"] is kept
    assert sup.is_alive()


@pytest.mark.otp_case(117)
def test_end_during_a_group_restart_is_dealt_with_after_it(lab: Lab) -> None:
    gate = lab.gate()
    slow = lab.worker("b", at_start=lambda number: number == 2 and gate.wait())
    started(lab, lab.worker("a"), slow, lab.worker("c"), strategy="one_for_all")
    lab.kill("a")
    gate.reached()
    lab.kill("a")
    lab.settle()
    assert lab.trace_now() == "✝a -c(shutdown) -b(shutdown) +a ✝a"
    gate.open()
    assert lab.trace() == "+b +c -c(shutdown) -b(shutdown) +a +b +c"


@pytest.mark.otp_case(118)
def test_suspended_supervisor_restarts_when_resumed(lab: Lab) -> None:
    sup = started(lab, lab.worker("a"))
    lab.system.suspend(sup.path)
    lab.kill("a")
    assert lab.trace() == "✝a"
    lab.system.resume(sup.path)
    assert lab.trace() == "+a"


@pytest.mark.report("A14", "gleam-lang/otp#67")
def test_stale_exit_of_a_removed_child_is_ignored(lab: Lab) -> None:
    """Remove a child and let it end at the same time."""
    sup = started(lab, *lab.workers("ab"))
    lab.system.suspend(sup.path)
    asker = lab.system.start(otpy.child(Asker, sup, []))
    asker.cast(Asker.ask, SUP.terminate_child, ("a",))
    asker.cast(Asker.ask, SUP.delete_child, ("a",))
    lab.settle()
    lab.kill("a")
    lab.system.resume(sup.path)
    assert lab.trace() == "✝a"
    assert states(sup) == {"b": "running"}


@pytest.mark.report("A34", "akka/akka-core#30172")
def test_parent_that_watches_its_child_is_restarted_like_any_other(lab: Lab) -> None:
    """It links itself to what it has started and watches it; the next incarnation does so again."""
    downs: list[otpy.Down] = []

    class Boss(otpy.GenServer):
        def init(self) -> None:
            self.helper = self.spawn_link(lab.worker("helper", traps=False))
            self.monitor(self.helper)

        def handle_info(self, message: object) -> None:
            downs.append(message)  # type: ignore[arg-type]

        @otpy.call
        def let_go(self) -> None:
            self.unlink(self.helper)

    sup = started(lab, otpy.child(Boss).opts(id="boss"))
    for number in range(2, 4):
        boss = lab.system.find("lab/top/boss")
        assert boss is not None
        boss.kill()
        lab.settle()
        assert lab.starts["helper"] == number
    assert sup.is_alive()
    last = lab.system.find("lab/top/boss")
    assert last is not None
    last.call(Boss.let_go)
    lab.refs["helper"].kill()
    lab.settle()
    assert [(down.target, down.reason) for down in downs] == [(lab.refs["helper"], Killed())]
    assert last.is_alive()


@pytest.mark.report("B83", "kquick/Thespian#84", "thespianpy/Thespian#47")
def test_message_that_failed_is_not_handled_again_and_the_state_is_fresh(lab: Lab) -> None:
    tries: list[int] = []

    class Fragile(otpy.GenServer):
        def init(self) -> None:
            self.broken = False

        @otpy.cast
        def fail(self, number: int) -> None:
            tries.append(number)
            self.broken = True
            raise ValueError(number)

        @otpy.call
        def is_broken(self) -> bool:
            return self.broken

    sup = started(lab, otpy.child(Fragile).opts(name="it"))
    it = lab.system.ref(otpy.name(Fragile, "it"))
    for number in (1, 2):
        it.cast(Fragile.fail, number)
        lab.settle()
        assert it.call(Fragile.is_broken) is False
    assert tries == [1, 2]
    assert sup.is_alive()


@pytest.mark.report("D125", "ray-project/ray#11990")
def test_calls_that_are_open_when_a_child_ends_fail_although_it_is_restarted(lab: Lab) -> None:
    answers: list[Any] = []
    gate = lab.gate()
    started(lab, lab.worker("a"))
    old = lab.refs["a"]
    for _ in range(3):
        asker = lab.system.start(otpy.child(Asker, old, answers))
        asker.cast(Asker.ask, Worker.ask_to_do, (lambda _: gate.wait() or otpy.exit(BOOM),))
    gate.reached()
    lab.settle()
    gate.open()
    lab.settle()
    assert [(type(error), error.reason) for error in answers] == [(CallExitError, BOOM)] * 3
    assert lab.refs["a"] is not old
    assert lab.refs["a"].is_alive()


@pytest.mark.otp_case(102)
def test_exit_of_a_child_that_was_unlinked_by_force_goes_unnoticed(lab: Lab) -> None:
    """An unlinked start function."""
    sup = started(lab, lab.worker("a"))
    drop_link(sup, lab.refs["a"])
    lab.kill("a")
    assert lab.trace() == "✝a"
    sup.stop(Shutdown())
