"""Plays what a page shows: files that are written, commands in two or three terminals, and what they print.

A page's blocks are marked in their first line: `python file=shop.py` is written into the page's folder, `console first`
runs in the first terminal, where programs stay, as they do in the third; `console second` in another one, each command
until it ends. In a console block a line that begins with `$` is a command, the others are what it prints: figures may
differ, `…` in a line stands for any text, a line of `…` alone for any lines. A `console first` or `third` block without
a command shows what its program prints next; the player waits for that before it goes on, as a reader would.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING, Self

from support.forked import Forked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from support.markdown import Block

__all__ = ["Session"]

SHELL = "/bin/sh"
STAYING = {"first", "third"}
"""The terminals in which programs stay."""
PATIENCE = 30.0
"""Seconds for a command, or until a program prints what its page shows next; only a failing test waits so long."""
OTPY = f"import otpy.control.client as client; client.HELLO_TIME = {PATIENCE / 2}; from otpy.cli import main; main()"
"""The command line, patient with programs on a machine that has more to do: pages show it without a `--timeout`."""

COMMANDS = {"otpy": ["-c", OTPY], "python": []}
"""What these words of a page stand for: Python, with these arguments before those of the page."""
SYNTAX = re.compile(r"[$|&;<>*?`\\(){}\[\]~#]")
"""What only a shell understands."""

FIGURE = re.compile(r"(?<![\w.])\d[\d.,:]*(?![\w.])\s?(ms|µs|s|m|h|d)?\b|\b\d[\d.]*(ms|µs|s|m|h|d)\b")


class Session:
    """One page's folder and its terminals."""

    def __init__(self, folder: Path) -> None:
        """Make `otpy` and `python` commands that run this very source, with sockets in a place of their own."""
        self.folder = folder / "work"
        self.folder.mkdir()
        commands = folder / "bin"
        commands.mkdir()
        sockets = folder / "run"
        sockets.mkdir(mode=0o700)
        for name, arguments in COMMANDS.items():
            _command(commands / name, shlex.join(arguments))
        self._environment = os.environ | {
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(sockets),
            "TMPDIR": str(folder),  # names are looked for below it as well, and others run programs here
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONUNBUFFERED": "1",
            "COLUMNS": "100",
        }
        self._programs: dict[str, subprocess.Popen[str]] = {}  # by their terminals

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for terminal in reversed([*self._programs]):
            try:
                self._end(terminal)
            finally:
                self._programs[terminal].kill()

    def play(self, block: Block) -> None:
        """Do what one block says; raises AssertionError where it prints something else."""
        for mark in block.marks:
            if mark.startswith("file="):
                (self.folder / mark.removeprefix("file=")).write_text(block.code)
        for terminal in STAYING & {*block.marks}:
            self._play_staying(terminal, block)
        if "second" in block.marks:
            for command, shown in commands_in(block.code):
                done = self._run(command)
                assert alike(shown, done.splitlines()), f"{block}: {command}\nprints\n{done}"

    def _play_staying(self, terminal: str, block: Block) -> None:
        for command, shown in commands_in(block.code):
            if command == "^C":
                self._interrupt(terminal)
            elif command:
                self._end(terminal)
                self._programs[terminal] = self._open(command)
            self._await(terminal, block, shown)
            if command == "^C":
                self._programs[terminal].wait(PATIENCE)  # a reader waits for the prompt

    def _await(self, terminal: str, block: Block, shown: list[str]) -> None:
        """Read what a terminal prints until the last of these lines has come; what lies between may be more."""
        assert terminal in self._programs, f"{block}: nothing runs in the {terminal} terminal"
        program = self._programs[terminal]
        assert program.stdout is not None
        seen: list[str] = []
        with _killed_after(PATIENCE, program):
            for wanted in shown:
                if wanted.strip() == "…":
                    continue
                for line in program.stdout:
                    seen.append(line)
                    if alike([wanted], [line]):
                        break
                else:
                    raise AssertionError(f"{block}: {wanted!r} is not printed, but\n{''.join(seen)}")

    def _end(self, terminal: str) -> None:
        """A new program begins in a terminal: the one before has ended, or is ended."""
        if terminal in self._programs:
            self._interrupt(terminal)
            self._programs[terminal].communicate(timeout=PATIENCE)

    def _interrupt(self, terminal: str) -> None:
        program = self._programs.get(terminal)
        if program is not None and program.poll() is None:
            os.killpg(program.pid, signal.SIGINT)

    def _open(self, command: str) -> subprocess.Popen[str]:
        """Start it: by a shell, unless that would only start Python."""
        name, *words = shlex.split(command)
        is_plain = name in COMMANDS and not SYNTAX.search(command) and "-m" not in words
        return (Forked if is_plain else subprocess.Popen)(
            [sys.executable, *COMMANDS[name], *words] if is_plain else [SHELL, "-c", command],
            cwd=self.folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def _run(self, command: str) -> str:
        with self._open(command) as program:
            try:
                return program.communicate(timeout=PATIENCE)[0]
            except subprocess.TimeoutExpired:
                _kill(program)
                raise


@contextmanager
def _killed_after(seconds: float, program: subprocess.Popen[str]) -> Iterator[None]:
    """Kill a program that is waited for longer: whoever reads what it prints then comes to the end of it."""
    watchdog = Timer(seconds, _kill, (program,))
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        watchdog.join()


def _kill(program: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):  # it has just ended
        os.killpg(program.pid, signal.SIGKILL)


def commands_in(code: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the lines shown after it; the first may be no command, but only lines."""
    command, shown = "", list[str]()
    for line in code.splitlines():
        if line.startswith("$ ") or line.strip() == "^C":
            if command or shown:
                yield command, shown
            command, shown = line.removeprefix("$ ").strip(), []
        else:
            shown.append(line)
    yield command, shown


def alike(shown: Iterable[str], printed: Iterable[str]) -> bool:
    """Whether the printed lines are those a page shows, but for figures, blanks, and what `…` stands for."""
    lines = [_plain(line) for line in printed if line.strip()]
    ends = {0}  # how many printed lines those shown so far may stand for
    for line in filter(str.strip, shown):
        if line.strip() == "…":
            ends = set(range(min(ends), len(lines) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(lines) and re.fullmatch(_pattern(line), lines[end])}
    return len(lines) in ends


def _pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in _plain(line).split("…"))


def _plain(line: str) -> str:
    return " ".join(FIGURE.sub("#", line).split())


def _command(path: Path, arguments: str) -> None:
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
