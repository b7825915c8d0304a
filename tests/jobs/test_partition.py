"""Hosts that are cut off from their server and from each other, in network namespaces of their own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from support.postgres import needed
from support.source import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from .chaos.partition import Cut

pytestmark = [pytest.mark.any_python, pytest.mark.partition]


@pytest.fixture
def play() -> Callable[..., str]:
    """Plays one in a process of its own, which leaves the network of this one."""
    needed()
    from .chaos.network import problem  # noqa: PLC0415 - after it is known that there is a server

    why = problem()
    if why is not None:
        pytest.skip(why)

    def play(*words: str) -> str:
        command = [sys.executable, "-m", "tests.jobs.chaos", "--partition", *words]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return play


@pytest.mark.timeout(300)
@pytest.mark.report("J41", "kubernetes/kubernetes#23731")
def test_who_is_cut_off_writes_nothing_and_others_go_on(play: Callable[..., str]) -> None:
    """Each way in which a host can be cut off, once, and the leader at least once."""
    said = play("--seconds", "0", "--seed", "2")
    assert " of the leader" in said
    assert "0 bad" in said


@pytest.mark.stress
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("seed", range(100, 105))
def test_nothing_is_lost_in_a_minute_of_partitions(play: Callable[..., str], seed: int) -> None:
    assert "0 bad" in play("--seconds", "60", "--seed", str(seed))


@pytest.fixture
def cut() -> Cut:
    """Of the second host, from 100 to 200."""
    needed()
    from .chaos.partition import Cut  # noqa: PLC0415 - an extra

    return Cut(host=2, ways="both", led=True, since=100, until=200)


@pytest.mark.parametrize(
    ("at", "who", "is_found"), [(150, "h2-7.1", True), (150, "h1-7.1", False), (200, "h2-7.1", False)]
)
def test_what_is_written_by_who_was_cut_off_is_found(cut: Any, at: int, who: str, is_found: bool) -> None:  # noqa: FBT001
    from .chaos.partition import silent  # noqa: PLC0415 - as above
    from .chaos.steps import Step  # noqa: PLC0415 - as above

    assert bool(silent([Step(at, who, "job", None, {})], [cut])) == is_found
