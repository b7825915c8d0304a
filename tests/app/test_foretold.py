"""What `otpy explain` foretells of random trees is what really happens to them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.core.consequences import REASONS, End, foretell, thresholds
from otpy.core.part import all_parts
from otpy.events import ChildStarted
from otpy.testing import VirtualSystem

if TYPE_CHECKING:
    from otpy.core.part import Part
    from otpy.core.story import Round

LONG = 1e6
"""Seconds no test takes: all restarts fall into one window."""
MANY = 60
"""Ends in a row; enough for limits of up to three restarts on three floors to be passed."""


class Child(otpy.GenServer):
    """Ends as it is told."""

    def init(self, *, traps: bool) -> None:
        self.trap_exit = traps

    @otpy.cast
    def end(self, end: End) -> object:
        if end == "crash":
            raise ValueError(end)
        return otpy.Stop(REASONS[end])


class Noting(VirtualSystem):
    """Notes each death and each start of a child, in order."""

    def __init__(self) -> None:
        super().__init__("t")
        self.marks: list[str] = []
        self.events.attach(lambda event: self.marks.append(f"+{event.path}"), ChildStarted)

    def forget(self, ref: otpy.Ref[Any]) -> None:
        self.marks.append(f"-{ref.path}")
        super().forget(ref)


def grow(chance: Random, depth: int = 0, ident: str = "t", **options: Any) -> otpy.ChildSpec:
    """A random tree, declared from its classes."""
    auto_shutdown = chance.choice(["never", "never", "any_significant", "all_significant"])
    specs = [spec(chance, depth, f"c{number}", auto_shutdown) for number in range(chance.randrange(1, 5))]
    body = {
        "strategy": chance.choice(["one_for_one", "one_for_all", "rest_for_one"]),
        "auto_shutdown": auto_shutdown,
        "max_restarts": chance.randrange(4),
        "max_seconds": LONG,
        "children": lambda _: specs,
    }
    return otpy.child(type("Tree", (otpy.Supervisor,), body)).opts(id=ident, **options)


def spec(chance: Random, depth: int, ident: str, auto_shutdown: str) -> otpy.ChildSpec:
    """A child of any kind, kept in any way."""
    options: Any = {"restart": chance.choice(["permanent", "permanent", "transient", "temporary"])}
    if options["restart"] != "permanent" and auto_shutdown != "never":
        options["significant"] = chance.random() < 0.4
    if options["restart"] != "temporary" and chance.random() < 0.3:
        options["backoff"] = otpy.Backoff(first=0.25, factor=1.0, jitter=0.5)
    if options["restart"] != "temporary" and chance.random() < 0.3:
        options["limit"] = otpy.Limit(chance.randrange(4), LONG, then=chance.choice(["give_up", "escalate"]))
    if depth < 2 and chance.random() < 0.35:
        return grow(chance, depth + 1, ident, **options)
    if chance.random() < 0.15:
        crowd = otpy.dynamic(Child, traps=True, max_restarts=chance.randrange(4), max_seconds=LONG)
        return crowd.opts(id=ident, **options)
    return otpy.child(Child, traps=chance.random() < 0.5).opts(id=ident, **options)


def really(tree: otpy.ChildSpec, path: str, ends: list[End]) -> list[list[str]]:
    """The marks of each end."""
    system = Noting()
    system.start_root(tree)
    above = system.find(path.rpartition("/")[0]) if "/" in path else None
    if above is not None and above.actor_class is otpy.DynamicSupervisor:
        above.call(otpy.DynamicSupervisor.start_with)
    rounds = []
    for end in ends:
        system.marks.clear()
        ref = system.find(path)
        if ref is None:
            break
        if end == "kill":
            ref.kill()
        elif ref.actor_class is Child:
            ref.cast(Child.end, end)
        else:
            ref.stop(REASONS[end], block=False)
        system.wait_idle()
        system.clock.advance(1.0)  # more than any pause
        rounds.append([*system.marks])
    system.stop()
    return rounds


def marks(foretold: Round) -> list[str]:
    return [step.mark for step in foretold.steps if step.mark is not None]


def target(chance: Random, root: Part) -> tuple[Part, str]:
    """Any part, and a path to it."""
    part = chance.choice(list(all_parts(root)))
    return part, part.path.replace("*", "1")


def way(chance: Random, part: Part) -> End:
    """A way to end that the part knows: a supervisor does not crash by itself."""
    ways: list[End] = ["normal", "shutdown", "kill"] if part.is_supervisor else ["normal", "shutdown", "kill", "crash"]
    return chance.choice(ways)


@pytest.mark.parametrize(
    "seeds", [pytest.param(range(60), id="60"), pytest.param(range(3_000), id="3000", marks=pytest.mark.stress)]
)
def test_what_is_foretold_is_what_happens(seeds: range) -> None:
    for seed in seeds:
        chance = Random(seed)
        tree = grow(chance)
        found = survey("t", tree)
        assert found.root is not None
        assert found.errors == ()
        part, path = target(chance, found.root)
        end = way(chance, part)
        foretold = foretell(found.root, path, end, MANY)

        happened = really(tree, path, [end] * len(foretold))

        assert len(happened) == len(foretold), f"seed {seed}"
        for one, other in zip(foretold, happened, strict=True):
            expected = marks(one)
            if part.is_supervisor and end == "kill":  # those below follow in no order that is promised
                count = sum(step.kind in ("follows", "stopped") for step in one.steps) + 1
                assert sorted(other[:count]) == sorted(expected[:count]), f"seed {seed}: {path} {end}"
                assert other[count:] == expected[count:], f"seed {seed}: {path} {end}"
            else:
                assert other == expected, f"seed {seed}: {path} {end}"


@pytest.mark.parametrize("seeds", [range(300)])
def test_thresholds_are_where_the_story_passes_them(seeds: range) -> None:
    for seed in seeds:
        chance = Random(seed)
        root = survey("t", grow(chance)).root
        assert root is not None
        part, path = target(chance, root)
        if "*" in part.path:
            continue  # a dynamic supervisor comes back without it
        end = way(chance, part)
        rounds = foretell(root, path, end, 300)
        passed: dict[tuple[str, bool], int] = {}
        for number, each in enumerate(rounds, 1):
            for step in each.steps:
                if step.kind in ("gives_up", "given_up"):
                    passed.setdefault((step.path, step.kind == "given_up"), number)
        expected = {(each.path, each.then == "given_up"): each.count for each in thresholds(root, path, end)}
        assert expected == passed, f"seed {seed}: {path} {end}"


def done() -> None:
    """Return at once."""


def fail() -> None:
    raise ValueError("boom")


@pytest.mark.parametrize(("function", "end", "code"), [(done, "normal", 0), (fail, "crash", 70)])
def test_the_exit_code_is_the_one_that_was_foretold(function: Any, end: End, code: int) -> None:
    class Tree(otpy.Supervisor):
        auto_shutdown = "any_significant"
        max_restarts = 0

        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(function).opts(id="f", restart="transient", significant=True)]

    root = survey("t", otpy.child(Tree)).root
    assert root is not None
    assert foretell(root, "t/f", end)[0].steps[-1].code == code
    assert otpy.main(Tree, name="t", control="off") == code
