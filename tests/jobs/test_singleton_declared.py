"""What is declared to exist once: mistakes are told where they are written, before anything starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.core.doubts import doubts, stop_time
from otpy.errors import SpecError, StartError
from otpy.jobs.singleton import singleton

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.any_python


def never_over() -> otpy.ChildSpec:
    return otpy.child(otpy.Supervisor)


@pytest.mark.parametrize(
    ("declare", "problem"),
    [
        (lambda: singleton("", otpy.child(print)), "name='': a text"),
        (lambda: singleton("x", otpy.child(print), engine=3), "engine=3: a text"),  # type: ignore[arg-type]
        (lambda: singleton("x", otpy.child(print), lease=0), "lease=0: seconds > 0"),
        (lambda: singleton("x", otpy.child(print), lease=9.0), "lease=9: of these it has 4.74 s to stop, and takes 5"),
        (lambda: singleton("x", never_over()), "x/Supervisor: it must have ended before another program may begin it"),
        (lambda: singleton("x", otpy.GenServer), "otpy.child(…), or a function that makes that of an epoch"),  # type: ignore[arg-type]
        (lambda: singleton("x", lambda _: None), "None: otpy.child(…), or a function"),  # type: ignore[arg-type, return-value]
        (lambda: singleton("x", otpy.child(print), max_restarts=-1), "max_restarts=-1"),
    ],
)
def test_what_cannot_work_is_refused_where_it_is_written(declare: Callable[[], object], problem: str) -> None:
    with pytest.raises(SpecError) as refused:
        declare()
    assert problem in str(refused.value)


class Shop(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        made = otpy.child(print).opts(name="till", shutdown=2.0)
        return [singleton("till", made), otpy.child(print).opts(id="other", name="till")]


def test_a_tree_is_looked_over_with_what_is_below_a_name(system: otpy.System) -> None:
    found = survey("shop", otpy.child(Shop))
    assert [(one.path, "is that of" in one.text) for one in found.errors] == [("shop/other", True)]
    with pytest.raises(StartError, match="name 'till' is that of"):
        system.start(Shop)


def test_a_look_at_a_tree_knows_how_long_a_name_takes_to_stop() -> None:
    found = survey("x", singleton("x", otpy.child(print).opts(shutdown=2.0), lease=10.0))
    assert found.errors == ()
    assert found.root is not None
    assert stop_time(found.root) >= 2.0 + 2.0 + 1.0
    assert [str(one) for one in doubts(found.root, deadline=30.0)] == []
