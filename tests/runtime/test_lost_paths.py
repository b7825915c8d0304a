"""What is said of a path at which nobody is: the nearest of those that are there."""

from __future__ import annotations

import pytest

import otpy
from otpy.errors import NoSuchActorError
from support.doer import Doer


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Doer).opts(id="cache", name="memory"),
            otpy.child(Doer).opts(id="feed"),
            otpy.dynamic(Doer).opts(id="sessions"),
        ]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("t/cahce", "did you mean 't/cache'?"),
        ("t/sesions/1", "did you mean 't/sessions'?"),
        ("t/besides", "did you mean 't/beside'?"),
        ("t/x", "t has cache, feed, sessions, beside"),
        ("t/sessions/1", "t/sessions has no children"),
        ("t/cache/x/y", "t/cache has no children"),
        ("t/sessions/sessions", "t/sessions has no children"),
        ("memory", "'memory' is a name; its path is 't/cache'"),
        ("t/feed/memory", "'memory' is a name; its path is 't/cache'"),
        ("t/memory", "'memory' is a name; its path is 't/cache'"),
        ("shop/cache", "paths here begin with 't'"),
        ("", "paths here begin with 't'"),
        ("t/", "t has cache, feed, sessions, beside"),
    ],
)
def test_a_lost_path_is_answered_with_its_siblings(system: otpy.System, path: str, hint: str) -> None:
    system.start_root(otpy.child(Shop))
    system.start(otpy.child(Doer).opts(id="beside"))

    with pytest.raises(NoSuchActorError) as caught:
        system.record(path)
    assert str(caught.value) == f"no actor {path!r}: {hint}"


def test_a_child_without_a_process_is_not_said_to_be_misspelt(system: otpy.System) -> None:
    system.start_root(otpy.child(Shop))
    system.terminate_child("t/feed")

    with pytest.raises(NoSuchActorError) as caught:
        system.kill("t/feed")
    assert str(caught.value) == "no actor 't/feed': t/feed is stopped and has no process; otpy restart starts it"


def test_of_a_great_many_siblings_a_few_are_named(system: otpy.System) -> None:
    system.start_root(otpy.dynamic())
    root = system.root
    assert root is not None
    root.call(otpy.DynamicSupervisor.start_children, [otpy.child(Doer)] * 30)

    with pytest.raises(NoSuchActorError, match=r"t has 1, 2, .*, 20 and 10 more$"):
        system.record("t/none")


def test_an_empty_system_has_nobody(system: otpy.System) -> None:
    with pytest.raises(NoSuchActorError, match=r"^no actor 't/x': t has no children$"):
        system.record("t/x")
    with pytest.raises(NoSuchActorError, match=r"^no actor 'n{199}…': paths here begin with 't'$"):
        system.record("n" * 60_000)
