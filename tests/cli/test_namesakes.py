"""Looks at a program beside which others run that wanted its name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

import otpy as library
from otpy.control.claim import claim_name
from support.doer import Doer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from click.testing import Result

    Otpy = Callable[..., Result]
    Runs = Callable[[], AbstractContextManager[library.Application]]


@pytest.fixture
def runs(directory: Path) -> Runs:
    """Starts a program that wants to be called shop."""
    return lambda: library.run(Doer, name="shop", control_directory=directory)


@pytest.fixture
def others(directory: Path) -> Iterator[None]:
    """One of another name, and one that has ended without a word."""
    stale = claim_name("shop-9", directory)
    stale.listen().close()
    with library.run(Doer, name="shop-front", control_directory=directory):
        yield
    stale.release()


@pytest.mark.parametrize("words", [("tree", "shop"), ("health", "shop"), ("doctor", "shop")], ids=" ".join)
@pytest.mark.usefixtures("others")
def test_a_look_at_one_of_two_programs_tells_of_the_other(otpy: Otpy, runs: Runs, words: tuple[str, ...]) -> None:
    """Who has started the second one may believe that this is it."""
    with runs():
        alone = otpy(*words)
        with runs() as second:
            beside, plain, other = otpy(*words), otpy(*words, "--json"), otpy(words[0], "shop-2")

    assert second.name == "shop-2"
    assert [seen.exit_code for seen in (alone, beside, plain, other)] == [0] * 4
    assert (alone.stderr, plain.stderr, other.stderr) == ("", "", "")
    assert beside.stderr == "there is also shop-2: otpy ps tells them apart\n"


def test_a_probe_gets_its_answer_alone(otpy: Otpy, runs: Runs) -> None:
    with runs(), runs():
        seen = otpy("health", "shop", "--ready")

    assert (seen.stdout, seen.stderr) == ("shop is ready\n", "")


def test_a_program_whose_name_is_taken_says_whose_it_is(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    with runs(), runs(), runs() as third:
        said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]

    assert third.name == "shop-3"
    assert said == [
        f"process {os.getpid()} has the name shop: this program runs as {name}" for name in ("shop-2", "shop-3")
    ]
