"""`otpy demo` on a server: what is killed, and who joins; every file counts once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from otpy.cli.demo_store import run_of, taken
from otpy.cli.demo_views import Show
from otpy.cli.lazy import CommandError
from otpy.demo.durable import Watcher
from otpy.jobs.errors import StoreError
from support.pooler import pooled
from support.postgres import fresh_url, server
from support.systems import quiet

from .test_demo_durable import FILES, a_slow_one, all_are_counted, folder

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from otpy.demo.collector import Progress

    Otpy = Callable[..., Result]

__all__ = ["folder", "quiet"]

pytestmark = pytest.mark.any_python


@pytest.fixture
def address() -> str:
    """Of a database, with no word of a schema."""
    return server().url().partition("&options=")[0]


def schemas() -> list[str]:
    return [name for (name,) in server().sql("select nspname from pg_namespace where nspname like 'otpy_demo_%'")]


def test_a_program_that_was_killed_goes_on_where_it_was_and_another_terminal_sees_it(
    otpy: Otpy, folder: Path, address: str, directory: Path
) -> None:
    command = [str(folder), "--store", address, "--seed", "1"]
    with a_slow_one(*command, "--directory", str(directory)):
        seen = otpy("jobs", "demo")
        assert re.search(r"^files +\d+", seen.stdout, re.MULTILINE), seen.output
    assert schemas() == [f"otpy_demo_{run_of(str(folder), ())}"]
    second = otpy("demo", *command)
    assert second.exit_code == 0, second.output
    assert f"what is done is kept in {address}, schema otpy_demo_" in second.stdout
    assert "an earlier run was not finished, and this one goes on with it" in second.stdout
    assert 0 < all_are_counted(second.stdout) < FILES
    assert schemas() == []


def test_a_second_program_joins_and_goes_on_when_the_first_is_killed(
    otpy: Otpy, folder: Path, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is killed when the second has counted some, too: what it had at hand waits for its lease."""
    command = [str(folder), "--store", address, "--seed", "1", "--pause", "0.05", "--agents", "2"]
    ended: list[str] = []
    with a_slow_one(*command, "--directory", str(tmp_path / "first")) as first:
        tell = Show.tell

        def kill_once(self: Show, progress: Progress) -> None:
            tell(self, progress)
            if progress.counted > progress.before and first.poll() is None:
                first.kill()
                ended.append("first")

        monkeypatch.setattr(Show, "tell", kill_once)
        second = otpy("demo", *command)
    assert second.exit_code == 0, second.output
    assert "another program counts them already; this one counts with it" in second.stdout
    assert 0 < all_are_counted(second.stdout) < FILES
    assert ended
    assert schemas() == []


def test_a_server_that_is_away_for_a_while_ends_no_run(
    otpy: Otpy, folder: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who watched the run died of it at once, three times, and took the demo along."""
    numbers = Watcher.numbers
    refused: list[str] = []

    def down_once(self: Watcher) -> Counter[str]:
        found = numbers(self)
        if not found["done"] or refused:
            return found
        with server().down(), pytest.raises(StoreError) as raised:
            numbers(self)
        refused.append(str(raised.value))
        raise raised.value

    monkeypatch.setattr(Watcher, "numbers", down_once)
    command = ["demo", str(folder), "--store", address, "--crash", "0", "--pause", "0.01"]
    result = otpy(*command)
    assert (result.exit_code, "The totals are equal" in result.stdout) == (0, True), result.output
    assert "the server cannot be reached" in refused[0]
    again = otpy(*command)  # the first has lost its lock with its connection, and left the schema
    assert (again.exit_code, all_are_counted(again.stdout), schemas()) == (0, FILES, [])


def test_who_ends_first_leaves_the_schema_to_the_other(address: str) -> None:
    with taken(address, "a", is_fresh=False) as first, taken(address, "a", is_fresh=False) as second:
        assert (first.is_shared, first.is_resumed, second.is_shared, second.is_resumed) == (False, False, True, True)
        with pytest.raises(CommandError, match="another program counts into"), taken(address, "a", is_fresh=True):
            pass
        first.finish()
        assert schemas() == ["otpy_demo_a"]
        second.finish()
    assert schemas() == []


def test_where_no_run_can_be_kept_is_told(otpy: Otpy, folder: Path, address: str) -> None:
    gone = otpy("demo", str(folder), "--store", "postgresql://me:hidden@/db?host=/nowhere")
    assert gone.exit_code == 70
    assert re.fullmatch(
        r"Error: postgresql://me:\*\*\*@/db\?host=/nowhere: the server cannot be reached.*\n", gone.stderr
    )
    other = otpy("demo", str(folder), "--store", "mysql://me:s3cret@h/db")
    assert other.stderr.endswith(": the address of a server begins with postgresql://\n")
    assert (other.exit_code, other.stderr.count("\n"), "s3cret" in other.stderr) == (70, 1, False)
    with pooled(fresh_url()) as pooler:
        result = otpy("demo", str(folder), "--store", pooler)
    assert (result.exit_code, "is a pooler, which keeps no locks" in result.stderr) == (70, True)


@pytest.mark.parametrize(
    ("address", "there"),
    [
        ("postgresql://a:b@h:1,i:2/db", "postgresql://a:b@h:1,i:2/db?options=-csearch_path%3Ds"),
        ("postgresql:///db?host=/run/x", "postgresql:///db?host=/run/x&options=-csearch_path%3Ds"),
        (
            "postgresql://h/db?options=-cx%3D1&sslmode=require",
            "postgresql://h/db?sslmode=require&options=-cx%3D1%20-csearch_path%3Ds",
        ),
    ],
)
def test_the_schema_joins_the_address(address: str, there: str) -> None:
    from otpy.cli.demo_server import with_schema  # noqa: PLC0415 - an extra

    assert with_schema(address, "s") == there
