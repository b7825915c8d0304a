"""The tree of an engine: what it is made of on a file, which one program works at, and on a server, where all do."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.actors.children import WORKER_SHUTDOWN
from otpy.actors.dynamic_supervisor import DynamicSupervisor, dynamic
from otpy.actors.supervisor import Supervisor
from otpy.core.clock import virtual_wall
from otpy.core.spec import child
from otpy.disk.files import rights_of_others
from otpy.events.jobs import StoreExposed
from otpy.jobs.candidate import BRIEF, LEAVE
from otpy.jobs.duties import LEAD_END
from otpy.jobs.endings import Endings
from otpy.jobs.health import Health
from otpy.jobs.herald import Herald
from otpy.jobs.leader import Leader
from otpy.jobs.membership import GOODBYE, Badge, Door, Membership
from otpy.jobs.steward import Steward
from otpy.jobs.store.opening import clock_of, open_store, readers_of
from otpy.jobs.store.sqlite.store import MEMORY
from otpy.jobs.store.where import is_server
from otpy.jobs.work import DRAIN, Work
from otpy.jobs.writer import Writer

if TYPE_CHECKING:
    from otpy.core.spec import ChildSpec
    from otpy.core.strategy import Strategy
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Store

__all__ = ["Engine", "SharedEngine"]


class Engine(Supervisor):
    """The writer, a place for the duties, and who looks whether they are this program's."""

    strategy: Strategy = "rest_for_one"

    def init(self, setup: Setup) -> None:
        """With these options; on a virtual clock the time that is written down is virtual, too."""
        clock = self.system.clock
        is_virtual = self.system.is_virtual
        now = virtual_wall(clock) if is_virtual else clock_of(setup)
        self.setup = replace(setup, now=now)
        if self.system.latency is not None:
            self.setup.measure()
        self.health = Health(self.setup.figures)
        self.herald = Herald(self.system, setup.name)
        # Last, also of those who add to this: other threads take the engine as begun when it has these (`engine_at`).
        self.readers = self.use(closing(readers_of(self.setup)))

    @property
    def host_id(self) -> str | None:
        """What the programs on a server call this one just now; None on a file."""
        return None

    @classmethod
    def sealed_stop(cls) -> float:
        """Nothing in it is the user's to mend, and its options were checked when it was declared.

        The endings, the leader with the duties, the steward, and the writer, in the order in which they stop.
        """
        return BRIEF + DRAIN + LEAVE + BRIEF + WORKER_SHUTDOWN

    @classmethod
    def sealed_work(cls) -> float:
        """The agents' time for their jobs: a drain has waited for these before anything is stopped."""
        return DRAIN

    def children(self) -> list[ChildSpec]:
        """In start order; the leader ends its duties before it resigns. What their stops take adds up to `sealed_stop`.

        The duties have their time within the leader's, whoever ends them.
        """
        return [self._writer(), *self._leading(child(Leader, self.setup), DRAIN), self._endings()]

    def _writer(self) -> ChildSpec:
        setup = self.setup
        writer = child(Writer, self._open, self.herald, setup.again_seconds, self.health)
        return writer.opts(id="writer", name=setup.actor(Writer, "writer"))

    def _leading(self, leader: ChildSpec, stop: float) -> list[ChildSpec]:
        """A place for the duties, who begins and ends them, and who stands for them; to stop they need so long."""
        setup = self.setup
        duties, name = setup.actor(DynamicSupervisor, "duties"), setup.actor(Leader, "leader")
        steward = child(Steward, "its duties", duties, name)
        return [
            dynamic(max_restarts=0).opts(id="duties", name=duties),
            steward.opts(id="steward", name=setup.actor(Steward, "steward"), shutdown=BRIEF),
            leader.opts(id="leader", name=name, shutdown=stop + LEAVE),
        ]

    def _endings(self) -> ChildSpec:
        setup = self.setup
        endings = child(Endings, setup, self.readers)
        return endings.opts(id="endings", name=setup.actor(Endings, "endings"), shutdown=BRIEF)

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


class SharedEngine(Engine):
    """On a server: this program works whether it leads or not, as long as the others can know that it is there."""

    def init(self, setup: Setup) -> None:
        """As a program that nobody has seen yet."""
        self.badge = Badge(setup)
        super().init(setup)

    @property
    def host_id(self) -> str | None:
        """As above."""
        return self.badge.host.id

    @classmethod
    def sealed_stop(cls) -> float:
        """As above; between steward and writer the door, the work and the membership."""
        return BRIEF + LEAD_END + LEAVE + BRIEF + BRIEF + DRAIN + GOODBYE + WORKER_SHUTDOWN

    def children(self) -> list[ChildSpec]:
        """In start order: who leads resigns, then the others see that this program drains, and last that it is gone."""
        setup, name = self.setup, self.setup.actor(Membership, "membership")
        return [
            self._writer(),
            child(Membership, setup, self.badge).opts(id="membership", name=name, shutdown=GOODBYE),
            child(Work, setup).opts(id="work", shutdown=DRAIN),
            child(Door, setup).opts(id="door", shutdown=BRIEF),
            *self._leading(child(Leader, setup, self.badge), LEAD_END),
            self._endings(),
        ]
