"""A system's own name: unique among running programs, and free again whatever ends one."""

from __future__ import annotations

import multiprocessing
import os
import socket
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otpy.control import claim as claims
from otpy.control.claim import claim_name, free_name, listed_names, socket_file
from otpy.control.directory import opened_directory
from otpy.control.errors import DirectoryError, SystemNameError

if TYPE_CHECKING:
    from multiprocessing.sharedctypes import Synchronized

ROOT = Path(__file__).parents[2]

DYING = """
import os, sys
from pathlib import Path
from otpy.control.claim import claim_name
claim = claim_name("shop", Path(sys.argv[1]))
listener = claim.listen()
os._exit(0)
"""


def files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def die_as_shop(directory: Path) -> None:
    """A program named shop that ends without any clean-up."""
    subprocess.run([sys.executable, "-c", DYING, str(directory)], check=True, cwd=ROOT)


def test_the_first_program_gets_the_name_and_the_others_a_number(directory: Path) -> None:
    with ExitStack() as stack:
        taken = [claim_name("shop", directory) for _ in range(3)]
        for claim in taken:
            stack.callback(claim.release)

        assert [claim.name for claim in taken] == ["shop", "shop-2", "shop-3"]
        assert [claim.holder for claim in taken] == [None, os.getpid(), os.getpid()]


def test_a_name_given_back_is_free_again(directory: Path) -> None:
    first, second = claim_name("shop", directory), claim_name("shop", directory)
    first.release()
    third = claim_name("shop", directory)

    assert third.name == "shop"
    second.release()
    third.release()


def test_giving_back_twice_takes_nothing_from_the_next_holder(directory: Path) -> None:
    first = claim_name("shop", directory)
    first.release()
    second = claim_name("shop", directory)
    second.listen().close()

    first.release()

    assert files(directory) == ["shop.lock", "shop.sock"]
    second.release()


def test_the_socket_is_for_the_user_alone(directory: Path) -> None:
    claim = claim_name("shop", directory)
    claim.listen().close()

    assert stat.S_IMODE(claim.path.stat().st_mode) == 0o600
    assert stat.S_ISSOCK(claim.path.stat().st_mode)
    claim.release()


@pytest.mark.report("D121", "thespianpy/Thespian#69")
def test_what_a_dead_program_left_is_replaced(directory: Path) -> None:
    die_as_shop(directory)
    assert files(directory) == ["shop.lock", "shop.sock"]

    claim = claim_name("shop", directory)
    with claim.listen(), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(claim.path))

    assert claim.name == "shop"
    claim.release()


def test_a_living_program_keeps_its_name_when_its_lock_file_was_cleaned_away(directory: Path) -> None:
    first = claim_name("shop", directory)
    with first.listen():
        (directory / "shop.lock").unlink()
        second = claim_name("shop", directory)

    assert second.name == "shop-2"
    first.release()
    second.release()
    (directory / "shop.lock").unlink(missing_ok=True)


def test_a_lock_file_removed_between_opening_and_locking_does_not_give_the_name_twice(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The holder gives the name back just then, and a third program takes it: both would hold a lock."""
    holder = claim_name("shop", directory)
    others: list[claims.NameClaim] = []
    locked = claims._locked

    def after_the_others(lock: int) -> bool:
        if not others:
            holder.release()
            others.append(holder)  # so that the third program's own locking goes straight through
            others.append(claim_name("shop", directory))
        return locked(lock)

    monkeypatch.setattr(claims, "_locked", after_the_others)
    late = claim_name("shop", directory)

    assert (others[1].name, late.name) == ("shop", "shop-2")
    others[1].release()
    late.release()


def test_many_that_start_at_once_get_different_names(directory: Path) -> None:
    start = threading.Barrier(8)
    taken: list[claims.NameClaim] = []

    def run() -> None:
        start.wait()
        taken.append(claim_name("shop", directory))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(claim.name for claim in taken) == ["shop", *(f"shop-{number}" for number in range(2, 9))]
    for claim in taken:
        claim.release()


def test_a_name_taken_in_another_directory_of_the_user_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = claim_name("shop", tmp_path / "b")
    monkeypatch.setattr(claims, "search", lambda: [tmp_path / "a", tmp_path / "b", tmp_path / "missing"])
    monkeypatch.setattr(claims, "default_directory", lambda: tmp_path / "a")

    with first.listen():
        second = claim_name("shop")

    assert (second.name, second.holder) == ("shop-2", os.getpid())
    first.release()
    second.release()


@pytest.mark.parametrize("name", ["", "a/b", ".", "..", "x" * 65, "ä" * 20])
def test_a_name_that_cannot_be_a_file_is_refused(directory: Path, name: str) -> None:
    with pytest.raises(SystemNameError):
        claim_name(name, directory)


@pytest.mark.parametrize("name", ["shop", "my shop", "läden", "a.b", "100%", ".hidden", "x\ny", "caf\udce9", "x" * 64])
def test_any_other_name_is_found_again_by_its_file(directory: Path, name: str) -> None:
    claim = claim_name(name, directory)
    claim.listen().close()

    with opened_directory(directory) as descriptor:
        assert listed_names(descriptor) == [name]
    assert socket_file(name).isascii()
    claim.release()


def test_a_long_directory_is_no_hindrance(tmp_path: Path) -> None:
    directory = tmp_path / ("d" * 150)
    claim = claim_name("shop", directory)
    with claim.listen():
        assert claim.path.is_socket()
    claim.release()
    assert files(directory) == []


def test_a_path_that_takes_no_socket_is_named(directory: Path) -> None:
    claim = claim_name("shop", directory)
    claim.path.mkdir()

    with pytest.raises(DirectoryError, match="takes no socket"):
        claim.listen()

    claim.path.rmdir()
    claim.release()


def test_an_unsafe_directory_is_refused_and_nothing_stays_open(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir(mode=0o755)

    with pytest.raises(DirectoryError, match="chmod 700"):
        claim_name("shop", tmp_path / "open")


def report_and_release(claim: claims.NameClaim, lets_go: Synchronized[int]) -> None:
    lets_go.value = claim._lock
    claim.release()


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_neither_keeps_the_name_nor_gives_it_away(directory: Path) -> None:
    claim = claim_name("shop", directory)
    context = multiprocessing.get_context("fork")
    lets_go = context.Value("i", 99)

    with claim.listen():
        child = context.Process(target=report_and_release, args=(claim, lets_go))
        child.start()
        child.join()
        second = claim_name("shop", directory)

    assert lets_go.value == -1
    assert files(directory) == ["shop-2.lock", "shop.lock", "shop.sock"]
    assert second.name == "shop-2"
    child.close()
    claim.release()
    second.release()
    assert os.listdir(directory) == []  # noqa: PTH208 - a plain list says it all


def test_the_name_that_is_free_is_told_without_taking_it(directory: Path) -> None:
    assert free_name("shop", directory) == "shop"
    assert not directory.exists()
    claim = claim_name("shop", directory)
    listener = claim.listen()

    assert free_name("shop", directory) == "shop-2"

    listener.close()
    claim.release()
    assert free_name("shop", directory) == "shop"
