"""Looking a tree over without starting it: every mistake at once, and what cannot be known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.core.doubts import doubts
from otpy.core.part import BEYOND, Finding, all_parts
from otpy.errors import StartError
from support.lab import tree

if TYPE_CHECKING:
    from otpy.actors.survey import Survey
    from support.lab import Lab


class Cache(otpy.GenServer):
    def init(self, size: int, *, label: str = "") -> None:
        raise AssertionError


def poll(url: str) -> None:
    raise AssertionError


class Asks(otpy.Supervisor):
    """Its children depend on its init."""

    def init(self, count: int = 2) -> None:
        self.count = count

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Cache, n).opts(id=f"c{n}") for n in range(self.count)]


def look(*specs: Any, with_init: bool = False, **flags: Any) -> Survey:
    return survey("t", tree(*specs, **flags), with_init=with_init)


def problems(found: Survey) -> list[tuple[str, str]]:
    """Where, and the beginning of what."""
    return [(error.path, error.text[:24]) for error in found.errors]


def test_the_parts_of_a_tree_are_told_as_they_are_declared() -> None:
    inner = tree(otpy.child(poll, "u").opts(shutdown=otpy.BRUTAL_KILL), id="in", strategy="one_for_all")
    found = look(
        otpy.child(Cache, 1).opts(name="cache", place="thread"),
        inner,
        otpy.dynamic(Cache, max_restarts=9),
        max_restarts=7,
    )
    assert found.errors == ()
    assert found.root is not None
    paths = [part.path for part in all_parts(found.root)]
    assert paths == ["t", "t/Cache", "t/in", "t/in/poll", "t/Cache-supervisor", "t/Cache-supervisor/*"]
    root, cache, nested, polls, dyn, each = all_parts(found.root)
    assert (cache.kind, cache.name, cache.place, cache.shutdown, cache.flags) == ("Cache", "cache", "thread", 5.0, None)
    assert (polls.kind, polls.place, polls.shutdown) == ("poll", "thread", 0.0)
    assert root.flags is not None
    assert nested.flags is not None
    assert dyn.flags is not None
    assert (root.flags.max_restarts, root.flags.max_seconds, nested.flags.strategy) == (7, 10.0, "one_for_all")
    assert (dyn.flags.is_dynamic, dyn.flags.max_restarts, each.kind) == (True, 9, "Cache")


def test_every_mistake_is_told_at_once() -> None:
    inner = tree(otpy.child(Cache, 1).opts(name="cache"), otpy.child(poll), id="in", strategy="one_for_most")
    found = look(
        otpy.child(Cache, 1).opts(name="cache"),
        otpy.child(Cache, 1),
        otpy.child(Cache).opts(id="c"),
        otpy.child(poll, "u").opts(shutdown=-1.0),
        "no spec",
        inner,
        otpy.child(poll, "u").opts(significant=True),
        otpy.child(int).opts(id="int"),
        otpy.dynamic(Cache, max_children=-1).opts(id="d"),
    )
    assert problems(found) == [
        ("t/Cache", "two children have this i"),
        ("t/c", "Cache.init does not take"),
        ("t/poll", "shutdown=-1.0: seconds >"),
        ("t", "expected a child spec, g"),
        ("t/in", "strategy='one_for_most':"),
        ("t/in/Cache", "name 'cache' is that of "),
        ("t/in/poll", "poll does not take the a"),
        ("t/poll", "significant=True with re"),
        ("t/int", "int is no actor; subclas"),
        ("t/d", "max_children=-1: a whole"),
    ]
    assert found.root is not None
    assert [part.id for part in found.root.children] == ["Cache", "c", "in", "d"]


@pytest.mark.parametrize(
    ("flags", "path", "text"),
    [
        ({"max_restart": 3}, "t", "Top has 'max_restart', which is no setting: did you mean 'max_restarts'?"),
        ({"max_restarts": -1}, "t", "max_restarts=-1: a whole number >= 0"),
        ({"auto_shutdown": "any"}, "t", "auto_shutdown='any': "),
        ({"trap_exit": False}, "t", "trap_exit=False: "),
    ],
)
def test_flags_that_cannot_work_are_told(flags: dict[str, Any], path: str, text: str) -> None:
    (error,) = look(**flags).errors
    assert (error.level, error.path) == ("error", path)
    assert error.text.startswith(text)


def test_what_a_survey_finds_keeps_the_tree_from_starting(lab: Lab) -> None:
    """Each kind of mistake, alone: a start fails on it, too."""
    spoilt: list[tuple[Any, ...]] = [
        (otpy.child(Cache),),
        (otpy.child(poll),),
        (tree(id="in", strategy="x"),),
        (otpy.child(otpy.Supervisor, 1),),
        (otpy.child(poll, "u").opts(name="n"), tree(otpy.child(poll, "u").opts(name="n"), id="in")),
    ]
    for specs in spoilt:
        assert len(look(*specs).errors) == 1
    for specs in spoilt[:1] + spoilt[2:]:  # a function takes its arguments after its start
        with pytest.raises(StartError):
            lab.system.start(tree(*specs))


def test_children_that_depend_on_init_are_not_known() -> None:
    found = look(otpy.child(Asks), otpy.child(poll, "u"))
    assert found.errors == ()
    assert found.root is not None
    asks, after = found.root.children
    assert (asks.children, asks.flags) == ((), None)
    assert asks.unknown == "Asks has an init of its own, and --init was not given"
    assert after.id == "poll"


def test_init_of_supervisors_is_run_on_demand() -> None:
    found = look(otpy.child(Asks, 3), with_init=True)
    assert found.root is not None
    assert [part.id for part in found.root.children[0].children] == ["c0", "c1", "c2"]


def test_init_that_needs_a_running_system_leaves_its_children_unknown() -> None:
    class Needs(otpy.Supervisor):
        def init(self) -> None:
            self.register("me")

    class Also(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(poll, str(self.system.random.random()))]

    class Ignores(otpy.Supervisor):
        def init(self) -> object:
            return otpy.Ignore()

    found = look(*map(otpy.child, (Needs, Also, Ignores)), with_init=True)
    assert found.errors == ()
    assert found.root is not None
    needs, also, ignores = (part.unknown for part in found.root.children)
    assert needs is not None
    assert also is not None
    assert needs.startswith("its init needs a running system (AttributeError: ")
    assert also.startswith("its children() needs a running system (AttributeError: ")
    assert ignores == "its init said Ignore"


def test_supervisor_among_its_own_children_is_told_once() -> None:
    class Loop(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Loop).opts(id="a"), otpy.child(Loop).opts(id="b")]

    found = survey("t", otpy.child(Loop))
    assert problems(found) == [("…/a", "more than 100 supervisor")]


def test_root_that_is_no_actor_is_told() -> None:
    found = survey("t", otpy.child(int))
    assert found == type(found)(
        None, (Finding("error", "t", "int is no actor; subclass otpy.GenServer, or give a function"),)
    )


def test_many_children_are_looked_over_in_no_time() -> None:
    found = look(*(otpy.child(poll, "u").opts(id=str(n)) for n in range(5_000)))
    assert found.root is not None
    assert len(found.root.children) == 5_000


def test_where_a_survey_ends_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It went silent beyond so many parts, and `otpy explain` knew of no children there."""
    monkeypatch.setattr("otpy.actors.survey.MAX_PARTS", 3)
    found = look(*(tree(otpy.child(poll, "u"), id=ident) for ident in "abc"))
    assert found.errors == ()
    assert found.root is not None
    assert [(part.unknown, len(part.children)) for part in found.root.children] == [(None, 1), (BEYOND, 0), (BEYOND, 0)]
    (said,) = doubts(found.root, 30.0)
    assert (said.level, said.path) == ("warning", "t/b")
    assert said.text.startswith("neither its children nor any later ones are known: there are too many parts")


def test_a_tree_that_exits_while_it_is_looked_at_ends_no_look() -> None:
    """`otpy check` ended with whatever code it exits with, and said nothing: 0 for a plain `sys.exit()`."""

    class Exits(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            raise SystemExit

    class ExitsEarly(otpy.Supervisor):
        def init(self) -> None:
            raise SystemExit(4)

    class Settings(otpy.Supervisor):
        @property
        def max_restarts(self) -> int:  # type: ignore[override]
            raise RuntimeError("not now")

    found = look(otpy.child(Exits), otpy.child(ExitsEarly), otpy.child(Settings), with_init=True)
    assert found.root is not None
    assert [part.unknown for part in found.root.children] == [
        "its children() needs a running system (SystemExit)",
        "its init needs a running system (SystemExit: 4)",
        "its settings need a running system (RuntimeError: not now)",
    ]
