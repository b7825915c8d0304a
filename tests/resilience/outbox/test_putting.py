"""What is put into an outbox: bounds, overflow, ages, counts; who shares a commit; what cannot be kept."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

import otpy
from otpy.actors.survey import survey
from otpy.core.part import SEALED
from otpy.errors import NoProcError, SpecError
from otpy.events import OutboxDropped
from otpy.resilience import NoSuchTopicError, Outbox, OutboxFullError, PayloadError, Sender, Topic
from otpy.resilience.outbox.batch import packed
from otpy.resilience.outbox.books import Books, Tally
from otpy.resilience.outbox.keeper import Keeper
from otpy.resilience.outbox.shelf import Shelf
from otpy.runtime.caller import request_future
from otpy.runtime.pykka import Future
from otpy.testing import Gate, Recorder, VirtualSystem
from support.outboxes import Hub, kept, outbox, values
from support.services import Crowd

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.resilience import Batch


pytestmark = pytest.mark.any_python


def down(_: Batch) -> None:
    message = "down"
    raise ConnectionError(message)


def filled(system: VirtualSystem, path: Path, topic: Topic, count: int, **options: Any) -> Outbox:
    """One that sends nothing, with so many rows of it put."""
    one = kept(system, outbox(path, down, topics=[topic], **options))
    for number in range(count):
        one.put("t", number, key=f"k{number % 2}")
    return one


def after(system: VirtualSystem, one: Outbox) -> list[Any]:
    """What is in its file at the end."""
    system.stop()
    return values(one)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "o.db"


@pytest.fixture
def system() -> VirtualSystem:
    return VirtualSystem("test", seed=1)


def test_each_put_gets_a_higher_number(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t"), 0)
    assert [one.put("t", number) for number in range(5)] == [1, 2, 3, 4, 5]
    system.stop()


def test_a_topic_that_rejects_refuses_what_is_new_and_keeps_the_rest(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", rows=3), 3)
    with pytest.raises(OutboxFullError, match="topic 't' is full with 3 rows of 3 bytes"):
        one.put("t", 9)
    assert after(system, one) == [0, 1, 2]


def test_a_bound_of_bytes_is_kept(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", size_bytes=1_000), 0)
    one.put("t", b"x" * 600)
    with pytest.raises(OutboxFullError):
        one.put("t", b"x" * 600)
    one.put("t", b"y")
    assert [len(value) for value in after(system, one)] == [600, 1]


def test_drop_new_drops_it_and_says_so(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", rows=3, overflow="drop_new"), 3)
    assert one.put("t", 9) is None
    assert one.look().dropped == {"new": 1}
    assert after(system, one) == [0, 1, 2]


def test_drop_oldest_keeps_the_newest(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", rows=3, overflow="drop_oldest"), 10)
    assert (one.look().rows, one.look().dropped) == (3, {"oldest": 7})
    assert after(system, one) == [7, 8, 9]


def test_drop_oldest_makes_room_for_a_large_one(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", size_bytes=1_000, overflow="drop_oldest"), 0)
    for number in range(10):
        one.put("t", bytes([number]) * 200)
    one.put("t", b"x" * 700)
    with pytest.raises(OutboxFullError):
        one.put("t", b"x" * 2_000)
    assert [value[:1] for value in after(system, one)] == [b"\x09", b"x"]


def test_sample_thins_out_what_waits_and_keeps_each_key(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", rows=20, overflow="sample"), 100)
    look = one.look()
    found = after(system, one)
    assert look.rows == len(found) <= 20
    assert look.rows + look.dropped["sample"] == 100
    assert found == sorted(found)
    assert {number % 2 for number in found} == {0, 1}
    assert found[0] < 4, "the oldest are not forgotten"
    assert found[-1] >= 96


def test_many_that_share_a_commit_share_the_bounds(system: VirtualSystem, path: Path) -> None:
    one = kept(system, outbox(path, down, topics=[Topic("t", rows=10)]))
    refused = [error for error in Crowd(16, lambda: one.put("t", 1)).results(16) if isinstance(error, Exception)]
    assert [type(error) for error in refused] == [OutboxFullError] * 6
    assert after(system, one) == [1] * 10


def test_many_producers_share_a_commit(system: VirtualSystem, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one commit is made, all who come meanwhile wait for the next, and share it."""
    gate, sizes = Gate(), []
    put = Shelf.put

    def held(self: Shelf, all_of: Any) -> Any:
        sizes.append(len(all_of))
        if len(sizes) == 1:
            gate.wait()
        return put(self, all_of)

    monkeypatch.setattr(Shelf, "put", held)
    one = kept(system, outbox(path, down))
    keeper = one._kept("put")
    message = keeper.message_for(Keeper.put, ("t", "", packed(1)), {})
    futures = [Future() for _ in range(9)]
    request_future(keeper, message, futures[0])
    gate.reached(1)
    for future in futures[1:]:
        request_future(keeper, message, future)
    gate.open()
    assert [future.get(timeout=5) for future in futures] == list(range(1, 10))
    assert sizes == [1, 8]
    system.stop()


# Ages, and clocks that somebody sets.


def test_what_is_too_old_is_dropped(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", age=60.0), 3)
    system.clock.advance(50.0)
    one.put("t", 9)
    with Recorder(system, OutboxDropped) as recorded:
        system.clock.advance(20.0)
    assert one.look().dropped == {"age": 3}
    assert [(event.why, event.rows) for event in recorded.of(OutboxDropped)] == [("age", 3)]
    assert after(system, one) == [9]


def test_time_that_the_outbox_was_not_open_makes_nothing_old(path: Path) -> None:
    """Nobody knows how long it was: the date of a machine that was off, or has no battery, says anything."""
    first = VirtualSystem("first", seed=1)
    filled(first, path, Topic("t", age=60.0), 2)
    first.clock.advance(50.0)
    first.stop()
    second = VirtualSystem("second", seed=1)
    second.clock.advance(1e6)
    one = filled(second, path, Topic("t", age=60.0), 0)
    second.wait_idle()
    assert one.look().rows == 2
    assert one.look().oldest_age == pytest.approx(50.0, abs=0.1)
    second.clock.advance(12.0)
    assert one.look().rows == 0
    second.stop()


@pytest.mark.parametrize("jump", [-10 * 365 * 86_400.0, 10 * 365 * 86_400.0])
def test_a_clock_that_is_set_back_or_forward_drops_nothing_and_changes_no_order(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jump: float
) -> None:
    hub = Hub(tmp_path / "hub.db", "down")
    system = otpy.System("real")  # on the machine's clock
    one = kept(system, outbox(path, hub.post, topics=[Topic("t", age=3_600.0)]))
    for number in range(3):
        one.put("t", number)
    monkeypatch.setattr("otpy.resilience.outbox.keeper.wall_clock", lambda: 0)
    real = __import__("time").time_ns
    monkeypatch.setattr("time.time_ns", lambda: real() + int(jump * 1e9))
    for number in range(3, 6):
        one.put("t", number)
    hub.mood = "well"
    one.flush(30.0)
    system.stop()
    assert [value for _, value in hub.rows()] == list(range(6))
    assert one.look().dropped == {}


# What cannot be kept, and who is not there.


@pytest.mark.parametrize("payload", [object(), {"a": {1, 2}}, b"x" * 1_100_000, 2**70])
def test_what_is_no_plain_data_is_refused(system: VirtualSystem, path: Path, payload: object) -> None:
    one = filled(system, path, Topic("t"), 0)
    with pytest.raises(PayloadError):
        one.put("t", payload)
    system.stop()


def test_a_wrong_topic_or_key_is_told(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("temperature"), 0)
    with pytest.raises(NoSuchTopicError, match="did you mean 'temperature'"):
        one.put("temprature", 1)
    with pytest.raises(PayloadError, match="key="):
        one.put("temperature", 1, key="x" * 300)
    system.stop()


def test_without_its_actor_nothing_is_put(path: Path) -> None:
    one = outbox(path, down)
    with pytest.raises(NoProcError, match="readings"):
        one.put("t", 1)
    assert one.look().rows == 0


def test_it_stays_in_its_process(path: Path) -> None:
    with pytest.raises(TypeError, match="stays in its process"):
        pickle.dumps(outbox(path, down))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": "a/b"}, "a text without '/'"),
    ({"senders": []}, "senders="),
    ({"senders": [down, down]}, "two of its senders are called 'down'"),
    ({"senders": [3]}, "a function that takes a Batch"),
    ({"topics": []}, "topics="),
    ({"topics": "t"}, "topics='t'"),
    ({"topics": ["t", "t"]}, "two of its topics"),
    ({"topics": [3]}, "neither a Topic"),
    ({"batch": 0}, "batch=0"),
    ({"batch_bytes": 0.5}, "batch_bytes=0.5"),
    ({"ramp": -1}, "ramp=-1"),
    ({"agent": ""}, "agent=''"),
    ({"profile": "slow"}, "profile='slow'"),
    ({"damaged": "burn"}, "damaged='burn'"),
    ({"backoff": 3}, "backoff=3"),
    ({"backoff": otpy.Backoff(first=5.0, most=1.0)}, "first <= most"),
    ({"path": 3}, "path=3"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[said for _, said in WRONG])
def test_options_that_cannot_be_are_told_where_they_are_written(options: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"name": "o", "path": "o.db", "senders": [down], "topics": ["t"]}
    with pytest.raises(SpecError, match=said.replace("(", r"\(")):
        Outbox(**(given | options))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"rows": 0}, "rows=0"),
        ({"size_bytes": True}, "size_bytes=True"),
        ({"age": -1.0}, "age=-1.0"),
        ({"overflow": "drop_old"}, "did you mean 'drop_oldest'"),
        ({"name": ""}, "name=''"),
    ],
)
def test_a_topic_that_cannot_be_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Topic(**({"name": "t"} | options))


@pytest.mark.parametrize(
    ("options", "said"), [({"timeout": 0}, "timeout=0"), ({"name": "a/b"}, "name='a/b'"), ({"breaker": 1}, "breaker=1")]
)
def test_a_sender_that_cannot_be_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        Sender(down, **options)


# How it is seen.


def test_the_tree_and_its_state_show_how_it_stands(system: VirtualSystem, path: Path) -> None:
    one = filled(system, path, Topic("t", rows=5, overflow="drop_new"), 8)
    system.clock.advance(60.0)
    record = system.record("test/readings/outbox")
    shown = dict(line.split(" = ", 1) for line in system.state("test/readings/outbox").state)
    system.stop()
    assert record.kind == "Outbox 5 rows, 5B, 60s old, 3 dropped"
    assert record.trouble == "full in t; degraded for 60s: ConnectionError: down"
    assert (shown["rows"], shown["dropped"], shown["breakers"]) == ("5", "{'new': 3}", "{'down': 'open'}")
    assert shown["degraded_since"].startswith("'20")
    assert shown["oldest_since"].startswith("'20")
    assert one.look().why == "ConnectionError: down"


class LastRow(Tally):
    """Has a row that is sent right after it was seen."""

    heads: ClassVar[list[tuple[int, int] | None]] = [(1, 5)]
    head = property(lambda self: self.heads.pop() if self.heads else None, lambda *_: None)  # type: ignore[assignment]


def test_a_look_while_the_last_row_is_sent_does_not_fail() -> None:
    assert Books(tallies={"t": LastRow()}).oldest == 5


def test_a_tree_with_one_has_nothing_to_be_doubted(path: Path) -> None:
    """`otpy check` says how long it takes to stop, and warns of nothing: its options were checked when it was made."""
    one = outbox(path, down, Sender(down, name="other"))
    tree = type("Tree", (otpy.Supervisor,), {"children": lambda _: [one.child()]})
    found = survey("t", otpy.child(tree))
    assert found.errors == ()
    assert found.root is not None
    part = found.root.children[0]
    assert (part.unknown, part.unseen_stop) == (SEALED, 11.0)


def test_drops_are_told_together(system: VirtualSystem, path: Path) -> None:
    with Recorder(system, OutboxDropped) as recorded:
        one = filled(system, path, Topic("t", rows=5, overflow="drop_oldest"), 1_000)
        system.clock.advance(60.0)
    system.stop()
    told = recorded.of(OutboxDropped)
    assert [event.rows for event in told] == [1, 994]
    assert sum(event.size_bytes for event in told) == 128 + 2 * 128 + 3 * (995 - 256)
    assert one.look().dropped == {"oldest": 995}


def test_what_was_dropped_is_remembered(path: Path) -> None:
    for _ in range(2):
        system = VirtualSystem("test", seed=1)
        one = filled(system, path, Topic("t", rows=2, overflow="drop_new"), 3)
        system.stop()
    assert one.look().dropped == {"new": 4}
