"""What explorations raise.

OtpyError
├── ExplorationError (AssertionError)   a seed breaks the scenario, an invariant, or leaves something behind
├── FaultError (ValueError)             a fault cannot be armed so, or not where it is to fire
├── FaultNotFiredError (AssertionError) a test of a fault that nobody has met
├── RealWorldError (RuntimeError)       code on the event loop wants a socket, a process or a thread
└── StalledError (RuntimeError)         deadlock: nothing can happen any more
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from otpy.errors import OtpyError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otpy.testing.trace import Step

__all__ = ["ExplorationError", "FaultError", "FaultNotFiredError", "RealWorldError", "StalledError"]

SHOWN = 25
"""Steps of a run that its error shows; `replay` returns all of them."""


class ExplorationError(OtpyError, AssertionError):
    """A seed under which the scenario fails, an invariant breaks, or something is left behind."""

    def __init__(self, seed: int, problem: Exception, steps: Sequence[Step]) -> None:
        """Name the seed and how to run it again; the last steps show what led there."""
        self.seed = seed
        """The seed; the same one always gives the same run."""
        self.steps = tuple(steps)
        """What happened in the run, the last thing last; of a long one only its end."""
        shown = "\n".join(f"  {step}" for step in self.steps[-SHOWN:])
        again = f"replay it with explore(scenario, seeds=[{seed}]) or replay(scenario, {seed})"
        super().__init__(f"seed {seed}: {type(problem).__name__}: {problem}\n{again}\nits last steps:\n{shown}")


class FaultError(OtpyError, ValueError):
    """A fault cannot be armed so, or cannot fire where it was armed; the message says what can."""


class FaultNotFiredError(OtpyError, AssertionError):
    """Faults were armed that have not fired: the test has tested nothing of them."""

    def __init__(self, missing: Iterable[str]) -> None:
        """Name them."""
        self.missing = tuple(missing)
        """Each as a sentence: what was armed where, and how often somebody came by."""
        super().__init__("faults that never fired: " + "; ".join(self.missing))


class RealWorldError(OtpyError, RuntimeError):
    """Code on the event loop of an exploration wants what no seed decides: a socket, a process, or a thread."""

    def __init__(self, name: str) -> None:
        """Name what it has called."""
        self.name = name
        """The method of the event loop."""
        text = "an exploration has no sockets, processes and threads; give the actor a stand-in for what needs them"
        super().__init__(f"{name}: {text}")


class StalledError(OtpyError, RuntimeError):
    """Deadlock: the scenario waits, no actor has anything to do, and no timer is left that could change that."""

    def __init__(self, waiting: Iterable[str]) -> None:
        """Name everybody who waits."""
        self.waiting = tuple(waiting)
        """Who waits for what."""
        super().__init__(f"deadlock: nothing can happen any more; {'; '.join(self.waiting)}")
