"""A child process that answers one line for each line it is sent, within a time."""

from __future__ import annotations

import os
import select
import subprocess
import time
from typing import IO, TYPE_CHECKING, cast

from benchmarks.model import FailedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CHUNK = 65_536
LAST_WORDS = 2_000
LAST_BREATH = 5.0


class LineProcess:
    """Start `argv`; what it writes to its standard error goes to the file `log`."""

    def __init__(self, argv: Sequence[str], log: Path, env: Mapping[str, str] | None = None) -> None:
        self.log = log
        self.rest = b""
        with log.open("ab") as errors:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env, cwd=log.parent
            )
        self.input, self.output = cast("IO[bytes]", self.process.stdin), cast("IO[bytes]", self.process.stdout)

    def ask(self, line: str, timeout: float) -> str:
        """Send a line and return the answer.

        Raises:
            FailedError: the process ended, or did not answer within `timeout` seconds; it is killed then.
        """
        try:
            os.write(self.input.fileno(), f"{line}\n".encode())
        except BrokenPipeError:
            raise FailedError(f"it has ended: {self.last_words()}") from None
        return self.read(timeout)

    def read(self, timeout: float) -> str:
        """Return the next line it writes; errors as for `ask`."""
        until = time.monotonic() + timeout
        while b"\n" not in self.rest:
            if not select.select([self.output], [], [], max(0.0, until - time.monotonic()))[0]:
                self.process.kill()
                raise FailedError(f"no answer within {timeout:.0f} s")
            chunk = os.read(self.output.fileno(), CHUNK)
            if not chunk:
                raise FailedError(f"it has ended: {self.last_words()}")
            self.rest += chunk
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def close(self) -> None:
        """Close its standard input, which tells it to leave, and kill it if it does not."""
        self.input.close()
        try:
            self.process.wait(LAST_BREATH)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.output.close()

    def last_words(self) -> str:
        """The last line it wrote to standard error."""
        lines = self.log.read_text(encoding="utf-8", errors="replace")[-LAST_WORDS:].strip().splitlines()
        return lines[-1] if lines else "without a word"
