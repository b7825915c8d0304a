"""`otpy jobs hosts` and `activate`: beside a real program, and the views with whatever a program may say."""

from __future__ import annotations

import json
import os
import socket
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy import jobs
from otpy.cli.hosts_view import hosts_view, switched_view
from support.postgres import fresh_url
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result
    from rich.console import RenderableType

__all__ = ["quiet"]


@jobs.job
def nothing() -> None:
    """Is never run."""


def program(url: Path | str, **options: Any) -> type[library.Supervisor]:
    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [jobs.engine(url, [nothing], **options)]

    return Shop


def drawn(view: RenderableType) -> str:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def test_programs_are_listed_and_a_version_is_switched_to_and_back(
    directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    tree = program(fresh_url(), version="blue", labels={"gpu"})
    with library.run(tree, name="shop", control_directory=directory) as system:
        system.wait_idle(timeout=20.0)
        shown = otpy("jobs", "hosts", "shop").output.splitlines()
        said = [otpy("jobs", "activate", "shop", version) for version in ("blue", "gren")]
        said += [otpy("jobs", "activate", "shop", *words) for words in (("green", "--force"), ("--any",), ())]
        found = json.loads(otpy("jobs", "hosts", "shop", "--all", "--json").output)
    host = f"{socket.gethostname()}:{os.getpid()}"
    assert shown[0].split() == ["host", "version", "agents", "heard", "of", "labels"]
    assert shown[1].split()[:3] == [host, "blue", "4"]
    assert shown[1].endswith("gpu     leads")
    assert [(one.exit_code, one.output) for one in said] == [
        (0, "version blue is active; before, those of any version were\n"),
        (
            70,
            (
                "Error: no program that works here has the version 'gren': known are blue; "
                "force (--force) switches nevertheless\n"
            ),
        ),
        (0, "version green is active; before, version blue was\n"),
        (0, "programs of any version are active; before, version green was\n"),
        (2, said[4].output),
    ]
    assert said[4].output.endswith("Error: name a version, or say --any\n")
    (one,) = found["hosts"]
    assert (one["name"], one["labels"], one["is_alive"], one["draining_since"]) == (host, ["gpu"], True, None)
    assert one["beat_at"] <= 0 < one["until"]
    assert found["active"] is None


def test_on_a_file_no_programs_are_known(tmp_path: Path, directory: Path, otpy: Callable[..., Result]) -> None:
    with library.run(program(tmp_path / "jobs.db"), name="shop", control_directory=directory):
        assert otpy("jobs", "hosts", "shop").output.startswith("no program is known: on a file")


def test_what_each_program_is_about_stands_beside_it() -> None:
    base = {"version": "blue", "agents": 1, "beat_at": -2.5, "labels": [], "is_alive": True, "is_leading": False}
    hosts = [
        {**base, "name": "\x1b[31ma:1", "is_leading": True},
        {**base, "name": "b:2", "version": "green"},
        {**base, "name": "c:3", "draining_since": -1.0},
        {**base, "name": "d:4", "is_alive": False},
        "strange",
    ]
    lines = drawn(hosts_view({"active": "blue", "hosts": hosts}, 80)).splitlines()
    assert [line.split()[-1] for line in lines[1:5]] == ["leads", "by", "drains", "ended"]
    assert lines[1].startswith("\\x1b[31ma:1")
    assert lines[5] == "version blue is active"


@pytest.mark.parametrize("said", [None, [], {"hosts": 5}, {"hosts": [{"labels": 1, "beat_at": "x"}], "active": 5}])
def test_whatever_a_program_says_is_drawn(said: object) -> None:
    assert drawn(hosts_view(said, 80))
    assert drawn(switched_view(said))
