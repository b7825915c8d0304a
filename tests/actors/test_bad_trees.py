"""What a tree that cannot work gets: one error, before anything starts, with the child's path and the mend."""

from __future__ import annotations

import math
from typing import Any

import pytest

import otpy
from otpy.errors import SpecError, StartError
from otpy.events import ActorCrashed, ChildStartFailed
from otpy.testing.recorder import Recorder
from support.lab import Lab, tree


class NoActor: ...


def good(lab: Lab) -> otpy.ChildSpec:
    return lab.worker("good")  # type: ignore[no-any-return]


def refusal(lab: Lab, spec: otpy.ChildSpec) -> str:
    """The one error, after proving that nothing started and nobody else was told."""
    with Recorder(lab.system, ActorCrashed, ChildStartFailed) as recorder, pytest.raises(StartError) as caught:
        lab.system.start(spec)
    assert lab.trace() == ""
    assert recorder.events == []
    assert lab.system.alive == 0
    assert lab.system.names == {}
    return str(caught.value)


def faulty(fault: str, lab: Lab) -> tuple[list[otpy.ChildSpec], dict[str, Any]]:
    """Children with a fault and flags with a fault; `good` stands before them."""
    child = otpy.child
    children: dict[str, list[Any]] = {
        "id twice": [lab.worker("x"), lab.worker("x")],
        "name twice": [lab.worker("x").opts(name="n"), lab.worker("y").opts(name="n")],
        "no callable": [child(7)],  # type: ignore[call-overload]
        "no actor": [child(NoActor)],
        "no spec": [NoActor],
        "an instance": [child(otpy.GenServer())],
        "restart": [lab.worker("x").opts(restart="transiemt")],
        "shutdown": [lab.worker("x").opts(shutdown=-1)],
        "significant": [lab.worker("x").opts(restart="temporary", significant=True)],
        "queue of a supervisor": [tree(id="x").opts(max_queue=3)],
        "dynamic limit": [otpy.dynamic(otpy.GenServer, max_children=-1).opts(id="x")],
        "dynamic restarts": [otpy.dynamic(max_restarts=-1).opts(id="x")],
        "dynamic window": [otpy.dynamic(max_seconds=0.0).opts(id="x")],
        "dynamic class": [otpy.dynamic(NoActor).opts(id="x")],
    }
    flags: dict[str, dict[str, Any]] = {
        "strategy": {"strategy": "one_for_al"},
        "auto_shutdown": {"auto_shutdown": "all"},
        "max_restarts": {"max_restarts": -1},
        "max_restarts as float": {"max_restarts": 3.0},
        "window": {"max_seconds": 0},
        "negative window": {"max_seconds": -5.0},
        "window that is no number": {"max_seconds": math.nan},
        "window as text": {"max_seconds": "5"},
        "trap_exit": {"trap_exit": False},
    }
    return children.get(fault, []), flags.get(fault, {})


FAULTS = {
    "id twice": "{path}/x: two children have this id; give one of them .opts(id=…)",
    "name twice": "{path}/y: name 'n' is that of {path}/x, too; a name is unique in its system",
    "no callable": "{path}/int: start must be an actor class or a function, got an int; give the class itself",
    "no actor": "{path}/NoActor: NoActor is no actor; subclass otpy.GenServer, or give a function",
    "no spec": "{path}: expected a child spec, got the class NoActor; write otpy.child(…)",
    "an instance": "{path}/GenServer: start must be an actor class or a function, got a GenServer; give the class",
    "restart": "{path}/x: restart='transiemt': did you mean 'transient'?",
    "shutdown": "{path}/x: shutdown=-1: seconds >= 0, otpy.INFINITY or otpy.BRUTAL_KILL",
    "significant": "{path}/x: significant=True with restart='temporary'",
    "queue of a supervisor": "{path}/x: a supervisor must hear of each of its children: it cannot have a max_queue",
    "dynamic limit": "{path}/x: max_children=-1: a whole number >= 0, or None",
    "dynamic restarts": "{path}/x: max_restarts=-1: a whole number >= 0",
    "dynamic window": "{path}/x: max_seconds=0.0: seconds > 0",
    "dynamic class": "{path}/x/NoActor: NoActor is no actor",
    "strategy": "{path}: strategy='one_for_al': did you mean 'one_for_all'?",
    "auto_shutdown": "{path}: auto_shutdown='all': known are all_significant, any_significant, never",
    "max_restarts": "{path}: max_restarts=-1: a whole number >= 0",
    "max_restarts as float": "{path}: max_restarts=3.0: a whole number >= 0",
    "window": "{path}: max_seconds=0: seconds > 0",
    "negative window": "{path}: max_seconds=-5.0: seconds > 0",
    "window that is no number": "{path}: max_seconds=nan: seconds > 0",
    "window as text": "{path}: max_seconds='5': seconds > 0",
    "trap_exit": "{path}: trap_exit=False: a supervisor must hear of its children's ends",
}


@pytest.mark.otp_case(81, 82, 84)
@pytest.mark.parametrize(("fault", "message"), FAULTS.items(), ids=list(FAULTS))
@pytest.mark.report("A16", "gleam-lang/otp#93")
def test_fault_in_a_tree_is_one_error_before_anything_starts(lab: Lab, fault: str, message: str) -> None:
    children, flags = faulty(fault, lab)
    assert message.format(path="lab/top") in refusal(lab, tree(good(lab), *children, **flags))


@pytest.mark.parametrize(("fault", "message"), FAULTS.items(), ids=list(FAULTS))
def test_fault_in_a_nested_supervisor_is_found_before_its_older_siblings_start(
    lab: Lab, fault: str, message: str
) -> None:
    children, flags = faulty(fault, lab)
    inner = tree(*children, id="inner", **flags)
    assert message.format(path="lab/top/mid/inner") in refusal(lab, tree(good(lab), tree(inner, id="mid")))


@pytest.mark.parametrize(("fault", "message"), FAULTS.items(), ids=list(FAULTS))
def test_fault_in_a_supervisor_that_is_added_is_told_to_who_asked(lab: Lab, fault: str, message: str) -> None:
    children, flags = faulty(fault, lab)
    sup = lab.start(tree(id="top"))
    with pytest.raises(SpecError) as caught:
        sup.call(otpy.Supervisor.start_child, tree(good(lab), *children, id="added", **flags))
    assert message.format(path="lab/top/added") in str(caught.value)
    assert lab.trace() == ""
    assert lab.system.alive == 1


def test_name_twice_in_different_supervisors_is_found(lab: Lab) -> None:
    one, other = (tree(lab.worker(ident).opts(name="n"), id=f"in-{ident}") for ident in "ab")
    message = "lab/top/in-b/b: name 'n' is that of lab/top/in-a/a, too; a name is unique in its system"
    assert message in refusal(lab, tree(good(lab), one, other))


def test_name_that_somebody_holds_is_found_before_anything_starts(lab: Lab) -> None:
    lab.start(tree(lab.worker("h").opts(name="n"), id="other"))
    lab.trace()
    with pytest.raises(
        StartError, match="lab/top/in/x: name 'n' is taken by lab/other/h; stop that one first, or choose"
    ):
        lab.system.start(tree(good(lab), tree(lab.worker("x").opts(name="n"), id="in")))
    assert lab.trace() == ""


def test_misspelt_option_names_the_path_of_the_child(lab: Lab) -> None:
    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [lab.worker("x").opts(restrat="permanent")]

    assert "lab/Shop/x: no option 'restrat': did you mean 'restart'?" in refusal(lab, otpy.child(Shop))
    nested = tree(good(lab), otpy.child(Shop))
    assert "lab/top/Shop/x: no option 'restrat': did you mean 'restart'?" in refusal(lab, nested)


def test_typed_name_of_another_class_names_the_path_of_the_child(lab: Lab) -> None:
    class Shop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [lab.worker("x").opts(name=otpy.name(Shop, "shop"))]

    assert "lab/Shop/x: name 'shop' is for Shop, not for Worker" in refusal(lab, otpy.child(Shop))


def test_children_that_need_more_than_a_plan_are_not_looked_at_in_advance(lab: Lab) -> None:
    """Where `init` or the running system decides what is declared, it is checked when that supervisor starts."""

    class Deciding(otpy.Supervisor):
        def init(self, count: int) -> None:
            self.count = count

        def children(self) -> list[otpy.ChildSpec]:
            return [lab.worker("x")] * self.count

    class Asking(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [lab.worker(self.system.name)]

    class Failing(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            raise ValueError("no children today")

    lab.start(tree(otpy.child(Deciding, 1), otpy.child(Asking)))
    assert lab.trace() == "+x +lab"
    with pytest.raises(StartError, match="lab/out/Deciding/x: two children have this id"):
        lab.system.start(tree(good(lab), otpy.child(Deciding, 2), id="out"))
    assert lab.trace() == "+good -good(shutdown)"
    with pytest.raises(StartError, match="no children today"):
        lab.system.start(tree(good(lab), otpy.child(Failing), id="out"))


def test_tree_whose_children_changed_to_the_worse_fails_its_restart(lab: Lab) -> None:
    """A restart checks again: it fails, counts, and is reported as any other failed start."""
    specs = [lab.worker("x")]

    class Changing(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return specs

    sup = lab.start(tree(otpy.child(Changing), max_restarts=2))
    specs.append(lab.worker("x"))
    with Recorder(lab.system, ChildStartFailed) as recorder:
        inner = lab.system.find("lab/top/Changing")
        assert inner is not None
        inner.kill()
        lab.settle()
    assert [event.path for event in recorder.events] == ["lab/top/Changing"] * 2
    assert not sup.is_alive()


@pytest.mark.otp_case(149)
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"strategy": "one_for_all"}, "a dynamic supervisor is one_for_one without auto_shutdown"),
        ({"auto_shutdown": "any_significant"}, "a dynamic supervisor is one_for_one without auto_shutdown"),
        ({"children": lambda _: []}, "a dynamic supervisor declares no children"),
    ],
)
def test_dynamic_supervisor_refuses_what_only_others_can(lab: Lab, body: dict[str, Any], message: str) -> None:
    crowd = type("Crowd", (otpy.DynamicSupervisor,), body)
    assert f"lab/top/Crowd: {message}" in refusal(lab, tree(good(lab), otpy.child(crowd)))


def test_supervisor_among_its_own_children_is_refused(lab: Lab) -> None:
    class Endless(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [good(lab), otpy.child(Endless)]

    assert "more than 100 supervisors below each other; is one among its own children?" in refusal(
        lab, otpy.child(Endless)
    )


def test_own_constructor_of_a_supervisor_runs_before_its_init(lab: Lab) -> None:
    class Shop(otpy.Supervisor):
        def __init__(self) -> None:
            super().__init__()
            self.letters = "ab"

        def children(self) -> list[otpy.ChildSpec]:
            return lab.workers(self.letters)

    lab.start(tree(otpy.child(Shop)))
    assert lab.trace() == "+a +b"


def test_static_supervisor_declares_once_for_each_start_and_once_for_the_look(lab: Lab) -> None:
    calls: list[str] = []

    class Counting(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            calls.append(self.ref.path)
            return []

    lab.start(otpy.child(Counting))
    assert len(calls) == 1
    lab.start(tree(tree(otpy.child(Counting), id="mid")))
    assert calls[1:] == ["lab/top/mid/Counting"] * 2
