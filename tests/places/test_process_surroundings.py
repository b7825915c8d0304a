"""Process children of programs that run in odd surroundings."""

from __future__ import annotations

import os
import subprocess
import sys
import zipapp
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.any_python

RUN = """
from support.far import Far
import os, otpy
with otpy.run(otpy.child(Far).opts(place="process"), control="off") as system:
    system.root.call(Far.say, "x")
    print(repr(system.root.call(Far.echo, 5)), end="")
"""


def run(code: str, *flags: str, **options: object) -> str:
    """What a program says whose only actor runs in a process."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    source = code + RUN
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


WITHOUT = """
from support.far import Far
import os, otpy
os.dup2(os.open(os.devnull, os.O_RDWR), 61)
for closed in ((0, 1, 2), (0, 1), (1,), (0,)):
    for fd in range(3):
        os.dup2(61, fd)
        if fd in closed:
            os.close(fd)
    with otpy.run(otpy.child(Far).opts(place="process"), control="off") as system:
        system.root.call(Far.say, "x")
        os.write(60, repr(system.root.call(Far.echo, closed)).encode())
"""


def test_a_program_may_have_no_standard_streams() -> None:
    """From its beginning, or any longer; its pipes and those to its helper get their numbers."""
    start = "import os, sys; os.dup2(1, 60); os.closerange(0, 3); os.environ['X'] = '1'; "
    again = "os.set_inheritable(60, True); os.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.run(
        [sys.executable, "-S", "-E", "-c", start + again, WITHOUT],
        env=env,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert program.stdout == b"(0, 1, 2)(0, 1)(1,)(0,)"


def test_its_folder_may_be_gone(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    imported = "import os, socket, support.far"  # 3.13.0 cannot import socket in a folder that is gone
    assert run(f"{imported}; os.rmdir({str(folder)!r})", cwd=folder) == "5"


def test_warnings_may_be_errors_and_what_is_no_text_on_the_search_path_is_passed_over() -> None:
    assert run("import pathlib, sys; sys.path.insert(0, pathlib.Path('/'))", "-X", "dev", "-W", "error", "-bb") == "5"


MAIN = """
import otpy

class Inner(otpy.GenServer):
    @otpy.call
    def word(self) -> str:
        return "inner"

class Outer(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Inner).opts(place="process", name="inner")]

def start() -> None:
    with otpy.run(otpy.child(Outer).opts(place="process"), control="off") as system:
        inner = system.root.call(otpy.Supervisor.which_child, "Inner").ref
        print(inner.call(Inner.word))
"""
GUARD = 'if __name__ == "__main__":\n    start()\n'


def outcome(*arguments: object, **options: object) -> str:
    """The last line that a program says, on either stream."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, *map(str, arguments)]
    program = subprocess.run(  # type: ignore[call-overload]  # as above
        command, env=env, capture_output=True, text=True, timeout=30, check=False, **options
    )
    return str((program.stdout + program.stderr).rstrip().rpartition("\n")[2])


@pytest.mark.parametrize("form", ["script", "module", "folder", "archive"])
def test_classes_of_a_main_module_run_in_processes_and_in_processes_below(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    file = folder / "__main__.py"
    file.write_text(MAIN + GUARD)
    match form:
        case "script":
            assert outcome(file) == "inner"
        case "module":
            assert outcome("-m", "program", cwd=tmp_path) == "inner"
        case "folder":
            assert outcome(folder) == "inner"
        case "archive":
            zipapp.create_archive(folder, tmp_path / "program.pyz")
            assert outcome(tmp_path / "program.pyz") == "inner"


def test_a_main_module_that_starts_its_tree_unguarded_is_told_so(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(MAIN + "start()\n")
    assert 'put the start under `if __name__ == "__main__":`' in outcome(file)


def test_a_main_module_that_cannot_be_run_again_says_why(tmp_path: Path) -> None:
    file = tmp_path / "main.py"
    file.write_text(MAIN + GUARD + "else:\n    raise ValueError('not here')\n")
    assert outcome(file).endswith("did not start: ValueError: not here")
