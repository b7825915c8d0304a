"""Every example runs as its header says and prints what its header says."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from support.forked import Forked
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
STORIES = sorted((ROOT / "examples").glob("*/__main__.py"))
HEADER = re.compile(
    r'^"""(?P<shows>.+?)\n\n    (?P<run>python .+?)\n\nprints:\n\n(?P<prints>.+?)\n"""$', re.MULTILINE | re.DOTALL
)
MAX_LINES = 100
MAX_LINES_OF_A_PART = 170
"""Of one of the programs that a story is told by."""
SECONDS = 60
"""How long an example may take; a net, for each ends by itself."""


def header(path: Path) -> re.Match[str]:
    """The three parts of an example's header: what it shows, how to run it, what it prints."""
    found = HEADER.match(path.read_text())
    assert found, f"{path.name}: the header says what it shows, how to run it and what it prints (docs/contributing.md)"
    return found


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a header's command from the repository's root with the Python of the tests."""
    _, *rest = shlex.split(command)
    program = Forked(
        [sys.executable, *rest],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        printed, said = program.communicate(timeout=SECONDS)
    finally:
        with suppress(ProcessLookupError):  # also what it has started, when it is late
            os.killpg(program.pid, signal.SIGKILL)
    return subprocess.CompletedProcess(rest, program.returncode, printed, said)


@pytest.mark.parametrize("path", [*EXAMPLES, *STORIES], ids=lambda path: path.relative_to(ROOT / "examples").parts[0])
def test_an_example_prints_what_its_header_says(path: Path) -> None:
    said = header(path)
    expected = textwrap.dedent(said["prints"]) + "\n"

    done = run(said["run"])

    assert doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS), done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_short_and_names_itself(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= MAX_LINES
    assert f"examples/{path.name}" in header(path)["run"]


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.parent.name)
def test_a_story_is_told_by_short_programs_and_names_itself(path: Path) -> None:
    for part in path.parent.glob("*.py"):
        assert len(part.read_text().splitlines()) <= MAX_LINES_OF_A_PART
    assert f"python -m examples.{path.parent.name}" in header(path)["run"]
