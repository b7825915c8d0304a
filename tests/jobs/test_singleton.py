"""A child that exists once in two programs on one store, under a name that they share."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import NameHeld, NameLost, NameResigned
from otpy.jobs.candidate import RESIGN
from otpy.jobs.client import of
from otpy.jobs.errors import StaleEpochError
from otpy.jobs.model.lead import Fence
from otpy.jobs.singleton import singleton
from otpy.testing import Gate

from .pair import LEASE, WHERE, Pair

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.any_python

HOUR_MS = 3_600_000
STOP = 1.0
TRUST = 0.9 * LEASE - STOP
STANDBY = 0.1 * LEASE


class Log:
    """What happened to the bodies of a name, in order."""

    def __init__(self, sick: dict[str, int], gates: dict[str, Gate]) -> None:
        """`sick`: how often more the child of a program does not start; `gates`: where its `init` waits."""
        self.begun: list[tuple[Any, str, int]] = []
        self.failed: list[int] = []
        self.sick, self.gates = sick, gates
        self.together: list[list[tuple[str, int]]] = []
        """Those that were alive at once."""

    def began(self, body: Biller) -> None:
        self.begun.append((body.ref, body.program, body.fence.epoch))
        if len(self.living()) > 1:
            self.together.append(self.living())

    def living(self) -> list[tuple[str, int]]:
        """Which bodies there are."""
        return [(program, epoch) for ref, program, epoch in self.begun if ref.is_alive()]


class Biller(otpy.GenServer):
    trap_exit = True

    def init(self, fence: Fence, log: Log) -> None:
        self.fence, self.log, self.program = fence, log, self.system.name
        if self.program in log.gates:
            log.gates[self.program].wait()
        if log.sick.get(self.program, 0):
            log.sick[self.program] -= 1
            log.failed.append(fence.epoch)
            raise OSError("no money")
        log.began(self)

    @otpy.call
    def epoch(self) -> int:
        return self.fence.epoch

    @otpy.cast
    def bill(self, key: str) -> None:
        client = of(self.system, seconds=None).under(self.fence)
        client.enqueue(WHERE.new().opts(key=key))

    @otpy.cast
    def hang(self, gate: Gate) -> None:
        gate.wait()

    @otpy.call
    def give_up(self) -> otpy.Stop:
        return otpy.Stop(otpy.Normal(), None)


BILLER = otpy.name(Biller, "biller")


class Town:
    """A pair of programs that share the name `billing`."""

    def __init__(
        self,
        pair: Pair,
        *,
        sick: dict[str, int] | None = None,
        gates: dict[str, Gate] | None = None,
        opts: dict[str, Any] | None = None,
    ) -> None:
        self.pair, self.log, self.opts = pair, Log(sick or {}, gates or {}), opts or {}
        self.posts = [self.begin(number) for number in (0, 1)]

    def begin(self, number: int) -> Any:
        found = self.pair.systems[number].start(singleton("billing", self.child, lease=LEASE, max_restarts=1))
        self.pair.settle()
        return found

    def child(self, fence: Fence) -> otpy.ChildSpec:
        return otpy.child(Biller, fence, self.log).opts(name=BILLER, shutdown=STOP, **self.opts)

    def after(self, seconds: float) -> list[tuple[str, int]]:
        """Which bodies there are when so much time has passed."""
        self.pair.clock.advance(seconds)
        self.pair.settle()
        assert self.log.together == []
        return self.log.living()

    def body(self, number: int) -> Any:
        return self.pair.systems[number].ref(BILLER)

    def kill(self, number: int) -> None:
        """End one program without a word."""
        self.candidate(number).kill()
        self.posts[number].kill()
        self.pair.kill(number)
        self.pair.settle()

    def candidate(self, number: int) -> Any:
        return self.pair.systems[number].names["jobs/names/billing/candidate"]

    def where(self, number: int = 1) -> tuple[str, int] | None:
        found = self.pair.client(number).whereis("billing")
        return None if found is None else (found.host, found.epoch)


@pytest.fixture
def town(make: Callable[..., Pair]) -> Town:
    return Town(make(poll=1.0))


def test_one_of_two_programs_has_the_child_and_the_other_one_knows(town: Town) -> None:
    assert town.after(5 * LEASE) == [("a", 1)]
    assert town.body(0).call(Biller.epoch) == 1
    for number in (0, 1):
        look = town.pair.client(number).whereis("billing")
        assert look is not None
        assert (look.name, look.epoch, look.is_held) == ("billing", 1, True)
        assert look.host == town.candidate(0).actor.owner.rpartition(":")[0]
        assert look.since < look.until
        assert town.pair.client(number).whereis("mail") is None
    assert [event.epoch for event in town.pair.told(0, NameHeld)] == [1]
    assert town.pair.told(1, NameHeld) == []


def test_who_stops_gives_the_name_back_when_its_child_has_ended_and_the_other_one_takes_over_at_once(
    town: Town,
) -> None:
    town.posts[0].stop()
    assert town.log.living() == []
    assert town.where() is None
    assert town.after(STANDBY) == [("b", 2)]
    (event,) = town.pair.told(0, NameResigned)
    assert (event.name, event.epoch, event.is_well, event.why) == ("billing", 1, True, "it was told to stop")
    assert [(look.name, look.epoch, look.is_held) for look in town.pair.client(0).names()] == [("billing", 2, True)]


def test_a_program_that_is_gone_is_followed_within_its_lease(town: Town) -> None:
    town.kill(0)
    assert town.after(0.95 * LEASE) == []
    assert town.after(0.2 * LEASE) == [("b", 2)]


def test_an_outage_of_the_store_within_the_trusted_time_changes_nothing(town: Town) -> None:
    town.pair.fail("a")
    assert town.after(TRUST - LEASE / 3 - 0.5) == [("a", 1)]
    town.pair.fail("a", still=False)
    assert town.after(3 * LEASE) == [("a", 1)]
    assert town.pair.told(0, NameLost, NameResigned) == []


def test_in_a_longer_outage_the_child_has_ended_before_another_one_begins(town: Town) -> None:
    town.pair.fail("a")
    assert town.after(TRUST + 0.1) == []
    (lost,) = town.pair.told(0, NameLost)
    assert (lost.name, lost.epoch) == ("billing", 1)
    assert "locked" in lost.why
    assert town.after(LEASE) == [("b", 2)]
    town.pair.fail("a", still=False)
    assert town.after(2 * LEASE) == [("b", 2)]


@pytest.mark.parametrize("jump", [HOUR_MS, -HOUR_MS])
def test_after_a_jump_of_the_clock_one_holds_the_name_and_two_have_not_meanwhile(town: Town, jump: int) -> None:
    for name in "ab":
        town.pair.shift[name] += jump
    assert len(town.after(3 * LEASE)) == 1
    epochs = sorted(event.epoch for number in (0, 1) for event in town.pair.told(number, NameHeld))
    assert epochs == list(range(1, len(epochs) + 1))


def test_a_clock_set_back_keeps_nobody_from_taking_over(town: Town) -> None:
    town.after(LEASE)
    town.kill(0)
    for name in "ab":
        town.pair.shift[name] -= HOUR_MS
    assert town.after(1.2 * LEASE) == [("b", 2)]


def test_what_a_program_wrote_as_it_was_frozen_is_refused_when_it_goes_on(town: Town) -> None:
    """It waits in its own writer until another program has the name."""
    with Gate() as gate:
        town.pair.stores["a"].before = gate
        town.body(0).cast(Biller.bill, "november")
        gate.reached()
        assert town.after(2 * LEASE) == [("b", 2)]
        town.pair.stores["a"].before = None
    assert town.after(LEASE) == [("b", 2)]
    assert len(town.pair.told(0, NameLost)) == 1
    assert town.pair.client(0).find() == []


def test_who_writes_under_an_epoch_that_is_over_is_told(town: Town) -> None:
    fenced = town.pair.client(0).under(Fence(name="billing", epoch=1))
    made = fenced.enqueue(WHERE.new())
    town.posts[0].stop()
    for write in (
        lambda: fenced.enqueue(WHERE.new()),
        lambda: fenced.cancel(made.id),
        lambda: fenced.pause("default"),
        lambda: asyncio.run(fenced.aenqueue(WHERE.new())),
    ):
        with pytest.raises(StaleEpochError, match="'billing': epoch 1 is over") as refused:
            write()
        assert (refused.value.name, refused.value.epoch) == ("billing", 1)
    assert [job.id for job in fenced.find()] == [made.id]
    assert fenced.paused() == {}


def test_what_others_write_at_the_same_time_is_kept_though_one_is_refused(town: Town) -> None:
    client, late = town.pair.client(0), town.pair.client(0).under(Fence(name="billing", epoch=7))
    with Gate() as gate:
        town.pair.stores["a"].before = gate
        town.body(0).cast(Biller.bill, "first")
        gate.reached()
        with ThreadPoolExecutor() as pool:
            told = [pool.submit(one.enqueue, WHERE.new()) for one in (client, late, client)]
            town.pair.stores["a"].before = None
            gate.open()
    assert [type(one.exception()) for one in told] == [type(None), StaleEpochError, type(None)]
    assert len(client.find()) == 3


def test_a_child_that_does_not_start_lets_another_program_have_the_name(make: Callable[..., Pair]) -> None:
    town = Town(make(), sick={"a": 100})
    assert town.after(STANDBY) == [("b", 1 + len(town.pair.told(0, NameResigned)))]
    first = town.pair.told(0, NameResigned)[0]
    assert not first.is_well
    assert "did not start" in first.why
    assert "no money" in first.why
    assert len(town.pair.told(0, NameHeld)) == 1


def test_where_no_child_starts_they_try_less_and_less_often(make: Callable[..., Pair]) -> None:
    town = Town(make(poll=1.0), sick={"a": 3, "b": 3})
    town.after(60.0)
    assert len(town.log.living()) == 1
    assert town.log.failed == list(range(1, len(town.log.failed) + 1))
    assert 3 <= len(town.log.failed) <= 6


def test_a_child_that_fails_is_started_again_under_the_same_epoch_and_beyond_its_limit_elsewhere(town: Town) -> None:
    town.body(0).whereis().kill()
    assert town.after(0.0) == [("a", 1)]
    town.body(0).whereis().kill()
    assert town.after(STANDBY) == [("b", 2)]
    (event,) = town.pair.told(0, NameResigned)
    assert not event.is_well
    assert town.posts[0].is_alive()


def test_a_child_that_is_not_to_be_started_again_gives_the_name_back_with_its_end(make: Callable[..., Pair]) -> None:
    town = Town(make(), opts={"restart": "transient"})
    town.body(0).call(Biller.give_up)
    assert town.after(STANDBY) == [("b", 2)]
    town.body(1).call(Biller.give_up)
    assert [program for program, _ in town.after(0.5 * LEASE)] == ["a"]


def test_an_engine_that_is_started_again_in_time_costs_nothing(town: Town) -> None:
    town.pair.kill(0)
    town.pair.settle()
    assert town.after(0.3 * LEASE) == [("a", 1)]
    town.pair.begin(0)
    assert town.after(2 * LEASE) == [("a", 1)]
    assert town.pair.told(0, NameLost, NameResigned) == []


def test_without_its_engine_a_program_stands_for_no_name(town: Town) -> None:
    town.pair.engines[1].stop()
    town.posts[0].stop()
    assert town.after(2 * LEASE) == []
    town.pair.begin(1)
    assert town.after(2 * STANDBY) == [("b", 2)]


def test_a_candidate_that_is_killed_ends_the_child_before_anybody_else_begins_it(town: Town) -> None:
    town.candidate(0).kill()
    town.pair.settle()
    assert town.log.living() == []
    assert len(town.after(1.2 * LEASE)) == 1


def test_a_steward_that_is_killed_does_so_too(town: Town) -> None:
    """The candidate cannot see that the child has ended, and so leaves the name to its lease."""
    town.pair.systems[0].names["jobs/names/billing/steward"].kill()
    town.pair.settle()
    assert town.log.living() == []
    found = town.where()
    assert found is not None
    assert found[1] == 1
    assert [epoch for _, epoch in town.after(1.2 * LEASE)] == [2]


def test_a_child_that_does_not_stop_is_killed_within_its_time_and_then_the_name_is_free(town: Town) -> None:
    with Gate() as gate:
        town.body(0).cast(Biller.hang, gate)
        gate.reached()
        ends = town.posts[0].actor.otpy_children().by_id["candidate"].shutdown
        town.posts[0].stop(block=False)
        assert town.after(STOP - 0.1) == [("a", 1)]
        assert town.after(STANDBY + 0.2) == [("b", 2)]
        assert not town.posts[0].is_alive()
        assert ends >= STOP + RESIGN


def test_an_init_that_takes_too_long_is_given_up_before_the_name_is_free(make: Callable[..., Pair]) -> None:
    with Gate() as gate:
        town = Town(make(), gates={"a": gate})
        gate.reached()
        town.pair.fail("a")
        assert town.after(TRUST + 0.1) == []
        assert town.after(LEASE) == [("b", 2)]
    assert town.after(LEASE) == [("b", 2)]


def test_names_go_to_the_version_that_is_active_and_back(make: Callable[..., Pair]) -> None:
    town = Town(make({"version": "blue"}, {"version": "green"}))
    town.pair.client(0).activate("green", force=True)
    assert town.after(LEASE / 3 + STANDBY) == [("b", 2)]
    (event,) = town.pair.told(0, NameResigned)
    assert (event.is_well, event.why) == (True, "version green is active")
    town.pair.client(0).activate("blue", force=True)
    assert town.after(LEASE / 3 + STANDBY) == [("a", 3)]
    town.pair.client(0).activate(None)
    assert town.after(2 * LEASE) == [("a", 3)]


def test_a_name_held_is_seen_in_the_tree(town: Town) -> None:
    kinds = [town.candidate(number).actor.otpy_kind for number in (0, 1)]
    assert kinds == ["Holder of epoch 1", "Holder, standing by"]
