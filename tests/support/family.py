"""A program with process children of every kind, for tests that kill it or press Ctrl-C in its terminal."""

from __future__ import annotations

import threading
from pathlib import Path

import otpy
import otpy.app.signals
from support.wild import Wild

__all__ = ["main"]


class Slow(otpy.GenServer):
    """Is in the middle of its start for ever."""

    def init(self) -> None:
        print("starting", flush=True)  # noqa: T201 - the log shows it
        threading.Event().wait()


class Last(otpy.GenServer):
    """Writes down how it was ended."""

    trap_exit = True

    def init(self, folder: str, name: str) -> None:
        self.file = Path(folder, name)

    def terminate(self, reason: otpy.Reason) -> None:
        order = sum(1 for _ in self.file.parent.iterdir())
        self.file.write_text(f"{order} {reason}")


class Family(otpy.Supervisor):
    """Some that hang, each in its own way, and two that end in order."""

    def init(self, folder: str) -> None:
        self.folder = folder

    def children(self) -> list[otpy.ChildSpec]:
        far = [otpy.child(Last, self.folder, name).opts(place="process", id=name) for name in ("one", "two")]
        return [*far, otpy.dynamic(otpy.child(Wild).opts(place="process", shutdown=0.5)).opts(id="wild")]


def start_wild(system: otpy.System) -> None:
    """One that computes, one that sleeps in C, one with a process of its own, and one whose start does not end."""
    root = system.root
    assert root is not None
    wild = system.find(f"{root.path}/wild")
    assert wild is not None
    spin, sleep, heir = (wild.call(otpy.DynamicSupervisor.start_with) for _ in range(3))
    assert spin is not None
    assert sleep is not None
    assert heir is not None
    heir.call(Wild.start_heir)
    spin.cast(Wild.spin)
    sleep.cast(Wild.sleep_in_c)


def main(folder: str, *, has_slow: bool) -> None:
    """Run until told to stop; with one more that is starting all the time, or without."""
    otpy.app.signals.GRACE = 0.0  # no key is pressed twice for one wish
    with otpy.run(Family, folder, control="off") as system:
        start_wild(system)
        if has_slow:
            slow = threading.Thread(target=system.start, args=[otpy.child(Slow).opts(place="process")], daemon=True)
            slow.start()
        print("ready", flush=True)  # noqa: T201 - the test waits for it
        system.wait()
        print("told", flush=True)  # noqa: T201 - as above
    print("left", len(system.left), flush=True)  # noqa: T201 - as above
