"""One pytest that has collected the tests and plays them again and again, as the command sees it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ROOT", "Lane", "Outcome", "failures", "read"]

ROOT = Path(__file__).parents[2]
OPTIONS = ("-q", "--tb=short", "--no-header", "-p", "no:cacheprovider", "-o", "console_output_style=classic")
LAST = re.compile(r"^=* ?(.*) in [\d.]+s", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run went."""

    number: int
    failed: tuple[str, ...]
    """The tests that have, by name."""
    said: str
    """What pytest counts in its last line."""
    seconds: float = 0.0
    processor: float = 0.0
    """Seconds of processor time, with all programs of its tests."""
    output: Path | None = None
    """Where all that it has said is."""

    def __str__(self) -> str:
        word = "failed" if self.failed else "passed"
        return (
            f"run {self.number}: {word}, {self.said} ({self.seconds:.0f} s, {self.processor:.0f} s of processor time)"
        )


class Lane:
    """Plays one run at a time."""

    def __init__(self, words: Sequence[str], kept: Path, patience: float) -> None:
        """Start to collect."""
        self.number = 0
        """The run that is played."""
        self.played = 0
        self.is_told = True
        """Whether its end is."""
        self.tests: int | None = None
        """How many there are, once that is known."""
        self._failed_before: tuple[str, ...] | None = None  # it was ended: what fails from then on fails of that
        self._kept, self._patience = kept, patience
        self._line, theirs = socket.socketpair()
        self._lines = self._line.makefile("rb", buffering=0)  # what it had read ahead, `select` would know nothing of
        descriptor, name = tempfile.mkstemp(prefix="collected-", suffix=".txt", dir=kept)
        self._output = Path(name)
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "pytest", *OPTIONS, "-p", "stress.plays", f"--plays={theirs.fileno()}", *words]
        with theirs, os.fdopen(descriptor, "w") as output:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=os.environ | {"PYTHONPATH": path},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C is for the command alone, which then ends the runs in order
            )

    def fileno(self) -> int:
        """Of what can be read once there is something to hear."""
        return self._line.fileno()

    def order(self, number: int) -> None:
        """Have this run played, as soon as all is collected."""
        self.number, self.is_told = number, False
        self.played += 1
        self._notes = Path(tempfile.mkdtemp(prefix="again-"))
        self._told = self._kept / f"run-{number}.txt"
        order = {"notes": str(self._notes), "output": str(self._told), "patience": self._patience}
        with suppress(ConnectionError):  # it has just been lost, which is heard next
            self._line.sendall(json.dumps(order).encode() + b"\n")

    def hear(self) -> Outcome | None:
        """Take what it says: how the run has ended, or None where that was only how many tests there are."""
        told = b""
        with suppress(ConnectionError):
            told = self._lines.readline()
        if not told:
            return self._lost()
        words = json.loads(told)
        if "tests" in words:
            self.tests = words["tests"]
            return None
        return self._outcome(**words)

    @property
    def is_lost(self) -> bool:
        """Whether it plays no more."""
        return self._process.returncode is not None

    def hang_up(self) -> None:
        """Begin to end it, and what it plays."""
        if self._failed_before is None and not self.is_told:
            self._failed_before = tuple(read(self._notes / "failed").splitlines())
        with suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        if self.tests is None:
            self._process.terminate()  # it would not listen before it has collected

    def close(self) -> Outcome | None:
        """End it; the outcome of what it was still playing, where something had failed already."""
        self.hang_up()
        self._lines.close()
        self._line.close()
        self._process.wait()
        if self.tests is not None or not self.is_told:
            self._output.unlink()
        return None if self.is_told else self._cut_short()

    def _outcome(self, status: int, hung: bool, **took: float) -> Outcome:  # noqa: FBT001 - as it is told
        return self._told_of(failures(self._notes, status, hung=hung), _counts(read(self._told)), **took)

    def _cut_short(self) -> Outcome | None:
        outcome = self._told_of(self._failed_before or (), "it was cut short")
        return outcome if outcome.failed else None

    def _told_of(self, failed: tuple[str, ...], said: str, **took: float) -> Outcome:
        """What is told of a run that has ended, of which only the output stays, and that only where it has failed."""
        self.is_told = True
        self._clear()
        if not failed:
            self._told.unlink(missing_ok=True)
        return Outcome(number=self.number, failed=failed, said=said, output=self._told if failed else None, **took)

    def _lost(self) -> Outcome:
        """It has ended by itself."""
        status = self._process.wait()
        self.is_told = True
        self._clear()
        what = "pytest itself, while it collected the tests" if self.tests is None else "the one that began the run"
        said = f"{what} ({_end(status)})"
        return Outcome(number=self.number, failed=(said,), said=_counts(read(self._output)), output=self._output)

    def _clear(self) -> None:
        """End what was begun in its directories, as a server of a run that was killed, and remove them."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):  # it has ended, or is somebody else's
                if os.fsencode(self._notes) in (process / "environ").read_bytes():
                    os.kill(int(process.name), signal.SIGKILL)
        shutil.rmtree(self._notes, ignore_errors=True)


def failures(notes: Path, status: int, *, hung: bool) -> tuple[str, ...]:
    """What has failed in a run, by its notes; where that does not tell its end, also what it was playing then."""
    failed = read(notes / "failed").splitlines()
    if hung or status < 0 or (status and not failed):
        failed.append(f"{read(notes / 'now') or 'pytest itself'} ({_end(status, hung=hung)})")
    return tuple(dict.fromkeys(failed))


def read(file: Path) -> str:
    """What is in a file; nothing, where it is not there."""
    return file.read_text(errors="replace") if file.exists() else ""


def _counts(output: str) -> str:
    """Without the time, which counts from when the tests were collected."""
    found = LAST.findall(output)
    return found[-1] if found else "it did not come to its end"


def _end(status: int, *, hung: bool = False) -> str:
    if hung:
        return "hung"
    return f"died of {signal.Signals(-status).name}" if status < 0 else f"status {status}"
