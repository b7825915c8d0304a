"""The engine that somebody outside means, as the verbs of the control socket and the doctor see it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from otpy.control.errors import BadRequestError
from otpy.core.suggest import did_you_mean
from otpy.core.text import visible
from otpy.jobs.client import Client
from otpy.jobs.looking import engine_at
from otpy.jobs.model.lead import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Self

    from otpy.control.snapshot import Inspected
    from otpy.jobs.kind import Kind
    from otpy.jobs.setup import Setup
    from otpy.runtime.system import System

    Params = Mapping[str, object]

__all__ = ["MOST", "Addressee"]

SECONDS = 4.0
"""For the writer's answer; less than the terminal waits."""
MOST = 1_000
"""Jobs in one reply, and in one request."""
NO_ENGINE = "no engine"


@dataclass(frozen=True, slots=True)
class Addressee:
    """The engine that a request is for, as a verb sees it."""

    system: System
    name: str

    @classmethod
    def of(cls, system: Inspected, params: Params) -> Addressee:
        """The engine that is meant; without a name the only one. Raises BadRequestError."""
        whole = cast("System", system)
        known = _engines(whole)
        wanted = params.get("engine")
        if wanted is None and len(known) == 1:
            return cls(whole, known[0])
        if not known:
            raise BadRequestError(f"{NO_ENGINE} for jobs runs in {visible(system.name)}")
        if wanted is None:
            raise BadRequestError(f"several engines run, name one: {', '.join(map(visible, sorted(known)))}")
        if wanted not in known:
            raise BadRequestError(f"{NO_ENGINE} {visible(str(wanted), 80)!r}: {did_you_mean(str(wanted)[:80], known)}")
        return cls(whole, str(wanted))

    @classmethod
    def all(cls, system: Inspected) -> list[Self]:
        """Each engine, by name."""
        whole = cast("System", system)
        return [cls(whole, name) for name in sorted(_engines(whole))]

    @staticmethod
    def candidates(system: Inspected) -> list[tuple[str, str, str]]:
        """Who stands for what exists once: the engine that is named, the name, and the path."""
        names = cast("System", system).names
        found = [
            (key.partition(f"/{SHARED}"), ref.path) for key, ref in list(names.items()) if key.endswith("/candidate")
        ]
        return [(engine, rest.removesuffix("/candidate"), path) for (engine, sep, rest), path in found if sep]

    @property
    def client(self) -> Client:
        """What talks to it."""
        return Client(self.system, self.name, SECONDS)

    def now(self) -> int:
        """The store's time."""
        setup = self._setup()
        if setup is None:
            raise BadRequestError(f"the engine {visible(self.name)} has not begun yet")
        return setup.now()

    @property
    def is_leading(self) -> bool:
        """Whether what is done once, of all programs, is done here."""
        return self.system.names.get(f"{self.name}/janitor") is not None

    @property
    def is_working(self) -> bool:
        """Whether there are agents here."""
        return self.system.names.get(f"{self.name}/scheduler") is not None

    def unroutable(self) -> Counter[str]:
        """Ready jobs that no crew of this program can take, by queue; another program that works may have others."""
        found: Counter[str] = Counter()
        if self.is_working:
            for want in self.client.unroutable(MOST):
                found[want.queue] += want.number
        return found

    def kind(self, name: str) -> Kind[..., Any] | None:
        """A kind that is known here."""
        setup = self._setup()
        return None if setup is None else setup.kinds.get(name)

    @property
    def redact(self) -> Callable[[str], str] | None:
        """What takes secrets out of a text."""
        setup = self._setup()
        return None if setup is None else setup.redact

    def queue_names(self) -> set[str]:
        """The queues of which anything here speaks."""
        setup = self._setup()
        return set() if setup is None else setup.queue_names()

    def _setup(self) -> Setup | None:
        engine = engine_at(self.system, self.name)
        return None if engine is None else engine.setup


def _engines(system: System) -> list[str]:
    return [name.removesuffix("/engine") for name in list(system.names) if name.endswith("/engine")]
