"""What a killed keeper of an outbox may still write while its code runs on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from otpy.errors import CallExitError, StartError
from otpy.resilience.outbox.file import OutboxFile
from otpy.resilience.outbox.keeper import Keeper
from otpy.resilience.outbox.tables import Tables
from otpy.testing import Gate, VirtualSystem
from support.outboxes import Hub, kept, outbox, values

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub.db", "down")


@pytest.fixture
def system() -> Iterator[VirtualSystem]:
    made = VirtualSystem("test", seed=1)
    yield made
    made.stop()


def test_a_killed_keeper_that_is_in_the_middle_of_a_commit_has_the_file_until_it_leaves(
    system: VirtualSystem, tmp_path: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next one begins after that, with all that the first has written: never are there two that write."""
    monkeypatch.setattr(OutboxFile.__init__, "__kwdefaults__", {"profile": "full", "patience": 0.05})
    one, insert, gate = outbox(tmp_path / "o.db", hub.post), Tables.insert, Gate()
    keeper = system.start(Keeper, one)
    one.put("t", 0)

    def held(self: Tables, *args: Any) -> Any:
        gate.wait()
        return insert(self, *args)

    monkeypatch.setattr(Tables, "insert", held)
    with ThreadPoolExecutor(1) as pool:
        putting = pool.submit(one.put, "t", 1)
        gate.reached()
        keeper.kill()
        with pytest.raises(CallExitError):
            putting.result()
    with pytest.raises(StartError, match="has it open"):
        system.start(Keeper, outbox(tmp_path / "o.db", hub.post))
    gate.open()
    system.wait_idle()
    two = kept(system, outbox(tmp_path / "o.db", hub.post))
    two.put("t", 2)
    system.stop()
    assert values(two) in ([0, 1, 2], [0, 2])
