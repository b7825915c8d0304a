"""How an outbox sends: over a receiver that is down, lies or hangs, by a fallback, in order, without a flood."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.events import OutboxDegraded, OutboxDropped, OutboxRecovered
from otpy.resilience import Breaker, LaterError, Receipt, Sender, Turns
from otpy.testing import Gate, Recorder, VirtualSystem
from support.outboxes import Hub, kept, outbox

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.resilience import Batch

pytestmark = pytest.mark.any_python

HOUR = 3_600.0


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path / "hub.db")


def numbers(count: int) -> list[tuple[str, int]]:
    return [(f"k{number % 3}", number) for number in range(count)]


def put_all(one: otpy.resilience.Outbox, count: int, first: int = 0) -> None:
    for number in range(first, first + count):
        one.put("t", number, key=f"k{number % 3}")


def test_what_is_put_arrives_in_order(virtual_system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))

    put_all(one, 35)
    virtual_system.wait_idle()

    assert hub.rows() == numbers(35)
    look = one.look()
    assert (look.rows, look.size_bytes, look.oldest_age, look.sent, look.sender) == (0, 0, None, 35, "post")


def test_an_outage_is_waited_for_and_then_all_arrives_once(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.mood = "down"

    put_all(one, 100)
    virtual_system.clock.advance(HOUR)
    calls, look = hub.calls, one.look()
    hub.mood = "well"
    virtual_system.clock.advance(200.0)

    assert calls < 100, "some of them 30 s apart, and from the sixth on a breaker between"
    assert (look.rows, look.oldest_age, look.degraded) == (100, HOUR, HOUR)
    assert look.why == "ConnectionError: the hub is down"
    assert hub.rows() == numbers(100)


@pytest.mark.parametrize("mood", ["ack_lost", "half", "nothing"])
def test_a_receiver_that_lies_gets_nothing_twice_and_misses_nothing(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub, mood: str
) -> None:
    """The acknowledgement is lost, half of a batch is applied, or nothing of it is and that is said."""
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.mood = mood  # type: ignore[assignment]  # one of them

    put_all(one, 50)
    virtual_system.clock.advance(HOUR)
    assert one.look().rows == 50
    hub.mood = "well"
    virtual_system.clock.advance(200.0)

    assert hub.rows() == numbers(50)
    assert one.look().rows == 0


def test_a_receipt_for_a_part_goes_on_after_it(virtual_system: VirtualSystem, tmp_path: Path) -> None:
    got: list[int] = []

    def post(batch: Batch) -> int:
        """Takes three at a time, and says more than it was given when it has all."""
        got.extend(row.payload for row in batch.rows[:3])
        return batch.rows[2].sequence if len(batch.rows) > 3 else 10**9

    one = kept(virtual_system, outbox(tmp_path / "o.db", post))
    put_all(one, 20)
    virtual_system.wait_idle()

    assert got == list(range(20))
    assert one.look().rows == 0


def test_what_is_refused_for_good_lets_the_others_past(virtual_system: VirtualSystem, tmp_path: Path) -> None:
    got: list[int] = []

    def post(batch: Batch) -> Receipt:
        bad = [row.sequence for row in batch.rows if row.payload % 7 == 3]
        got.extend(row.payload for row in batch.rows if row.sequence not in bad)
        return Receipt(refused=tuple(bad))

    one = kept(virtual_system, outbox(tmp_path / "o.db", post))
    with Recorder(virtual_system, OutboxDropped) as recorded:
        put_all(one, 20)
        virtual_system.clock.advance(20.0)

    assert got == [number for number in range(20) if number % 7 != 3]
    assert one.look().dropped == {"refused": 3}
    assert sum(event.rows for event in recorded.of(OutboxDropped)) == 3


def test_topics_take_turns(virtual_system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    """A long queue of logs does not hold up an alarm."""
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post, topics=["alarm", "log"]))
    hub.mood = "down"
    for number in range(100):
        one.put("log", number)
    one.put("alarm", 1_000)
    hub.mood = "well"
    virtual_system.clock.advance(100.0)

    assert 1_000 in [value for _, value in hub.rows()[:21]]
    assert len(hub.rows()) == 101


# Fallback.


def test_the_fallback_delivers_while_the_first_is_down_and_the_first_is_found_again(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    other: list[int] = []

    def satellite(batch: Batch) -> None:
        other.append(len(batch.rows))
        with_mood, hub.mood = hub.mood, "well"
        hub.post(batch)
        hub.mood = with_mood

    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post, satellite))
    hub.mood = "down"
    with Recorder(virtual_system, OutboxDegraded, OutboxRecovered) as recorded:
        put_all(one, 30)
        virtual_system.wait_idle()
        look = one.look()
        hub.mood = "well"
        virtual_system.clock.advance(10.0)
        put_all(one, 1, first=30)
        virtual_system.wait_idle()

    assert (look.rows, look.sender, look.degraded) == (0, "satellite", 0.0)
    assert hub.rows() == numbers(31)
    assert one.look().sender == "post"
    (degraded,), (recovered,) = recorded.of(OutboxDegraded), recorded.of(OutboxRecovered)
    assert (degraded.sender, degraded.instead) == ("post", "satellite")
    assert (recovered.sender, recovered.seconds) == ("post", 10.0)


def test_each_sender_is_behind_its_own_breaker(virtual_system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    """While it is open the receiver is left alone, whatever is put."""
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.mood = "down"
    put_all(one, 1)
    virtual_system.clock.advance(60.0)
    way = one.plan.ways[0]
    assert way.breaker.state == "open"

    calls = hub.calls
    put_all(one, 50, first=1)
    virtual_system.wait_idle()

    assert hub.calls == calls
    kinds = [record.kind for record in virtual_system.records()]
    assert "Breaker open" in kinds


def test_a_breaker_that_is_shared_is_kept_by_who_shares_it(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    shared = Breaker("hub", failures=1, cooldown=100.0)
    virtual_system.start(shared.child())
    one = kept(virtual_system, outbox(tmp_path / "o.db", Sender(hub.post, name="line", breaker=shared)))
    shared.force("open")

    put_all(one, 1)
    virtual_system.clock.advance(60.0)
    assert (hub.calls, one.look().rows) == (0, 1)
    shared.reset()
    virtual_system.clock.advance(60.0)

    assert hub.rows() == numbers(1)


# Time.


def test_a_sender_that_hangs_is_passed_over_until_it_comes_back_and_its_late_success_counts(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    gate, calls = Gate(), []

    def slow(batch: Batch) -> None:
        calls.append(len(batch.rows))
        gate.wait()
        hub.post(batch)

    one = kept(virtual_system, outbox(tmp_path / "o.db", Sender(slow, timeout=5.0)))
    put_all(one, 1)
    gate.reached(1)
    put_all(one, 4, first=1)
    virtual_system.clock.advance(HOUR)
    assert (calls, one.look().rows) == ([1], 5)
    assert one.look().why == "TimeoutError: it has not come back within 5 s"
    gate.open()
    virtual_system.wait_idle()
    virtual_system.clock.advance(100.0)

    assert hub.rows() == numbers(5)
    assert one.look().rows == 0


def test_an_async_sender_that_hangs_is_cancelled(virtual_system: VirtualSystem, tmp_path: Path) -> None:
    got: list[int] = []
    ended: list[str] = []

    async def post(batch: Batch) -> None:
        if not ended:
            try:
                await otpy.asleep(HOUR)
            finally:
                ended.append("cancelled")
        got.extend(row.payload for row in batch.rows)

    one = kept(virtual_system, outbox(tmp_path / "o.db", Sender(post, timeout=5.0)))
    put_all(one, 3)
    virtual_system.wait_idle()
    virtual_system.clock.advance(60.0)

    assert (ended, got) == (["cancelled"], [0, 1, 2])


def test_who_calls_a_sender_may_be_killed_in_the_middle_of_it(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    gate = Gate()

    def post(batch: Batch) -> None:
        if hub.calls == 0:
            hub.calls = 1
            gate.wait()
        hub.post(batch)

    one = kept(virtual_system, outbox(tmp_path / "o.db", post))
    put_all(one, 5)
    gate.reached(1)
    virtual_system.kill(f"{virtual_system.name}/readings/post-sender")
    virtual_system.clock.advance(60.0)
    gate.open()
    virtual_system.wait_idle()

    assert hub.rows() == numbers(5)
    assert one.look().rows == 0


@pytest.mark.parametrize("wrong", ["all fine", True, 3.5])
def test_what_is_no_receipt_takes_nothing(virtual_system: VirtualSystem, tmp_path: Path, wrong: object) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", lambda _: wrong))
    put_all(one, 1)
    virtual_system.clock.advance(60.0)
    look = one.look()
    assert look.rows == 1
    assert look.why is not None
    assert look.why.startswith("TypeError: a sender returned ")


def test_a_plain_function_that_returns_a_coroutine_is_told(virtual_system: VirtualSystem, tmp_path: Path) -> None:
    async def post(_: Batch) -> None: ...

    def plain(batch: Batch) -> object:
        return post(batch)

    one = kept(virtual_system, outbox(tmp_path / "o.db", plain))
    put_all(one, 1)
    virtual_system.wait_idle()
    assert "declare the sender `async`" in str(one.look().why)


# No flood.


def test_after_a_reconnection_batches_grow_and_gaps_vanish(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post, ramp=30.0, batch=100))
    hub.mood = "down"
    put_all(one, 2_000)
    virtual_system.clock.advance(HOUR)
    hub.mood, hub.batches = "well", []
    sizes = []
    for _ in range(60):
        virtual_system.clock.advance(3.0)
        sizes.append(sum(len(batch.rows) for batch in hub.batches))
        hub.batches = []
    begun = next(number for number, size in enumerate(sizes) if size)
    grown = sizes[begun:]

    assert len(hub.rows()) == 2_000
    assert grown[0] < 40, "of a hundred in each batch"
    assert grown[0] < grown[3] < grown[7] or sum(grown[:8]) == 2_000


def test_an_outbox_with_a_backlog_starts_as_after_an_outage(tmp_path: Path, hub: Hub) -> None:
    """A power cut ends and begins a thousand of them together."""
    first = VirtualSystem("first", seed=1)
    hub.mood = "down"
    put_all(kept(first, outbox(tmp_path / "o.db", hub.post)), 50)
    first.stop()
    hub.mood, hub.calls = "well", 0

    second = VirtualSystem("second", seed=1)
    kept(second, outbox(tmp_path / "o.db", hub.post, ramp=30.0))
    second.wait_idle()
    at_once = hub.calls
    second.clock.advance(1.0)
    after = len(hub.rows())
    second.clock.advance(60.0)
    second.stop()

    assert (at_once, after) == (0, 1)
    assert hub.rows() == numbers(50)


def test_a_turn_of_its_own_is_kept_to_and_no_failure(virtual_system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.error = LaterError(7.25)
    times: list[float] = []
    begun = virtual_system.clock.now()
    virtual_system.events.attach(lambda _: times.append(virtual_system.clock.now()), OutboxDegraded)
    put_all(one, 1)
    virtual_system.clock.advance(7.0)
    assert hub.calls == 1
    virtual_system.clock.advance(1.0)
    assert hub.calls == 2
    virtual_system.clock.advance(7.25 * 10)
    assert (hub.calls, times) == (12, [])
    assert one.plan.ways[0].breaker.state == "closed"
    hub.error = None
    virtual_system.clock.advance(7.25)
    assert hub.rows() == numbers(1)
    assert virtual_system.clock.now() - begun < 100


def test_a_service_that_wants_to_be_left_alone_is(virtual_system: VirtualSystem, tmp_path: Path, hub: Hub) -> None:
    """Its `Retry-After` has told all agents the same: each waits that, and some more."""
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.error = ConnectionError("busy")
    hub.error.retry_after = 120.0  # type: ignore[attr-defined]  # as errors of clients have it
    put_all(one, 1)
    virtual_system.clock.advance(119.9)
    assert hub.calls == 1
    virtual_system.clock.advance(10.0)
    assert hub.calls == 2


def test_flush_waits_for_what_was_put_and_cuts_the_pause_short(
    virtual_system: VirtualSystem, tmp_path: Path, hub: Hub
) -> None:
    one = kept(virtual_system, outbox(tmp_path / "o.db", hub.post))
    hub.mood = "down"
    put_all(one, 25)
    virtual_system.wait_idle()
    hub.mood = "well"

    one.flush()

    assert hub.rows() == numbers(25)
    one.flush()


@pytest.mark.report("J52", "payloadcms/payload#16318", "rails/rails PR #31872")
def test_outboxes_that_lost_their_hub_together_do_not_come_back_together(
    virtual_system: VirtualSystem, tmp_path: Path
) -> None:
    times: list[float] = []
    is_down = [True]

    def post(_: Batch) -> None:
        if is_down[0]:
            raise ConnectionError("down")
        times.append(virtual_system.clock.now())

    boxes = []
    for number in range(40):
        one = otpy.resilience.Outbox(
            f"o{number}", tmp_path / f"o{number}.db", senders=[post], topics=["t"], profile="fast"
        )
        boxes.append(kept(virtual_system, one))
        one.put("t", 1)
    virtual_system.clock.advance(300.0)
    is_down[0] = False
    virtual_system.clock.advance(200.0)

    tenths = [int(at * 10) for at in times]
    assert len(times) == 40
    assert max(tenths.count(tenth) for tenth in tenths) <= 4


def test_a_hub_that_gives_turns_is_met_evenly_by_all_that_have_waited(
    virtual_system: VirtualSystem, tmp_path: Path
) -> None:
    """Each outbox comes, is told its turn, and comes then; with three batches each it has three turns."""
    rate, number = 5, 25
    clock = virtual_system.clock
    turns = Turns(rate, clock=clock.now)
    is_down, calls, taken = [True], [], []

    def post(batch: Batch) -> None:
        if is_down[0]:
            raise ConnectionError("down")
        calls.append(clock.now())
        wait = turns.ask(batch.agent)
        if wait is not None:
            raise LaterError(wait)
        taken.append(clock.now())

    for each in range(number):
        one = kept(
            virtual_system,
            otpy.resilience.Outbox(
                f"o{each}",
                tmp_path / f"o{each}.db",
                senders=[post],
                topics=["t"],
                agent=str(each),
                batch=2,
                ramp=0.0,
                profile="fast",
            ),
        )
        put_all(one, 6)
    clock.advance(100.0)
    is_down[0] = False
    clock.advance(300.0)

    seconds = [int(at) for at in taken]
    assert len(taken) == number * 3
    assert max(seconds.count(second) for second in seconds) <= rate + 1
    assert len(calls) <= 2 * len(taken)
