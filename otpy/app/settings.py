"""The options of `run` and `run_async`, and the system and control socket that are made by them."""

from __future__ import annotations

import gc
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

import otpy.actors.adopted
import otpy.actors.function
import otpy.drain.verbs
import otpy.health.verbs
import otpy.places  # noqa: F401 - the places register themselves
from otpy.app.application import SHUTDOWN, Application
from otpy.control.claim import NameClaim, claim_name
from otpy.control.errors import DirectoryError
from otpy.control.rights import check_rights
from otpy.control.server import ControlServer
from otpy.core.naming import snake
from otpy.core.number import is_number
from otpy.core.text import safe_repr, visible
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.runtime.system import LOOP_BLOCKED_AFTER, MAX_THREADS, MAX_ZOMBIES, check_blocked_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.control.rights import Rights
    from otpy.core.clock import Clock
    from otpy.core.spec import ChildSpec
    from otpy.events.event import Event
    from otpy.state.plan import StateFile

__all__ = ["RunOptions", "Settings"]

log = logging.getLogger("otpy")


class RunOptions(TypedDict, total=False):
    """The keywords of `run`, for the type checker."""

    name: str | None
    control: Rights
    shutdown: float
    switch_interval: float | None
    gc_freeze: bool
    clock: Clock | None
    seed: int | None
    on_event: Callable[[Event], None] | None
    max_threads: int
    max_zombies: int
    loop_blocked_after: float
    control_directory: Path | str | None
    redact: Callable[[str, object], object] | None
    state: StateFile | Path | str | None


@value(kw_only=True)
class Settings:
    """How a program runs; `run` says what each option means."""

    name: str | None = None
    control: Rights = "operate"
    shutdown: float = SHUTDOWN
    switch_interval: float | None = None
    gc_freeze: bool = False
    clock: Clock | None = None
    seed: int | None = None
    on_event: Callable[[Event], None] | None = None
    max_threads: int = MAX_THREADS
    max_zombies: int = MAX_ZOMBIES
    loop_blocked_after: float = LOOP_BLOCKED_AFTER
    control_directory: Path | str | None = None
    redact: Callable[[str, object], object] | None = None
    state: StateFile | Path | str | None = None

    def __post_init__(self) -> None:
        """Refuse options that cannot work, before anything starts."""
        check_rights(self.control)
        if self.name is not None and (not isinstance(self.name, str) or not self.name):
            raise SpecError("run", f"name={safe_repr(self.name)}: a text, or None for the tree's own name")
        for option in ("shutdown", "max_threads", "max_zombies"):
            _check_number(option, getattr(self, option))
        check_blocked_after("run", self.loop_blocked_after)

    def prepare(self, spec: ChildSpec) -> tuple[Application, ControlServer]:
        """A system in which nothing runs, and its control socket, which is closed."""
        wanted = self.name or snake(spec.id)
        origin = sys.modules.get("otpy.places.process.origin")  # there where a process child has started, or is one
        if origin is not None:
            origin.refuse_to_start_again(spec.id)
        claim = self._claim(wanted) if self.control != "off" else None
        options: dict[str, Any] = {
            one: getattr(self, one)
            for one in ("clock", "seed", "max_threads", "max_zombies", "loop_blocked_after", "redact")
        }
        system = Application(wanted if claim is None else claim.name, **options)
        system.shutdown = self.shutdown
        if self.on_event is not None:
            system.events.attach(self.on_event)
        if self.switch_interval is not None:
            sys.setswitchinterval(self.switch_interval)
        return system, ControlServer(system, rights="off" if claim is None else self.control, claim=claim)

    def open_states(self, system: Application) -> None:
        """Have what actors persist kept, if that is wanted; before anything starts. Raises StateFileError."""
        if self.state is not None:
            from otpy.state.store import open_states  # noqa: PLC0415 - and with it SQLite, for who keeps states

            open_states(system, self.state)

    def freeze(self) -> None:
        """Take what is there out of garbage collections, if that is wanted."""
        if self.gc_freeze:
            gc.collect()
            gc.freeze()

    def _claim(self, name: str) -> NameClaim | None:
        """Take a name among the user's programs; one that cannot be looked into is still better than none."""
        try:
            claim = claim_name(name, None if self.control_directory is None else Path(self.control_directory))
        except DirectoryError as error:
            log.warning("%s runs without a control socket: %s", name, error)
            return None
        if claim.name != name:
            other = "another program" if claim.holder is None else f"process {claim.holder}"
            log.warning("%s has the name %s: this program runs as %s", other, visible(name), visible(claim.name))
        return claim


def _check_number(option: str, value: object) -> None:
    whole = option != "shutdown"
    if not (is_number(value) and value >= whole and (isinstance(value, int) or not whole)):
        wanted = "a whole number > 0" if whole else "seconds >= 0"
        raise SpecError("run", f"{option}={safe_repr(value)}: {wanted}")
