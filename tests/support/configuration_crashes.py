"""An agent without a hub that its configuration brings down: `configuration_crashes.py FOLDER WHAT`.

With a limit above 10 it `dies` by SIGKILL when it applies it, or `stops` by a SIGTERM that comes while it starts. What
it begins with goes to standard output.
"""

from __future__ import annotations

import os
import signal
import sys

import otpy
from otpy.resilience import Configuration
from support.configurations import limits_of

FOLDER, WHAT = sys.argv[1:]


def fetch(_: int | None) -> None:
    raise ConnectionError("no hub")


def apply(limit: int) -> None:
    sys.stdout.write(f"{limit}\n")
    sys.stdout.flush()
    if limit > 10 and WHAT == "dies":
        os.kill(os.getpid(), signal.SIGKILL)


LIMITS = Configuration("limits", FOLDER, fetch=fetch, check=limits_of, apply=apply)


class Valve(otpy.GenServer):
    """Takes long to come up, once the limit is high; meanwhile the platform changes its mind."""

    def init(self) -> None:
        if LIMITS.current() > 10 and WHAT == "stops":
            os.kill(os.getpid(), signal.SIGTERM)
            otpy.sleep(60.0)


class Agent(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [LIMITS.child(), otpy.child(Valve)]


if __name__ == "__main__":
    with otpy.run(Agent, name="agent", control="off", shutdown=0.2):
        pass
