"""Invariant I1 when the power fails: `full` loses nothing that was told, `fast` no more than the last moments."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Literal

import pytest

from otpy.jobs.model.lead import Fence

from .conftest import Clock
from .power import Powered
from .shop import LEASE, claim, insert, new, settle

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.jobs.model.job import Job

CUTS = 60


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("profile", ["full", "fast"])
def test_power_failures(tmp_path: Path, profile: Literal["full", "fast"], seed: int) -> None:
    live(tmp_path, profile, seed, CUTS)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100, 130))
@pytest.mark.parametrize("profile", ["full", "fast"])
def test_power_failures_by_the_thousand(tmp_path: Path, profile: Literal["full", "fast"], seed: int) -> None:
    live(tmp_path, profile, seed, 300)


def live(folder: Path, profile: Literal["full", "fast"], seed: int, cuts: int) -> None:
    """Use a store, and after each step look what would be there if the power failed now."""
    random, clock = Random(seed), Clock()
    with closing(Powered(folder / "jobs.db", profile, clock)) as store:
        assert store.store._db.execute("pragma synchronous").fetchone()[0] == (2 if profile == "full" else 1)
        with store.transaction() as tx:
            fence = Fence(name="jobs", epoch=tx.elect("jobs", "us", 10**9) or 0)
        running: list[Job] = []
        for number in range(cuts):
            step(random, store, clock, fence, running)
            copy = folder / f"cut-{number}.db"
            found, may_be = store.cut(random, copy)
            assert found in [store.moments[one].facts for one in may_be], f"seed {seed}, cut {number}"
            for file in folder.glob("cut-*"):
                file.unlink()


def step(random: Random, store: Powered, clock: Clock, fence: Fence, running: list[Job]) -> None:
    clock.now += random.randrange(-2_000, 6_000)
    match random.choice(["insert", "insert", "claim", "settle", "settle", "upkeep"]):
        case "insert":
            insert(store, *[new(args=b"x" * random.randrange(3_000)) for _ in range(random.randrange(1, 9))])  # type: ignore[arg-type]
        case "claim":
            running += claim(store, fence, random.randrange(1, 5))  # type: ignore[arg-type]
        case "settle" if running:
            job = running.pop(random.randrange(len(running)))
            settle(store, job, random.choice(["done", "ready", "dead"]))  # type: ignore[arg-type]
        case _:
            with store.transaction() as tx:
                tx.promote(9, fence)
                tx.rescue(0, 9, fence, LEASE)
                tx.prune(clock.now - 9_000, 9)
