"""`engine`: the child spec of everything that jobs need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import otpy.jobs.doctor
import otpy.jobs.foreseen
import otpy.jobs.host_verbs
import otpy.jobs.ready
import otpy.jobs.verbs  # noqa: F401 - these register what they can be asked
from otpy.core.spec import child
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.jobs.crewing import placed_crews
from otpy.jobs.cron import Cron
from otpy.jobs.declared import is_text, whole_path
from otpy.jobs.kind import Kind
from otpy.jobs.looking import engine_name
from otpy.jobs.setup import Crew, Queue, Setup
from otpy.jobs.store.where import is_server
from otpy.jobs.trees import Engine, SharedEngine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path

    from otpy.core.spec import ChildSpec

__all__ = ["Engine", "engine"]

T = TypeVar("T")


def engine(
    path: Path | str,
    kinds: Iterable[Kind[..., Any]],
    *,
    queues: Sequence[Queue] = (),
    crews: Sequence[Crew] = (),
    cron: Sequence[Cron] = (),
    name: str = "jobs",
    profile: Literal["full", "fast"] = "full",
    lease: float = 15.0,
    poll: float = 0.1,
    keep: float = 604_800.0,
    redact: Callable[[str], str] | None = None,
    beat: float | None = None,
    busy: float | None = None,
    grace: float = 5.0,
    version: str = "",
    labels: Collection[str] = (),
) -> ChildSpec:
    """Everything that jobs need, as one child of a tree.

    Args:
        path: the store's file, or `postgresql://…` for the database of a server; programs that share it do so by this.
        kinds: what can be done here.
        queues: those that have limits.
        cron: what is enqueued again and again; other programs on the same store may declare others.
        crews: the agents; by default four for each place that the kinds ask for.
        name: tells several engines of one program apart.
        profile: `full` has everything on the disk before it is acknowledged; `fast` may lose the last moments when the
            power fails.
        lease: seconds after which what a dead program has had is taken over.
        poll: seconds between two looks for what other programs have enqueued.
        keep: seconds after which jobs that have ended are forgotten, a week unless said; dead ones stay.
        redact: takes secrets out of the text of an error, or of a reason, before it is written.
        beat: seconds between two renewals of leases, a sixth of one unless said; three of them, and `busy`, must fit
            into a lease.
        busy: seconds that the store waits for another program that writes, or for a server; 5, or a third of a
            lease if that is less.
        grace: seconds that a cancelled job has to wind up before its agent is killed.
        version: of the code here. While another one is active the program stands by: it does not lead, and begins only
            jobs that say its version. An empty one is a version like any other.
        labels: what this machine has: all crews have them, beside their own.

    Raises:
        SpecError: options that cannot work.
    """
    if not is_text(name):
        raise SpecError("engine", f"name={safe_repr(name)}: a text")
    crews, queues, cron = _all(name, crews, Crew), _all(name, queues, Queue), _all(name, cron, Cron)
    known = _by("name", name, _all(name, kinds, Kind))
    setup = Setup(
        name=name,
        path=whole_path(name, path),
        kinds=known,
        crews=placed_crews(tuple(_by("name", name, crews).values()), known, name),
        queues=_by("name", name, queues),
        cron=tuple(_by("id", name, cron).values()),
        profile=profile,
        lease=lease,
        poll=poll,
        keep=keep,
        redact=redact,
        beat=beat,
        busy=busy,
        grace=grace,
        version=version,
    )
    setup.check()
    setup = setup.labelled(labels)
    return child(SharedEngine if is_server(setup.path) else Engine, setup).opts(id=name, name=engine_name(name))


def _all(name: str, given: Iterable[Any], wanted: type[T]) -> tuple[T, ...]:
    """What was given, all of it of this class."""
    what = "functions under @jobs.job" if wanted is Kind else f"values of jobs.{wanted.__name__}"
    if not isinstance(given, Iterable):
        one = repr(given) if isinstance(given, Kind) else safe_repr(given)
        raise SpecError(name, f"{one}: a list of {what}, also for one")
    found = tuple(given)
    for one in found:
        if not isinstance(one, wanted):
            raise SpecError(name, f"{safe_repr(one)} is not one of the {what} that belong here")
    return found


def _by(word: str, name: str, given: tuple[T, ...]) -> dict[str, T]:
    """By their names, of which there is one each."""
    found: dict[str, T] = {}
    for one in given:
        key = getattr(one, word)
        if found.setdefault(key, one) is not one:
            raise SpecError(name, f"two of its {type(one).__name__.lower()}s have the {word} {safe_repr(key)}")
    return found
