"""Who is blamed for a SIGKILL: the kernel's own count of processes it has killed for want of memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.places.process import memory_killer
from otpy.places.process.memory_killer import MemoryKiller

if TYPE_CHECKING:
    from pathlib import Path

SECOND = ("0::/app/one\n", "app/one/memory.events", "low 0\nhigh 0\noom 0\noom_kill {}\n")
INSIDE = ("0::/app/one\n", "memory.events", "oom_kill {}\n")
FIRST = ("5:cpu,memory:/app\n0::/\n", "memory/app/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill {}\n")


@pytest.fixture(params=[SECOND, INSIDE, FIRST], ids=["version 2", "version 2 in a container", "version 1"])
def counted(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A control group's file, and what stands in it."""
    own, name, text = request.param
    file = tmp_path / "root" / name
    file.parent.mkdir(parents=True)
    (tmp_path / "own").write_text(own)
    monkeypatch.setattr(memory_killer, "ROOT", tmp_path / "root")
    monkeypatch.setattr(memory_killer, "OWN", tmp_path / "own")
    file.write_text(text.format(7))
    return file, text


def test_the_kernel_is_blamed_for_each_kill_that_it_has_counted(counted: tuple[Path, str]) -> None:
    file, text = counted
    killer = MemoryKiller()
    file.write_text(text.format(8))
    assert killer.blame() == "the kernel's out-of-memory killer"
    assert killer.blame() == "somebody outside"


def test_nobody_is_blamed_when_the_count_cannot_be_read(counted: tuple[Path, str]) -> None:
    file, _ = counted
    killer = MemoryKiller()
    file.unlink()
    assert killer.blame() == ""
    assert MemoryKiller().blame() == ""
