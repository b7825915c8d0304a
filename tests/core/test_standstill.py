"""What stands still while somebody waits: from one look to the next."""

from __future__ import annotations

from otpy.core.standstill import Sign, Standstill, standstills


def test_what_nobody_waits_for_may_stand_still() -> None:
    assert standstills({}, [Sign("turns", 7, 0)], 1.0) == {}
    assert standstills({"turns": Standstill(7, 3, 50.0)}, [Sign("turns", 7, 0)], 1.0) == {}


def test_time_is_counted_from_the_first_look_that_sees_it() -> None:
    first = standstills({}, [Sign("turns", 7, 2)], 1.0)
    second = standstills(first, [Sign("turns", 7, 3)], 1.5)

    assert first == {"turns": Standstill(7, 2, 0.0)}
    assert second == {"turns": Standstill(7, 3, 1.5)}


def test_what_has_gone_on_begins_anew() -> None:
    stood = {"turns": Standstill(7, 2, 300.0)}

    assert standstills(stood, [Sign("turns", 8, 2)], 1.0) == {"turns": Standstill(8, 2, 0.0)}


def test_each_thing_is_counted_apart_and_what_is_gone_is_forgotten() -> None:
    stood = {"turns": Standstill(7, 2, 5.0), "loop": Standstill(1, 1, 9.0)}

    assert standstills(stood, [Sign("turns", 7, 2), Sign("timers", (1.0, 1), 1)], 1.0) == {
        "turns": Standstill(7, 2, 6.0),
        "timers": Standstill((1.0, 1), 1, 0.0),
    }
