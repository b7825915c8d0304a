"""Programs in processes of their own whose tree is in trouble as they end."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from support.programs import Program

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.report("A31", "robinhood/faust#301")
@pytest.mark.report("D115", "Supervisor/supervisor#1182")
def test_a_root_that_gives_up_ends_the_process_with_a_code_of_failure(tmp_path: Path) -> None:
    """Though a sibling of the child that fails would work on for ever."""
    source = """
    import logging
    logging.disable(logging.CRITICAL)
    class Child(otpy.GenServer):
        trap_exit = True
        def init(self, name):
            self.name = name
            say("started", name)
            if name == "bad":
                self.ref.tell("fail")
        def handle_info(self, message):
            raise ValueError(message)
        def terminate(self, reason):
            say("terminated", self.name)
    class Tree(otpy.Supervisor):
        max_restarts = 1
        def children(self):
            return [otpy.child(Child, name).opts(id=name) for name in ("good", "bad")]
    sys.exit(otpy.main(Tree, control_directory=FOLDER, shutdown=5.0))
    """
    with Program(tmp_path, source) as program:
        code, said, complained = program.end()
    assert code == 70
    assert "Traceback" not in complained
    assert said.split("\n") == [
        "started good",
        *["started bad", "terminated bad"] * 2,
        "terminated good",
    ]


@pytest.mark.report("D134", "python/cpython#113964", "python/cpython#87950")
@pytest.mark.parametrize("place", ["pool", "thread"])
@pytest.mark.parametrize("end", ["ref.kill()", "ref.tell('fail')"])
def test_a_child_that_ends_as_the_interpreter_does_harms_nobody(tmp_path: Path, place: str, end: str) -> None:
    """The main thread has returned, nobody has stopped the system, and no thread can be had any more."""
    source = f"""
    import atexit, logging
    logging.disable(logging.CRITICAL)
    starts = []
    class Child(otpy.GenServer):
        def init(self):
            starts.append(self.ref)
        def handle_info(self, message):
            raise ValueError(message)
    class Tree(otpy.Supervisor):
        def children(self):
            return [otpy.child(Child).opts(place="{place}")]
    system = otpy.System("t")
    system.start(Tree)
    ref = starts[0]
    def late():
        {end}
        deadline = time.monotonic() + 0.2
        while len(starts) == 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        say("starts", len(starts))
    atexit.register(late)
    """
    before = time.monotonic()
    with Program(tmp_path, source, subprocess.Popen) as program:  # in an interpreter of its own, for this is its end
        code, said, complained = program.end()
    assert (code, complained) == (0, "")
    assert said in ("starts 1", "starts 2")  # some Pythons give out no thread any more, and then nothing is started
    assert time.monotonic() - before < 10.0
