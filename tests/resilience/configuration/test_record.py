"""What is known of the versions, as a value; and their age, whatever is done to the clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from otpy.resilience.configuration.age import Age, Moment, Stamp
from otpy.resilience.configuration.document import DamagedError
from otpy.resilience.configuration.record import MOST_BANNED, Record, packed_record, unpacked_record

STAMP = Stamp(0.0, 0, "", 0.0)
DAY = 86_400.0


def taken(record: Record, *versions: int) -> Record:
    for version in versions:
        record = record.begun(version).taken(version, b"%d" % version, STAMP)
    return record


def test_the_current_one_and_the_last_good_one_are_kept() -> None:
    record = taken(Record(), 1).proved(1)
    record = taken(record, 2, 3)
    assert (record.current, record.kept(), record.fallback(3)) == (3, {1, 3}, 1)
    record = taken(record.proved(3), 4)
    assert (record.kept(), record.good, record.candidates()) == ({3, 4}, (3,), [4, 3])


def test_while_none_is_good_the_one_before_is_kept() -> None:
    record = taken(Record(), 1, 2)
    assert (record.kept(), record.fallback(2), record.failed(2).current) == ({1, 2}, 1, 1)


def test_one_that_has_failed_is_remembered_as_long_as_it_could_come_again() -> None:
    record = taken(taken(Record(), 1).proved(1), 2).failed(2)
    assert (record.current, record.banned, record.tries) == (1, (2,), {1: 0} if record.tries.get(1) == 0 else {})
    record = taken(record, 3).proved(3)
    assert record.banned == (2,), "for 1 may be in use again"
    record = taken(record, 4).proved(4)
    assert (record.banned, record.kept()) == ((), {3, 4}), "it is older than all there are"


def test_the_memory_of_a_hub_gone_mad_is_bounded() -> None:
    record = taken(Record(), 1).proved(1)
    record = replace(record, banned=tuple(range(2, 2 + MOST_BANNED))).failed(5_000)
    assert len(record.banned) == MOST_BANNED
    assert (record.banned[0], record.banned[-1]) == (3, 5_000)


def test_a_crash_is_that_of_the_one_tried_last() -> None:
    record = taken(Record(), 1).survived(1).begun(1)
    assert record.begun(2, instead=1).tries == {2: 1}
    assert record.begun(1).begun(2, instead=1).tries == {1: 1, 2: 1}
    assert record.begun(1, instead=1).is_tried(1)


@pytest.mark.parametrize("stamp", [None, Stamp(3.5, 7, "boot", 9.0)])
def test_it_is_the_same_when_it_is_read(stamp: Stamp | None) -> None:
    record = replace(taken(Record(), 1, 2).proved(2).failed(3).begun(4), stamp=stamp, sequence=8)
    assert unpacked_record(packed_record(record)) == record


@pytest.mark.parametrize("data", [b"", b"\x90", b"\x01", b"\xc1", packed_record(Record())[:-1], b"\x97" + b"\x01" * 7])
def test_what_is_no_record_is_damaged(data: bytes) -> None:
    with pytest.raises(DamagedError):
        unpacked_record(data)


# Age.


class Clocks:
    """A machine's: seconds pass, somebody sets the time of day, the machine is started again."""

    def __init__(self) -> None:
        self.wall, self.boot, self.uptime = 1_700_000_000.0, "first", 100.0

    def __call__(self) -> Moment:
        return Moment(round(self.wall * 1_000), self.boot, self.uptime)

    def run(self, seconds: float) -> None:
        self.wall += seconds
        self.uptime += seconds

    def restart(self, seconds: float) -> None:
        self.wall += seconds
        self.boot, self.uptime = f"{self.boot}+", 0.0


def stamped(clocks: Clocks) -> Stamp:
    age = Age(clocks, None)
    assert age.now() is None
    age.confirm(age.fresh())
    clocks.run(100.0)
    assert age.now() == 100.0
    stamp = age.stamp()
    assert stamp is not None
    return stamp


@pytest.mark.parametrize("jump", [0.0, DAY, -DAY, 50 * 365 * DAY, -50 * 365 * DAY])
def test_a_clock_that_is_set_changes_no_age_while_the_machine_runs(jump: float) -> None:
    clocks = Clocks()
    stamp = stamped(clocks)
    age = Age(clocks, stamp)  # the agent is started again
    clocks.wall += jump
    clocks.run(10.0)
    assert age.now() == Age(clocks, stamp).now() == 110.0
    assert age.is_off(3_600.0) == bool(jump), "it is written again, for the next start of the machine"


def test_over_a_restart_of_the_machine_the_time_of_day_tells() -> None:
    clocks = Clocks()
    stamp = stamped(clocks)
    clocks.restart(DAY)
    assert Age(clocks, stamp).now() == pytest.approx(DAY + 100.0)


def test_a_machine_whose_clock_begins_in_1970_does_not_make_it_younger() -> None:
    clocks = Clocks()
    stamp = stamped(clocks)
    clocks.restart(DAY)
    clocks.wall = 5.0
    age = Age(clocks, stamp)
    clocks.run(10.0)
    assert age.now() == 110.0
    clocks.wall = 1_700_200_000.0  # the time server has answered
    assert age.now() == 110.0


def test_a_time_server_that_answers_late_does_not_make_it_older_at_the_next_start() -> None:
    clocks = Clocks()
    clocks.wall = 5.0
    age = Age(clocks, None)
    age.confirm(age.fresh())
    clocks.wall = 1_700_200_000.0
    clocks.run(60.0)
    assert age.is_off(3_600.0)
    stamp = age.stamp()
    assert not age.is_off(3_600.0)
    clocks.restart(20.0)
    assert Age(clocks, stamp).now() == pytest.approx(80.0)


def test_each_word_of_the_hub_is_not_worth_a_write() -> None:
    clocks = Clocks()
    age = Age(clocks, stamped(clocks))
    for _ in range(60):
        clocks.run(60.0)
        age.confirm()
        assert not age.is_off(3_800.0)
    clocks.run(600.0)
    age.confirm()
    assert age.is_off(3_800.0)
