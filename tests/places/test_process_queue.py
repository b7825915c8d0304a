"""The place `process`: bounded mailboxes; a sender outside is told when the one inside is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.errors import MailboxFullError, UncarriableError
from otpy.events import DeadLetter
from otpy.testing import Recorder
from support.far import Near
from support.inner import Slow

if TYPE_CHECKING:
    from otpy.core.spec import Overflow


class Busy:
    """A process child that is in a message until it is told to go on."""

    def __init__(self, farm: otpy.System, limit: int, overflow: Overflow) -> None:
        self.near = farm.start(Near)
        self.ref = farm.start(otpy.child(Slow).opts(place="process", max_queue=limit, overflow=overflow))
        self.future = self.ref.ask(self.near, block=False)
        self.near.call(Near.is_waited_for)

    def go_on(self) -> list[int]:
        """Let it handle all it has, and end; returns that."""
        self.near.cast(Near.go)
        self.future.get(timeout=5)
        self.ref.stop()
        (log,) = self.near.call(Near.read)
        return list(log)


def test_what_is_too_much_is_a_dead_letter_of_the_sender(farm: otpy.System) -> None:
    busy = Busy(farm, 3, "drop_new")
    with Recorder(farm) as recorder:
        for number in range(5):
            busy.ref.cast(Slow.note, number)
        letters = recorder.of(DeadLetter)
    assert [letter.why for letter in letters] == ["its mailbox is full"] * 2
    assert busy.go_on() == [0, 1, 2]


def test_a_sender_may_be_told_by_an_error(farm: otpy.System) -> None:
    busy = Busy(farm, 2, "raise")
    busy.ref.cast(Slow.note, 0)
    busy.ref.cast(Slow.note, 1)
    with pytest.raises(MailboxFullError, match="t/Slow"):
        busy.ref.cast(Slow.note, 2)
    assert busy.go_on() == [0, 1]


def test_the_oldest_may_make_room(farm: otpy.System) -> None:
    busy = Busy(farm, 2, "drop_old")
    for number in range(4):
        busy.ref.cast(Slow.note, number)
    assert busy.go_on() == [2, 3]


def test_a_call_to_a_full_one_is_refused_at_once(farm: otpy.System) -> None:
    busy = Busy(farm, 1, "drop_old")
    busy.ref.cast(Slow.note, 0)
    with pytest.raises(MailboxFullError):
        busy.ref.within(None).call(Slow.read)
    assert busy.go_on() == [0]


def test_it_takes_any_number_one_after_the_other(farm: otpy.System) -> None:
    ref = farm.start(otpy.child(Slow).opts(place="process", max_queue=2, overflow="raise"))
    for number in range(100):
        ref.cast(Slow.note, number)
        assert ref.call(Slow.read)[-1] == number


def test_what_could_not_be_sent_takes_no_room(farm: otpy.System) -> None:
    ref = farm.start(otpy.child(Slow).opts(place="process", max_queue=1, overflow="raise"))
    for _ in range(5):
        with pytest.raises(UncarriableError):
            ref.cast(Slow.note, lambda: None)
    ref.cast(Slow.note, 1)
    ref.stop()
