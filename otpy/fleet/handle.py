"""`FleetView`: the handle of a hub's view of its agents, by which any thread or task gives beats to it and looks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import otpy.fleet.doctor
import otpy.fleet.verbs  # noqa: F401 - both register what can be asked of it over the control socket
from otpy.actors.keeping import refuse_second
from otpy.core.clock import virtual_wall, wall_clock
from otpy.core.spec import ChildSpec, child
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.fleet.asked import Asked
from otpy.fleet.beat import fields_of
from otpy.fleet.errors import BeatError
from otpy.fleet.ledger import Ledger
from otpy.fleet.plan import Plan, Watch
from otpy.fleet.server import FleetServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from otpy.events.event import Event
    from otpy.fleet.beat import Beat, BeatState
    from otpy.fleet.ledger import Verdict
    from otpy.runtime.ref import Ref

__all__ = ["FleetView"]

NO_FIGURES: dict[str, float] = {}


class FleetView(Asked):
    """A hub's view of its agents: `fleet.beat("boiler-7", labels={"region": "eu"})`, from any thread and task.

    Make one where the beats come in, as in the handler of a request, and put `fleet.child()` into the tree: that actor
    looks once a second who is missed, and tells of groups. An agent is `alive` while it beats; `silent` when it was
    not heard for `silent` of its own periods; `dead` when it has said goodbye, or was not heard for `dead` of them;
    `never_seen` while it is expected only. What it has seen is in memory: a hub that is started again hears all anew.

    Args:
        name: for people: in errors, events, the tree and `otpy fleet`.
        period: seconds between two beats of agents that do not announce it.
        silent: periods without a beat after which an agent is silent; 3: one that is lost on its way does not matter.
        dead: periods after which it is dead.
        longest: seconds that a period counts at most, whatever an agent announces.
        grace: seconds after the hub's start, or after it was away, in which no share is judged; as long as an agent of
            the usual period may be silent unless said otherwise.
        forget: seconds after which a dead one is known no longer, unless it is expected by name.
        most: agents that are known at most. When there is no room the oldest dead one is forgotten; without any an
            agent that is not known is refused.
        groups: values of labels that are told apart at most; agents with others are counted together as `(other)`.
        storm: agents a second that are new, have come back or were restarted, beyond which it is a storm.
        watches: which groups are told of when too few are alive; the whole fleet unless said otherwise.

    Raises:
        SpecError: the options cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        *,
        period: float = 30.0,
        silent: float = 3.0,
        dead: float = 12.0,
        longest: float = 3_600.0,
        grace: float | None = None,
        forget: float = 86_400.0,
        most: int = 200_000,
        groups: int = 10_000,
        storm: float = 100.0,
        watches: Sequence[Watch] = (Watch(),),
    ) -> None:
        """Make it; nothing runs yet, and no beat is taken."""
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("FleetView", f"name={safe_repr(name)}: a text without '/'")
        self.name = name
        self.plan = Plan(
            name=name,
            period=period,
            silent=silent,
            dead=dead,
            longest=longest,
            grace=grace,
            forget=forget,
            most=most,
            groups=groups,
            storm=storm,
            watches=tuple(watches),
        )
        self.plan.check()
        self._names: dict[str, dict[str, str]] = {}  # expected ones, and their labels
        self._counts: dict[tuple[str, str] | None, int] = {}  # expected of groups; of the whole fleet under None
        self._ledger = Ledger(self.plan)
        self._lock = threading.Lock()  # guards the ledger, and who keeps it
        self._keeper: Ref[FleetServer] | None = None
        self._now: Callable[[], float] | None = None
        self._wall: Callable[[], int] = wall_clock

    # What users call.

    def child(self) -> ChildSpec:
        """The spec of the actor that keeps it, for the tree of the program that uses it."""
        return child(FleetServer, self).opts(id=self.name)

    def beat(
        self,
        agent: str,
        *,
        labels: dict[str, str] | None = None,
        state: BeatState = "normal",
        why: str | None = None,
        figures: dict[str, float] = NO_FIGURES,
        incarnation: str | None = None,
        sequence: int | None = None,
        period: float | None = None,
        at: int | None = None,
        started: int | None = None,
    ) -> Verdict:
        """Take the beat of an agent. Any thread or task; it asks no actor, and takes some microseconds.

        Args:
            agent: who it is.
            labels: what it belongs to; None: as before.
            state: `normal`, `degraded`, `draining`, or `gone` for a goodbye.
            why: why that is so, in words.
            figures: some numbers.
            incarnation: another text in each of its lives; without it a restart is not seen.
            sequence: grows with each beat of an incarnation; without it a late beat is not known as such. Where no
                incarnation is said either, a lower one counts once the agent was missed.
            period: seconds between its beats; None: as before.
            at: when it was made, in milliseconds since 1970 on the agent's clock; shown as `skew`.
            started: when the incarnation began, as `at`.

        Returns:
            `taken`; `late` when later ones are known, or it is of an earlier incarnation; `full` when there is no room
            for one that is not known; `unkept` before an actor has first kept it.

        Raises:
            BeatError: that is no heartbeat, and was counted as malformed.
        """
        now = self._now
        if now is None:
            return "unkept"
        try:
            with self._lock:
                return self._ledger.beat(
                    now(), self._wall, agent, labels, state, why, figures, incarnation, sequence, period, at, started
                )
        except BeatError:
            self._count_malformed()
            raise

    def beats(self, many: Iterable[Beat | Mapping[str, object]]) -> int:
        """Take several at once, as a request brings them: `Beat`s, or what their `plain()` made.

        What is no heartbeat is passed over, and counted. Returns how many were taken.
        """
        now, taken = self._now, 0
        if now is None:
            return 0
        for one in many:
            try:
                said: Any = fields_of(one)  # Any: whatever has come; the books look it over
                with self._lock:
                    taken += self._ledger.beat(now(), self._wall, *said) == "taken"
            except BeatError:
                self._count_malformed()
        return taken

    def expect(
        self, names: Iterable[str] = (), *, count: int | None = None, labels: Mapping[str, str] | None = None
    ) -> None:
        """Say who is to be there: those never heard are `never_seen`, and count as missing in the shares.

        Args:
            names: some agents, with these labels until they say otherwise. They are not forgotten when dead.
            count: so many with this one label, whatever their names; without a label in the whole fleet. 0 takes it
                back.
            labels: of what.

        Raises:
            FleetFullError: there would be more agents than `most`.
            SpecError: neither, or both; or several labels with a count.
            BeatError: a name or a label cannot be used.
        """
        given, wanted = dict(labels or {}), list(names)
        if bool(wanted) == (count is not None) or isinstance(names, str):
            raise SpecError(self.name, "expect takes names, or a count")
        if count is not None and not (type(count) is int and count >= 0 and len(given) <= 1):
            raise SpecError(self.name, f"count={safe_repr(count)}: 0 or more agents with one label at most")
        with self._lock:
            if count is None:
                self._ledger.expect(wanted, given, self._time())
                self._names |= dict.fromkeys(wanted, given)
            else:
                group = next(iter(given.items()), None)
                self._ledger.expect_so_many(group, count)
                self._counts[group] = count

    def forget(self, *names: str) -> int:
        """Know some agents no longer, expected ones too. Returns how many were known."""
        with self._lock:
            for name in names:
                self._names.pop(name, None)
            return sum(self._ledger.forget(name) for name in names)

    def __reduce__(self) -> NoReturn:
        text = f"fleet {self.name!r} stays in its process: make it in the module that takes the beats"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<FleetView {self.name}: {self.words()}>"

    # What its actor does with it.

    def keep(self, keeper: Ref[FleetServer]) -> None:
        """Be kept by an actor. Raises NameTakenError."""
        clock = keeper.system.clock
        with self._lock:
            refuse_second(self._keeper, keeper, f"fleet {self.name}")
            if self._now != clock.now:  # another system, with a time of its own: it is another hub
                self._ledger = self._fresh(clock.now())
            self._keeper, self._now = keeper, clock.now
            self._wall = virtual_wall(clock) if clock.is_virtual else wall_clock
            self._ledger.begin(clock.now())

    def release(self, keeper: Ref[FleetServer]) -> None:
        """Be kept by nobody, if it still is by this one."""
        with self._lock:
            if self._keeper is keeper:
                self._keeper = None

    def tick(self, path: str) -> list[Event]:
        """See who is missed; what is to be told."""
        with self._lock:
            return self._ledger.tick(self._time(), path)

    # How it is done.

    def _count_malformed(self) -> None:
        with self._lock:
            self._ledger.malformed += 1

    def _fresh(self, now: float) -> Ledger:
        """Books in which nobody is but those who are expected."""
        ledger = Ledger(self.plan)
        for name, labels in self._names.items():
            ledger.expect([name], labels, now)
        for group, count in self._counts.items():
            ledger.expect_so_many(group, count)
        return ledger
