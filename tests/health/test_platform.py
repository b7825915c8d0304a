"""A platform that stops a program: probes answer all through the drain, in a process of its own."""

from __future__ import annotations

import os
import signal
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

from support.programs import Program

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """
    from otpy.health import HttpHealth
    PROBES = HttpHealth(bind="127.0.0.1:0")
    class Web(otpy.GenServer):
        def handle_drain(self, drain):
            say("drains")
            (FOLDER / "go").read_text()  # what it still has to do
    class Tree(otpy.Supervisor):
        def children(self):
            return [PROBES.child(), otpy.child(Web)]
    with otpy.run(Tree, control="off") as system:
        say(PROBES.address)
        system.wait()
"""


def probe(address: str, path: str) -> tuple[int, str]:
    """What a platform gets."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=20.0) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_a_program_that_drains_is_unready_and_alive_until_it_has_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "go")
    with Program(tmp_path, SOURCE) as program:
        address = program.line()
        before = probe(address, "/readyz")
        program.send(signal.SIGTERM)
        assert program.line() == "drains"
        seen = [probe(address, "/readyz"), probe(address, "/livez")]
        (tmp_path / "go").write_text("")
        code, _, complained = program.end()

    assert before == (200, "ok\n")
    assert seen == [(503, "draining: SIGTERM\nnot ok\n"), (200, "ok\n")]
    assert (code, complained) == (0, "")
