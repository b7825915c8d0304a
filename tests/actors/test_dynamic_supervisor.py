"""DynamicSupervisor: children that others start. OTP cases K 168 to 173 and O 200 to 208."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.children import ChildCounts
from otpy.core.reason import Killed, Normal, RestartLimit, Shutdown
from otpy.errors import ChildNotFoundError, MaxChildrenError, NameTakenError, SpecError, StartError
from otpy.events import ChildStarted, ChildTerminated
from otpy.testing.recorder import Recorder
from support.lab import BOOM, Asker, dynamic, tree

if TYPE_CHECKING:
    from support.lab import Lab

DYN = otpy.DynamicSupervisor


@pytest.fixture
def sup(lab: Lab) -> otpy.Ref[Any]:
    return dynamic(lab)


def counts(sup: otpy.Ref[Any]) -> tuple[int, int]:
    found = sup.call(DYN.count_children)
    return found.specs, found.active


@pytest.mark.otp_case(168)
def test_starts_with_nobody_and_numbers_its_children(lab: Lab, sup: otpy.Ref[Any]) -> None:
    assert sup.call(DYN.count_children) == ChildCounts(0, 0, 0, 0)
    one = sup.call(DYN.start_child, lab.worker("a"))
    two = sup.call(DYN.start_child, lab.worker("a"))
    assert (one.path, two.path) == ("lab/dyn/1", "lab/dyn/2")
    assert [(info.id, info.ref) for info in sup.call(DYN.which_children)] == [("2", two), ("1", one)]
    assert sup.call(DYN.count_children) == ChildCounts(2, 2, 0, 2)
    assert lab.system.find("lab/dyn/2") is two


def test_number_of_a_child_that_ended_is_not_given_again(lab: Lab, sup: otpy.Ref[Any]) -> None:
    first = sup.call(DYN.start_child, lab.worker("a"))
    sup.call(DYN.terminate_child, first)
    assert sup.call(DYN.start_child, lab.worker("a")).path == "lab/dyn/2"


@pytest.mark.otp_case(168, 200)
def test_arguments_of_a_start_come_after_those_of_the_declaration(lab: Lab) -> None:
    seen: list[object] = []

    class Session(otpy.GenServer):
        def init(self, *args: object, **kwargs: object) -> None:
            seen.append((args, kwargs))

    sup = dynamic(lab, Session, "base", x=1)
    sup.call(DYN.start_with, "extra", y=2)
    sup.call(DYN.start_with)
    assert seen == [(("base", "extra"), {"x": 1, "y": 2}), (("base",), {"x": 1})]


def test_declared_spec_brings_its_options(lab: Lab) -> None:
    sup = dynamic(lab, lab.worker("a").opts(restart="temporary"))
    sup.call(DYN.start_with)
    lab.end("a")
    assert lab.trace() == "+a -a(boom)"
    assert counts(sup) == (0, 0)


def test_start_with_needs_a_class(lab: Lab, sup: otpy.Ref[Any]) -> None:
    with pytest.raises(SpecError, match=r"lab/dyn: it has no class of its own; use start_child\(spec\)"):
        sup.call(DYN.start_with, 1)


@pytest.mark.otp_case(170)
@pytest.mark.report("A46", "linkdd/triotp")
def test_start_that_fails_keeps_nothing(lab: Lab, sup: otpy.Ref[Any]) -> None:
    with pytest.raises(StartError) as caught:
        sup.call(DYN.start_child, lab.worker("a", "!"))
    assert caught.value.reason == BOOM
    assert counts(sup) == (0, 0)


@pytest.mark.otp_case(170, 173)
@pytest.mark.report("A4", "atomvm/AtomVM#2352")
@pytest.mark.report("A5", "erlang/otp#636")
def test_ignored_child_is_not_kept(lab: Lab, sup: otpy.Ref[Any]) -> None:
    """Stopping goes well beside ignored children."""
    assert sup.call(DYN.start_child, lab.worker("i", "~")) is None
    for ident in "abc":
        sup.call(DYN.start_child, lab.worker(ident))
    assert counts(sup) == (3, 3)
    lab.trace()
    sup.stop(Shutdown())
    *ends, last = lab.trace().split()
    assert sorted(ends) == ["-a(shutdown)", "-b(shutdown)", "-c(shutdown)"]
    assert last == "SUP(shutdown)"
    assert lab.starts["i"] == 1


@pytest.mark.otp_case(170)
@pytest.mark.parametrize("restart", ["transient", "temporary"])
def test_child_that_ends_well_is_forgotten(lab: Lab, sup: otpy.Ref[Any], restart: Any) -> None:
    sup.call(DYN.start_child, lab.worker("a").opts(restart=restart))
    lab.end("a", Normal())
    assert lab.trace() == "+a -a(normal)"
    assert counts(sup) == (0, 0)


@pytest.mark.report("A19", "elixir-lang/elixir#7316")
def test_restart_keeps_the_number_and_is_reported_once(lab: Lab, sup: otpy.Ref[Any]) -> None:
    first = sup.call(DYN.start_child, lab.worker("a"))
    with Recorder(lab.system, ChildStarted, ChildTerminated) as recorder:
        lab.kill("a")
        assert lab.trace() == "+a ✝a +a"
    assert lab.refs["a"] is not first
    assert lab.refs["a"].path == "lab/dyn/1"
    assert [(type(event).__name__, event.path) for event in recorder.events] == [
        ("ChildTerminated", "lab/dyn/1"),
        ("ChildStarted", "lab/dyn/1"),
    ]
    assert recorder.of(ChildStarted)[0].restarts == 1


@pytest.mark.otp_case(205)
@pytest.mark.report("A20", "elixir-lang/elixir#6123")
def test_default_limit_is_three_restarts_in_five_seconds(lab: Lab, sup: otpy.Ref[Any]) -> None:
    sup.call(DYN.start_child, lab.worker("a"))
    for _ in range(3):
        lab.kill("a")
        lab.settle()
    lab.trace()
    lab.kill("a")
    assert lab.trace() == "✝a SUP(shutdown)"
    assert isinstance(sup.reason, Shutdown)
    assert sup.reason.detail == RestartLimit("lab/dyn", "1", 3, 5.0, Killed())


@pytest.mark.otp_case(201)
def test_full_supervisor_refuses(lab: Lab) -> None:
    sup = dynamic(lab, max_children=2)
    for _ in range(2):
        sup.call(DYN.start_child, lab.worker("a"))
    with pytest.raises(MaxChildrenError, match="lab/dyn has 2 children and may not have more"):
        sup.call(DYN.start_child, lab.worker("a"))
    empty = lab.system.start(otpy.dynamic(max_children=0))
    with pytest.raises(MaxChildrenError):
        empty.call(DYN.start_child, lab.worker("a"))


@pytest.mark.report("A17", "elixir-lang/elixir#7655")
def test_restarted_child_still_counts(lab: Lab) -> None:
    sup = dynamic(lab, max_children=1)
    sup.call(DYN.start_child, lab.worker("a"))
    lab.kill("a")
    lab.settle()
    with pytest.raises(MaxChildrenError):
        sup.call(DYN.start_child, lab.worker("b"))


@pytest.mark.otp_case(172, 201, 202, 204)
def test_child_whose_restart_fails_counts_and_can_be_given_up(lab: Lab) -> None:
    """Between two attempts."""
    gate = lab.gate()
    sup = dynamic(lab, max_children=2)
    old = sup.call(DYN.start_child, lab.worker("a", "+!*", at_start=lambda number: number == 2 and gate.wait()))
    sup.call(DYN.start_child, lab.worker("b"))
    stranger = dynamic(lab, None, max_children=2)  # its first child has the number 1, too
    foreign = stranger.call(DYN.start_child, lab.worker("f"))
    answers: list[list[Any]] = []
    lab.kill("a")
    gate.reached()
    for request, *args in (
        (DYN.which_children,),
        (DYN.count_children,),
        (DYN.start_child, lab.worker("c")),
        (DYN.terminate_child, foreign),
        (DYN.terminate_child, old),
        (DYN.count_children,),
    ):
        answers.append([])
        lab.system.start(otpy.child(Asker, sup, answers[-1])).cast(Asker.ask, request, tuple(args))
        lab.settle()
    gate.open()
    lab.settle()
    which, before, refused, not_ours, given_up, after = (answer for (answer,) in answers)
    assert {info.id: info.state for info in which} == {"1": "restarting", "2": "running"}
    assert (before.specs, before.active) == (2, 1)
    assert isinstance(refused, MaxChildrenError)
    assert isinstance(not_ours, ChildNotFoundError)
    assert given_up is None
    assert (after.specs, after.active) == (1, 1)
    assert sup.is_alive()
    assert lab.starts["a"] == 2


@pytest.mark.otp_case(173, 204)
def test_child_whose_restart_is_ignored_is_forgotten(lab: Lab, sup: otpy.Ref[Any]) -> None:
    for ident, plan in (("a", "+~"), ("b", "+"), ("c", "+")):
        sup.call(DYN.start_child, lab.worker(ident, plan))
    lab.kill("a")
    lab.settle()
    assert counts(sup) == (2, 2)
    assert sup.is_alive()


@pytest.mark.otp_case(169, 202)
def test_terminate_child_takes_a_living_child_of_its_own(lab: Lab, sup: otpy.Ref[Any]) -> None:
    child = sup.call(DYN.start_child, lab.worker("a"))
    sup.call(DYN.terminate_child, child)
    assert lab.trace() == "+a -a(shutdown)"
    for nobody in (child, sup, lab.system.start(lab.worker("stranger"))):
        with pytest.raises(ChildNotFoundError):
            sup.call(DYN.terminate_child, nobody)
    for junk, said in (("1", "by their refs"), (1, "it has ended"), (True, "by their refs"), (None, "by their refs")):
        for request in (DYN.terminate_child, DYN.restart_child):
            with pytest.raises(ChildNotFoundError, match=said):
                sup.call(request, junk)  # type: ignore[arg-type]
    assert sup.is_alive()


def test_restart_child_keeps_the_number_and_does_not_count(lab: Lab) -> None:
    sup = dynamic(lab, max_restarts=0)
    child = sup.call(DYN.start_child, lab.worker("a"))
    again = sup.call(DYN.restart_child, child)
    assert lab.trace() == "+a -a(shutdown) +a"
    assert (again.path, again is child) == ("lab/dyn/1", False)
    lab.system.restart_child("lab/dyn/1")
    lab.system.terminate_child("lab/dyn/1")
    assert lab.trace() == "-a(shutdown) +a -a(shutdown)"
    assert counts(sup) == (0, 0)


def test_restart_child_that_fails_forgets_the_child(lab: Lab, sup: otpy.Ref[Any]) -> None:
    child = sup.call(DYN.start_child, lab.worker("a", "+!"))
    with pytest.raises(StartError):
        sup.call(DYN.restart_child, child)
    assert counts(sup) == (0, 0)


def test_start_children_starts_many_with_one_message(lab: Lab) -> None:
    sup = dynamic(lab, max_children=2)
    a, b, c, i = lab.worker("a"), lab.worker("b", "!"), lab.worker("c"), lab.worker("i", "~")
    results = sup.call(DYN.start_children, [a, b, i, c, lab.worker("d")])
    assert lab.trace() == "+a !b ~i +c"
    assert results[0] is lab.refs["a"]
    assert isinstance(results[1], StartError)
    assert results[2] is None
    assert results[3] is lab.refs["c"]
    assert isinstance(results[4], MaxChildrenError)


def test_bad_spec_among_many_starts_none(lab: Lab, sup: otpy.Ref[Any]) -> None:
    with pytest.raises(SpecError, match="lab/dyn/b: shutdown=-1"):
        sup.call(DYN.start_children, [lab.worker("a"), lab.worker("b").opts(shutdown=-1)])
    with pytest.raises(SpecError, match="lab/dyn: start_children takes a list of child specs, got generator"):
        sup.call(DYN.start_children, (lab.worker(ident) for ident in "ab"))  # type: ignore[arg-type]
    assert lab.trace() == ""
    assert sup.is_alive()


@pytest.mark.parametrize("spec", [None, otpy.GenServer, otpy.child(int)], ids=str)
def test_bad_spec_tells_who_asked(lab: Lab, sup: otpy.Ref[Any], spec: Any) -> None:
    with pytest.raises(SpecError):
        sup.call(DYN.start_child, spec)
    assert sup.is_alive()


def test_restarted_dynamic_supervisor_is_empty_and_counts_from_one(lab: Lab) -> None:
    """Semantics 7.9."""
    lab.start(tree(otpy.dynamic(max_restarts=0).opts(id="dyn")))
    sup = lab.system.find("lab/top/dyn")
    assert sup is not None
    sup.call(DYN.start_child, lab.worker("a"))
    lab.kill("a")
    lab.settle()
    again = lab.system.find("lab/top/dyn")
    assert again is not None
    assert again is not sup
    assert counts(again) == (0, 0)
    assert again.call(DYN.start_child, lab.worker("b")).path == "lab/top/dyn/1"


@pytest.mark.otp_case(208)
def test_two_dynamic_supervisors_need_two_ids(lab: Lab) -> None:
    with pytest.raises(StartError, match="lab/top/dynamic: two children have this id"):
        lab.system.start(tree(otpy.dynamic(), otpy.dynamic()))
    sup = lab.start(tree(otpy.dynamic()))
    with pytest.raises(NameTakenError) as caught:
        sup.call(otpy.Supervisor.start_child, otpy.dynamic())
    assert caught.value.holder is lab.system.find("lab/top/dynamic")


def test_own_class_with_its_own_init_and_flags(lab: Lab) -> None:
    class Pool(otpy.DynamicSupervisor):
        max_children = 1
        max_restarts = 0

        def init(self, label: str) -> None:
            self.label = label

    sup = lab.system.start(Pool, "x")
    sup.call(Pool.start_child, lab.worker("a"))
    with pytest.raises(MaxChildrenError):
        sup.call(DYN.start_child, lab.worker("b"))
    lab.kill("a")
    lab.settle()
    assert not sup.is_alive()


@pytest.mark.report("A22", "kevinschweikert/homex#64")
def test_one_crash_loop_among_many_ends_all_as_documented(lab: Lab) -> None:
    """The limit is the supervisor's; a child that must not matter to others is temporary."""
    sup = dynamic(lab)
    sup.call(DYN.start_children, [lab.worker(f"w{number}", traps=False) for number in range(100)])
    sup.call(DYN.start_child, lab.worker("loop").opts(restart="temporary"))
    lab.kill("loop")
    lab.settle()
    assert counts(sup) == (100, 100)
    sup.call(DYN.start_child, lab.worker("again", "+!*"))
    lab.kill("again")
    lab.settle()
    assert not sup.is_alive()
    assert lab.system.alive == 0
