"""Rolls and rehearsals of what runs in processes of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.rehearsal import Late
from otpy.drain.rehearsal import rehearsal_of
from otpy.drain.roll_desk import Rolls
from otpy.drain.roll_plan import Terms
from otpy.errors import ChildStateError
from otpy.events import RollEnded, RollStep, RollStopped
from otpy.state.store import open_states
from otpy.testing import Recorder
from support.states import Counter

if TYPE_CHECKING:
    from pathlib import Path


class Near(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [
            otpy.child(Counter).opts(id="one", name="one", place="process"),
            otpy.child(Far).opts(id="far", place="process"),
        ]


class Far(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Counter).opts(id="inner")]


def test_what_has_a_process_is_rolled_as_a_whole_and_keeps_its_state(tmp_path: Path, quiet: None) -> None:
    system = otpy.System("t")
    open_states(system, tmp_path / "t.state")
    try:
        system.start_root(otpy.child(Near))
        one = system.ref(otpy.name(Counter, "one"))
        assert [one.call(Counter.add) for _ in range(3)] == [1, 2, 3]
        found = rehearsal_of(system, within=25.0)
        assert (found.late, found.hooks) == ((), (("t/one", "persist"),))
        assert [type(late) for late in rehearsal_of(system, within=5.0).late] == [Late]  # 5 s for each of two
        rolls = Rolls.of(system)
        with pytest.raises(ChildStateError, match=r"t/far is in a process of its own: its children cannot be rolled"):
            rolls.begin(Terms(path="t/far"), "a test")
        with Recorder(system, RollEnded, RollStopped) as seen, Recorder(system, RollStep) as steps:
            rolls.begin(Terms(path="t", workers=True, healthy_after=0.0), "a test")
            (ended,) = seen.expect(1, timeout=40.0)
        assert isinstance(ended, RollEnded), ended
        told: list[Any] = steps.of(RollStep)
        assert [step.path for step in told if step.step == "healthy"] == ["t/one", "t/far"]
        assert one.call(Counter.add) == 4
    finally:
        assert system.stop(timeout=10.0) == []
