"""The place `process`: messages in both directions, and those that cannot be carried."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import msgpack
import pytest

import otpy
from otpy.errors import CallTimeoutError, UncarriableError
from support.far import Far, Near, Odd

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def far(farm: otpy.System) -> Iterator[otpy.Ref[Far]]:
    return farm.start(otpy.child(Far).opts(place="process"))


def test_calls_casts_tells_and_asks_arrive_in_order(far: otpy.Ref[Far]) -> None:
    for number in range(500):
        far.cast(Far.note, number)
        far.tell(("told", number))
    assert far.ask("what") == ("asked", "what")
    assert far.call(Far.echo, 1, twice=True) == (1, 1)
    assert far.call(Far.read) == [one for number in range(500) for one in (number, ("told", number))]


def test_a_reply_may_come_later(far: otpy.Ref[Far]) -> None:
    assert far.call(Far.later) == 1


def test_an_ask_may_leave_a_future(far: otpy.Ref[Far]) -> None:
    assert far.ask("x", block=False).get(timeout=5) == ("asked", "x")


def test_a_call_without_an_answer_times_out_and_harms_nobody(far: otpy.Ref[Far]) -> None:
    with pytest.raises(CallTimeoutError):
        far.within(0.05).call(Far.nobody)
    assert far.call(Far.echo, 1) == 1


def test_many_threads_may_call_at_once(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    futures = [far.ask(number, block=False) for number in range(200)]
    assert [future.get(timeout=5) for future in futures] == [("asked", number) for number in range(200)]


def test_a_system_is_idle_when_its_processes_have_answered(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    future = far.ask("x", block=False)
    farm.wait_idle()
    assert future.get(timeout=0) == ("asked", "x")


def test_a_large_message_goes_both_ways(far: otpy.Ref[Far]) -> None:
    data = b"x" * 5_000_000
    assert far.call(Far.echo, data) == data


def test_a_flood_of_large_messages_never_blocks_the_sender(far: otpy.Ref[Far]) -> None:
    for _ in range(50):
        far.cast(Far.note, b"y" * 200_000)
    assert len(far.call(Far.read)) == 50


def test_what_msgpack_cannot_carry_is_pickled_on_the_way_in_and_refused_on_the_way_out(far: otpy.Ref[Far]) -> None:
    far.cast(Far.note, Odd(3))
    with pytest.raises(UncarriableError, match="Odd"):
        far.call(Far.echo, Odd(3))
    with pytest.raises(UncarriableError, match="uncarriable"):
        far.call(Far.uncarriable)
    assert far.call(Far.echo, 1) == 1


def test_a_message_that_cannot_be_carried_is_the_senders_error(far: otpy.Ref[Far]) -> None:
    for send in (
        lambda: far.cast(Far.note, lambda: None),
        lambda: far.call(Far.echo, lambda: None),
        lambda: far.tell(lambda: None),
    ):
        with pytest.raises(UncarriableError, match=r"t/Far.*define it at the top level of a module"):
            send()
    holds_itself: list[object] = []
    holds_itself.append(holds_itself)
    with pytest.raises(UncarriableError):
        far.tell(holds_itself)
    assert far.call(Far.read) == []


def test_tuples_in_each_other_go_both_ways_until_they_are_too_deep(far: otpy.Ref[Far]) -> None:
    """Each is a message in a message; their decoders must not exhaust the stack, here or there."""
    deep: tuple[object, ...] = ()
    for _ in range(63):
        deep = (deep,)
    assert far.call(Far.echo, deep) == deep
    deeper = (deep,)
    with pytest.raises(UncarriableError, match="nested too deep"):
        far.call(Far.echo, deeper)
    assert isinstance(far.call(Far.echo, otpy.Exit(deep)).term, str)
    assert far.call(Far.echo, 1) == 1


def test_all_kinds_of_bytes_arrive_as_bytes(far: otpy.Ref[Far]) -> None:
    for data in (b"x", bytearray(b"x"), memoryview(b"x")):
        assert type(far.call(Far.echo, data)) is bytes


def test_what_a_program_has_packed_itself_is_plain_data(far: otpy.Ref[Far]) -> None:
    for packed in (msgpack.ExtType(42, b"x"), msgpack.Timestamp(1, 2)):
        assert far.call(Far.echo, packed) == packed


def test_a_message_that_cannot_be_loaded_inside_is_an_error_of_the_call(far: otpy.Ref[Far]) -> None:
    far.tell(Odd(1, bad=True))
    with pytest.raises(UncarriableError, match="not here"):
        far.call(Far.echo, Odd(1, bad=True))
    assert far.call(Far.read) == []


def test_it_may_call_cast_and_tell_an_actor_it_was_handed(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    near = farm.start(Near)
    far.call(Far.meet, near)
    assert far.call(Far.ask_near, 2, 3) == 5
    far.call(Far.tell_near, "hello")
    assert near.call(Near.read) == ["hello", ("told", "hello")]
    assert far.call(Far.send_odd) == "UncarriableError"


def test_it_may_call_an_actor_of_its_parent_by_name(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    farm.start(otpy.child(Near).opts(name="near"))
    assert far.call(Far.ask_by_name, "near") == 3


def test_refs_come_back_as_those_that_went(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    near = farm.start(Near)
    far.call(Far.meet, near)
    assert far.call(Far.near_again) is near
    assert far.call(Far.me) is far
    far.call(Far.meet, farm.ref("near"))
    assert far.call(Far.near_again).name == "near"


def test_an_actor_that_has_ended_can_be_spoken_of(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    """Whether the child knew it before its end or not, and whether anybody else here has its ref or not."""
    near, late = farm.start(Near), farm.start(Near)
    far.call(Far.meet, near)
    near.kill()
    assert far.call(Far.near_again) is near
    late.kill()
    far.call(Far.meet, late)
    far.call(Far.watch_near)
    assert far.call(Far.near_again) is late
    assert far.call(Far.read) == [("down", otpy.NoProc())]
    path = late.path
    far.waiting.refs.own_dead.clear()  # type: ignore[union-attr]  # as when nobody else here has its ref any more
    ghost = far.call(Far.near_again)
    assert (ghost.path, ghost.is_alive(), ghost.reason) == (path, False, otpy.NoProc())
    ghost.tell("x")
    assert far.call(Far.read) == [("down", otpy.NoProc())]


def test_two_process_children_talk_to_each_other(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    other = farm.start(otpy.child(OwnNear).opts(place="process"))
    far.call(Far.meet, other)
    assert far.call(Far.ask_near, 4, 5) == 9


class OwnNear(Near):
    pass


def test_it_hears_of_the_end_of_an_actor_it_watches(farm: otpy.System, far: otpy.Ref[Far]) -> None:
    near = farm.start(Near)
    far.call(Far.meet, near)
    far.call(Far.watch_near)
    near.stop(otpy.Shutdown("enough"))
    assert far.call(Far.read) == [("down", otpy.Shutdown("enough"))]


def test_an_exit_signal_reaches_it_as_any_other_actor(farm: otpy.System) -> None:
    traps = farm.start(otpy.child(Far, traps=True).opts(place="process"))
    traps.exit(otpy.Exit("hello"))
    assert traps.call(Far.read) == [("exit", otpy.Exit("hello"))]
    plain = farm.start(otpy.child(Far).opts(place="process"))
    monitor = plain.monitor()
    plain.exit(otpy.Exit("hello"))
    assert monitor.wait().reason == otpy.Exit("hello")


def test_what_it_prints_is_logged_with_its_path(
    farm: otpy.System, far: otpy.Ref[Far], caplog: pytest.LogCaptureFixture
) -> None:
    child_log = logging.getLogger("otpy.child")
    child_log.setLevel(logging.INFO)
    try:
        far.call(Far.say, "hello \x1b[31m")
        far.stop()
        farm.start(otpy.child(len, "").opts(place="process")).monitor().wait()
        farm.wait_idle()  # all that was printed is logged by now
    finally:
        child_log.setLevel(logging.NOTSET)
    lines = [record.getMessage() for record in caplog.records if record.name == "otpy.child"]
    assert len(lines) == 2
    assert all(line.startswith("t/Far: hello ") and "\x1b" not in line for line in lines)
