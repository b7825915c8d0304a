"""Plays scenarios on real OTP: one node for all of them, spoken to over its standard input and output."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from .model import Report, Scenario

__all__ = ["Beam", "BeamError", "is_there"]

ERLANG = Path(__file__).with_name("erlang")
PATIENCE = 60.0
"""Seconds one scenario may take; a net, for none takes more than a fraction of one where the machine has time."""


class BeamError(Exception):
    """The node gave no answer."""


def is_there() -> bool:
    """Whether Erlang is installed."""
    return shutil.which("erl") is not None and shutil.which("erlc") is not None


class Beam:
    """A node that plays one scenario after another."""

    def __init__(self) -> None:
        """Compile the player into a directory of its own; the node starts with the first scenario."""
        self._folder = tempfile.TemporaryDirectory(prefix="otpy-oracle-")
        self._node: subprocess.Popen[bytes] | None = None
        sources = sorted(map(str, ERLANG.glob("*.erl")))
        subprocess.run(["erlc", "-Werror", "-o", self._folder.name, *sources], check=True)  # noqa: S607 - on the PATH

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def play(self, scenario: Scenario) -> list[Report]:
        """What each step gave. Raises BeamError, and the next scenario gets a fresh node."""
        node = self._node = self._node or self._start()
        assert node.stdin is not None
        try:
            node.stdin.write(scenario.as_erlang().encode() + b"\n")
            node.stdin.flush()
            answer: Any = json.loads(_line_of(node))
        except (OSError, ValueError) as error:
            self._end()
            raise BeamError(f"the node did not play this: {error!r}\n{scenario.as_json()}") from error
        return answer  # type: ignore[no-any-return]

    def close(self) -> None:
        """End the node."""
        self._end()
        self._folder.cleanup()

    def _start(self) -> subprocess.Popen[bytes]:
        # One scheduler: a player that runs is then the only one that runs.
        command = ["erl", "+S", "1:1", "-noshell", "-pa", self._folder.name, "-eval", "oracle_player:main()"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _end(self) -> None:
        node, self._node = self._node, None
        if node is not None:
            node.kill()
            node.communicate()


def _line_of(node: subprocess.Popen[bytes]) -> bytes:
    """The node's next line. Raises TimeoutError, or ValueError when it has ended."""
    assert node.stdout is not None
    line, deadline = b"", time.monotonic() + PATIENCE
    with selectors.DefaultSelector() as selector:
        selector.register(node.stdout, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise TimeoutError(f"no answer within {PATIENCE:g} s")
            more = os.read(node.stdout.fileno(), 65536)
            if not more:
                raise ValueError("the node has ended")
            line += more
    return line
