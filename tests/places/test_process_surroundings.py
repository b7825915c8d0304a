"""Process children of programs that run in odd surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

RUN = """
from support.far import Far
import os, otpy
with otpy.run(otpy.child(Far).opts(place="process"), control="off") as system:
    system.root.call(Far.say, "x")
    os.write({to}, repr(system.root.call(Far.echo, 5)).encode())
"""


def run(code: str, *flags: str, to: int = 1, **options: object) -> str:
    """What a program says whose only actor runs in a process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    source = code + RUN.format(to=to)
    program = subprocess.run(  # type: ignore[call-overload]  # options are what it takes
        [sys.executable, *flags, "-c", source],
        env=env,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        **options,
    )
    assert program.stderr == "far: x\nfar: x\n"  # what the child has printed, and nothing else
    return str(program.stdout)


@pytest.mark.parametrize("closed", [(0,), (1,), (0, 1), (0, 1, 2)], ids=str)
def test_a_program_may_have_no_standard_streams(closed: tuple[int, ...]) -> None:
    out = os.dup(1)  # any number above those
    os.close(out)
    start = f"import os, sys; os.dup2(1, 60); [os.close(fd) for fd in {closed}]; os.environ['X'] = '1'; "
    again = "os.set_inheritable(60, True); os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.run(
        [sys.executable, "-c", start + again, RUN.format(to=60)], env=env, capture_output=True, timeout=20, check=False
    )
    assert program.stdout == b"5"


def test_its_folder_may_be_gone(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    imported = "import os, socket, support.far"  # 3.13.0 cannot import socket in a folder that is gone
    assert run(f"{imported}; os.rmdir({str(folder)!r})", cwd=folder) == "5"


def test_what_is_no_text_on_the_search_path_is_passed_over() -> None:
    assert run("import pathlib, sys; sys.path.insert(0, pathlib.Path('/'))") == "5"


def test_warnings_may_be_errors_and_everything_be_checked() -> None:
    assert run("", "-X", "dev", "-W", "error", "-bb") == "5"
