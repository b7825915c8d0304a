"""Tests that would let a mistake pass prove nothing: each of these mistakes is made, and must be caught."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stress.mutations import MUTATIONS, Mutation

ROOT = Path(__file__).parents[2]
LONGEST = 240.0
"""Seconds a run may take; a mistake may make tests wait for what never comes, and their own net is `PATIENCE`."""
PATIENCE = 20


@pytest.fixture(scope="session")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package and its tests."""
    copy = tmp_path_factory.mktemp("mutations")
    for folder in ("otpy", "tests"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_text_to_be_changed_stands_in_the_source_once(mutation: Mutation) -> None:
    source = (ROOT / "otpy" / mutation.file).read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1, f"otpy/{mutation.file} was changed: bring this row of mutations.py up to it"
    assert mutation.old != mutation.new


def test_no_two_mistakes_have_one_name() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.stress
@pytest.mark.timeout(600)
def test_without_a_mistake_all_is_well(copy: Path) -> None:
    files = sorted({file for mutation in MUTATIONS for file in mutation.tests.split()})
    status, output = run(copy, files)
    assert status == 0, output


@pytest.mark.stress
@pytest.mark.timeout(600)
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_mistake_is_caught(copy: Path, mutation: Mutation) -> None:
    path = copy / "otpy" / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.old) == 1
    path.write_text(source.replace(mutation.old, mutation.new), encoding="utf-8")
    try:
        status, output = run(copy, mutation.tests.split())
    finally:
        path.write_text(source, encoding="utf-8")
    assert status == 1, f"no test in {mutation.tests} has failed (status {status}):\n{output}"


def run(copy: Path, files: list[str]) -> tuple[int, str]:
    """Run test files of the copy until one fails; pytest's exit status (1 for a failed test), and the end of its words.

    One that does not end at all is as good as a failure.
    """
    options = ["-x", "-q", "--tb=line", "--no-header", "-p", "no:cacheprovider", f"--timeout={PATIENCE}"]
    command = [sys.executable, "-B", "-m", "pytest", *options, *(f"tests/{file}" for file in files)]
    # Nothing compiled is kept (`-B`), nor does the copy's conftest undo that: one text may have the next one's size.
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": ""}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, ""
    return done.returncode, (done.stdout + done.stderr)[-2_000:]
