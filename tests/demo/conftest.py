"""What the demo's tests share: a small folder, and a way to count it with agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.demo.count_files import SCHEDULER, Agent, Scheduler
from otpy.demo.tree import CountFiles
from otpy.demo.trouble import Trouble, mute

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otpy.demo.collector import Progress

FILES = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve files in two folders, one of them empty, two of them alike."""
    place = tmp_path / "files"
    (place / "below").mkdir(parents=True)
    for number in range(FILES - 1):
        (place / "below" / f"{number}.txt").write_text("two words\n" * (number // 2))
    (place / "top.bin").write_bytes(bytes(range(256)))
    return place


@pytest.fixture
def count() -> Callable[..., list[Progress]]:
    """Counts a folder and returns all that the collector told."""

    def run(
        folder: Path, agent: type[Agent] = Agent, trouble: Trouble | None = None, agents: int = 3
    ) -> list[Progress]:
        mute()
        told: list[Progress] = []
        crew = [otpy.child(agent, trouble or Trouble())] * agents
        scheduler = otpy.child(Scheduler, crew).opts(name=SCHEDULER)
        with otpy.run(CountFiles, scheduler, told.append, control="off") as system:
            system.ref(SCHEDULER).cast(Scheduler.count, str(folder))
            system.wait()
        return told

    return run
