"""A program with process children may fork: the processes are the original's."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import NoProcError
from support.far import Far
from support.forks import in_a_child

if TYPE_CHECKING:
    from collections.abc import Callable


def fails(deed: Callable[[], object]) -> None:
    with pytest.raises(NoProcError):
        deed()


DEEDS: dict[str, Callable[[otpy.System, otpy.Ref[Far]], object]] = {
    "cast": lambda _, ref: ref.cast(Far.note, 1),
    "tell": lambda _, ref: ref.tell(1),
    "kill": lambda _, ref: ref.kill(),
    "exit": lambda _, ref: ref.exit(otpy.Exit("boom")),
    "stop": lambda _, ref: fails(ref.stop),
    "call": lambda _, ref: fails(lambda: ref.call(Far.read)),
    "stop the system": lambda system, _: system.stop(),
    "look": lambda system, _: system.records(),
}


@pytest.mark.parametrize("deed", DEEDS)
def test_a_copy_of_the_program_speaks_to_no_process_of_it_and_ends_none(farm: otpy.System, deed: str) -> None:
    ref = farm.start(otpy.child(Far).opts(place="process"))

    def act() -> bool:
        for _ in range(3):
            DEEDS[deed](farm, ref)
        return not ref.is_alive()

    assert in_a_child(act) == 0
    assert ref.call(Far.read) == []
    assert farm.start(otpy.child(Far).opts(place="process")).call(Far.echo, 1) == 1


def test_a_copy_that_lives_on_keeps_no_process_of_a_killed_program() -> None:
    code = (
        "import os, otpy, sys, time\n"
        "from support.far import Far\n"
        "system = otpy.System('p')\n"
        "ref = system.start(otpy.child(Far).opts(place='process'))\n"
        "copy = os.fork()\n"
        "if not copy:\n"
        "    time.sleep(60)\n"
        "    os._exit(0)\n"
        "print(copy, *ref.call(Far.where), flush=True)\n"
        "sys.stdin.read()\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    program = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, env=env, text=True)
    assert program.stdout is not None
    copy, pid, helper, _ = map(int, program.stdout.readline().split())
    watched = [os.pidfd_open(one) for one in (pid, helper)]
    program.kill()
    try:
        assert [bool(select.select([pidfd], [], [], 5.0)[0]) for pidfd in watched] == [True, True]
    finally:
        os.kill(copy, signal.SIGKILL)
        program.communicate()
        for pidfd in watched:
            os.close(pidfd)
