"""`engine`: the child spec of everything that jobs need."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import otpy.jobs.doctor  # noqa: F401 - it and the verbs register themselves with the control socket
from otpy.actors.children import WORKER_SHUTDOWN
from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.supervisor import Supervisor
from otpy.core.spec import child
from otpy.core.text import safe_repr
from otpy.disk.files import rights_of_others
from otpy.errors import SpecError
from otpy.events.jobs import StoreExposed
from otpy.jobs.cron import Cron
from otpy.jobs.declared import is_text, whole_path
from otpy.jobs.endings import Endings
from otpy.jobs.health import Health
from otpy.jobs.herald import Herald
from otpy.jobs.kind import Kind
from otpy.jobs.leader import LEAVE, Leader
from otpy.jobs.looking import engine_name
from otpy.jobs.setup import Crew, Queue, Setup
from otpy.jobs.steward import Steward
from otpy.jobs.store.opening import clock_of, open_store, readers_of
from otpy.jobs.store.sqlite.store import MEMORY
from otpy.jobs.store.where import is_server
from otpy.jobs.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.store.protocol import Store

__all__ = ["Engine", "engine"]

T = TypeVar("T")

BRIEF = 1.0
"""Seconds to stop for who has nothing to wind up."""

EPOCH = 1_750_000_000_000
"""Milliseconds of the wall clock at which virtual time begins."""


class Engine(Supervisor):
    """The writer, a place for the duties, and who looks whether they are this program's."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup) -> None:
        """With these options; on a virtual clock the time that is written down is virtual, too."""
        clock = self.system.clock
        is_virtual = self.system.is_virtual
        now = (lambda: EPOCH + round(clock.now() * 1_000)) if is_virtual else clock_of(setup)
        self.setup = replace(setup, now=now)
        self.health = Health()
        self.herald = Herald(self.system, setup.name)
        self.readers = self.use(closing(readers_of(self.setup)))

    @classmethod
    def sealed_stop(cls) -> float:
        """Nothing in it is the user's to mend, and its options were checked when it was declared."""
        return BRIEF + LEAVE + BRIEF + WORKER_SHUTDOWN

    def children(self) -> list[ChildSpec]:
        """In start order; the leader ends its duties before it resigns. What their stops take adds up to `sealed_stop`.

        The duties have their time within the leader's, whoever ends them.
        """
        setup = self.setup
        duties, leader = setup.actor(DynamicSupervisor, "duties"), setup.actor(Leader, "leader")
        return [
            child(Writer, self._open, self.herald, setup.again_seconds, self.health).opts(
                id="writer", name=setup.actor(Writer, "writer")
            ),
            dynamic(max_restarts=0).opts(id="duties", name=duties),
            child(Steward, "its duties", duties, leader).opts(
                id="steward", name=setup.actor(Steward, "steward"), shutdown=BRIEF
            ),
            child(Leader, setup).opts(id="leader", name=leader, shutdown=LEAVE),
            child(Endings, setup, self.readers).opts(
                id="endings", name=setup.actor(Endings, "endings"), shutdown=BRIEF
            ),
        ]

    def _open(self) -> Store:
        store = open_store(self.setup, self.herald.others)
        self.readers.is_open = self.setup.path != MEMORY
        if self.readers.is_open and not is_server(self.setup.path):
            self._tell_of_rights(Path(self.setup.path))
        return store

    def _tell_of_rights(self, file: Path) -> None:
        mode = rights_of_others(file)
        if mode is not None:
            self.system.events.emit(StoreExposed(path=self.ref.path, store=str(file), mode=mode))


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
) -> ChildSpec:
    """Everything that jobs need, as one child of a tree.

    Args:
        path: the store's file, or `postgresql://…` for the database of a server; programs that share it do so by this.
        kinds: what can be done here.
        queues: those that have limits.
        cron: what is enqueued again and again; other programs on the same file may declare others.
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
        crews=_crews(tuple(_by("name", name, crews).values()), known, name),
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
    )
    setup.check()
    return child(Engine, setup).opts(id=name, name=engine_name(name))


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


def _crews(crews: tuple[Crew, ...], kinds: dict[str, Kind[..., Any]], name: str) -> tuple[Crew, ...]:
    """Each with what it can do; each kind must be done by somebody."""
    wanted: dict[str, list[str]] = {}
    for kind in kinds.values():
        wanted.setdefault(_place(kind), []).append(kind.name)
    if not crews:
        crews = tuple(Crew(name=place, place=place) for place in sorted(wanted))  # type: ignore[arg-type]  # `_place`
    placed = [replace(crew, kinds=crew.kinds or tuple(wanted.get(_kind_of_place(crew), ()))) for crew in crews]
    left = set(kinds) - {kind for crew in placed for kind in crew.kinds}
    if left:  # nobody has just their place: whoever is free to choose does them where that can be
        placed = [
            one if crew.kinds else replace(one, kinds=(*one.kinds, *sorted(_able(one, kinds, left))))
            for crew, one in zip(crews, placed, strict=True)
        ]
        left -= {kind for crew in placed for kind in crew.kinds}
    if left:
        raise SpecError(name, f"no crew has the place for {', '.join(sorted(left))}")
    for crew in placed:
        _check_place(crew, [kinds[one] for one in crew.kinds if one in kinds], name)
    return tuple(placed)


def _able(crew: Crew, kinds: dict[str, Kind[..., Any]], names: set[str]) -> set[str]:
    """Those of these kinds that its place can do, though it is made for others."""
    if crew.place == "process":
        return names
    return {name for name in names if not kinds[name].killable and crew.place != "loop"}


def _check_place(crew: Crew, kinds: list[Kind[..., Any]], name: str) -> None:
    """Refuse what a crew's place cannot do."""
    for kind in kinds:
        if crew.place == "loop" and not kind.is_async:
            raise SpecError(name, f"crew {crew.name!r} is on the loop, where {kind.name} would block all others")
        if kind.killable and crew.place != "process":
            raise SpecError(name, f"crew {crew.name!r}: {kind.name} is killable, which needs place='process'")
        if crew.place == "process":
            try:
                pickle.dumps(kind)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise SpecError(name, f"crew {crew.name!r}: {error}") from None


def _place(kind: Kind[..., Any]) -> str:
    return "process" if kind.killable else "loop" if kind.is_async else "pool"


def _kind_of_place(crew: Crew) -> str:
    return "pool" if crew.place == "thread" else crew.place
