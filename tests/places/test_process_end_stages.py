"""How a process child is stopped that does not end when it is asked to: SIGTERM to all of its group, then SIGKILL."""

from __future__ import annotations

import os
import select
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import ChildUnstopped
from otpy.testing.recorder import Recorder
from support.lasting import Lasting

if TYPE_CHECKING:
    from pathlib import Path


class Tree(otpy.Supervisor):
    def init(self, spec: otpy.ChildSpec) -> None:
        self.spec = spec

    def children(self) -> list[otpy.ChildSpec]:
        return [self.spec]


def tree(farm: otpy.System, folder: Path, *args: Any, shutdown: Any = 60.0, **words: Any) -> otpy.Ref[Tree]:
    """A supervisor with one child that lasts."""
    spec = otpy.child(Lasting, str(folder), *args, **words).opts(place="process", shutdown=shutdown, name="lasting")
    return farm.start(Tree, spec)


def lasting(farm: otpy.System) -> otpy.Ref[Lasting]:
    ref = farm.whereis("lasting")
    assert ref is not None
    return ref


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM comes a tenth of a second after the wish to stop; the kill comes in a minute, which no test waits for."""
    monkeypatch.setattr("otpy.actors.stopping.WIND_UP", 59.9)
    monkeypatch.setattr("otpy.actors.stopping.SHARE", 1.0)


def has_ended(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    ended = bool(poll.poll(0))
    os.close(pidfd)
    return ended


@pytest.mark.usefixtures("early")
def test_one_that_is_late_gets_sigterm_and_may_wind_up(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path, "leave")
    ref = lasting(farm)
    ref.call(Lasting.spin)
    root.call(Tree.terminate_child, "Lasting")
    assert ref.reason == otpy.Killed(), "it was late, whatever it did then"
    assert (tmp_path / "told").exists()


@pytest.mark.usefixtures("early")
def test_sigterm_ends_one_that_says_nothing_of_it(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path)
    ref = lasting(farm)
    ref.call(Lasting.spin)
    with Recorder(farm) as events:
        root.call(Tree.terminate_child, "Lasting")
    assert ref.reason == otpy.Killed()
    assert [event.reason for event in events.of(ChildUnstopped)] == [otpy.Killed()]


@pytest.mark.usefixtures("early")
@pytest.mark.report("D112", "circus-tent/circus#1044")
def test_what_it_has_started_may_wind_up_although_it_is_gone(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path)
    ref = lasting(farm)
    heir = os.pidfd_open(ref.call(Lasting.heir, "wind up"))
    ref.call(Lasting.spin)
    root.call(Tree.terminate_child, "Lasting")
    assert (tmp_path / "heir").read_text() == "done\n"
    assert has_ended(heir)


@pytest.mark.usefixtures("early")
def test_one_that_ends_by_itself_after_sigterm_has_kept_its_time(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path, "note", traps=True)
    ref = lasting(farm)
    root.call(Tree.terminate_child, "Lasting")
    assert ref.reason == otpy.Shutdown()
    assert (tmp_path / "told").exists()


def test_when_the_time_is_over_all_of_the_group_is_killed(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path, "ignore", shutdown=0.2)
    ref = lasting(farm)
    child, heir = os.pidfd_open(ref.call(Lasting.pid)), os.pidfd_open(ref.call(Lasting.heir, "ignore"))
    ref.call(Lasting.spin)
    root.call(Tree.terminate_child, "Lasting")
    assert ref.reason == otpy.Killed()
    select.select([child], [], [], 5.0)
    assert has_ended(child)
    select.select([heir], [], [], 5.0)
    assert has_ended(heir)


def test_what_it_has_left_behind_is_killed_when_the_time_is_over(farm: otpy.System, tmp_path: Path) -> None:
    root = tree(farm, tmp_path, shutdown=0.2)
    ref = lasting(farm)
    heir = os.pidfd_open(ref.call(Lasting.heir, "ignore"))
    ref.call(Lasting.spin)
    root.call(Tree.terminate_child, "Lasting")
    select.select([heir], [], [], 5.0)
    assert has_ended(heir)


@pytest.mark.parametrize("how", ["brutal", "kill"])
def test_a_kill_comes_without_sigterm(farm: otpy.System, tmp_path: Path, how: str) -> None:
    root = tree(farm, tmp_path, "note", shutdown=otpy.BRUTAL_KILL)
    ref = lasting(farm)
    child, heir = os.pidfd_open(ref.call(Lasting.pid)), os.pidfd_open(ref.call(Lasting.heir, "wind up"))
    monitor = ref.monitor()
    if how == "brutal":
        root.call(Tree.terminate_child, "Lasting")
    else:
        ref.kill()
    assert monitor.wait().reason == otpy.Killed()
    select.select([child], [], [], 5.0)
    assert has_ended(child)
    select.select([heir], [], [], 5.0)
    assert has_ended(heir)
    assert list(tmp_path.iterdir()) == []
