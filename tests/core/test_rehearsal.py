"""What would be late in a drain, told from plain figures."""

from __future__ import annotations

import math
from typing import Any

import pytest

from otpy.core.rehearsal import Rehearsal, Running, Standing, rehearse

ROOT = Standing(path="t", is_supervisor=True, shutdown=math.inf)


def of(*actors: Standing, within: float = 10.0, running: Any = (), zombies: Any = ()) -> Rehearsal:
    return rehearse([ROOT, *actors], running, zombies, within, 0.6 * within)


def said(found: Rehearsal) -> list[tuple[str, str, float | None]]:
    return [(one.level, str(one), one.by) for one in found.late]


def test_who_rests_is_not_late() -> None:
    found = of(Standing(path="t/a"), Standing(path="t/b", queue=100, pace=1_000.0))
    assert (found.is_late, found.late, found.waits_for) == (False, (), 0.1)


@pytest.mark.parametrize(
    ("facts", "by", "text"),
    [
        (
            {"busy": 9.0, "waiting": "t/db in call get", "frame": "shop.py:3 in put"},
            3.0,
            (
                "it has been in cast put for 9 s, where it waits for t/db in call get, at shop.py:3 in put: "
                "as long again, which is 3 s too late"
            ),
        ),
        (
            {"busy": 2.0, "queue": 4, "pace": 0.0},
            4.0,
            (
                "it has been in cast put for 2 s: as long again for it and for each of the 4 messages "
                "behind it, which is 4 s too late"
            ),
        ),
        (
            {"busy": 0.01, "queue": 400, "pace": 50.0},
            2.01,
            "400 messages wait, and it takes 50 of them in a second: 8 s in all, which is 2.01 s too late",
        ),
        (
            {"status": "suspended", "queue": 1},
            None,
            "it is suspended, and a message waits for it that nobody will handle: otpy resume lets it go on",
        ),
        ({"status": "silent", "trouble": "silent for 9 s"}, None, "nobody knows what it does: silent for 9 s"),
    ],
)
def test_who_would_be_late_is_told_with_by_how_much(facts: dict[str, Any], by: float | None, text: str) -> None:
    (one,) = said(of(Standing(path="t/a", current="cast put", shutdown=1.0, **facts)))
    assert one[0] == "late"
    assert one[1].startswith(f"t/a: {text}")
    assert one[2] == (None if by is None else pytest.approx(by))


@pytest.mark.parametrize(
    "one",
    [
        Standing(path="t/a", busy=5.9, current="cast put"),
        Standing(path="t/a", busy=1e6, current="run", is_function=True),
        Standing(path="t/a", busy=1e6, current="start", is_supervisor=True),
        Standing(path="t/a", status="suspended"),
    ],
)
def test_who_is_done_in_time_or_not_waited_for_is_not_late(one: Standing) -> None:
    assert of(one).late == ()


@pytest.mark.parametrize(
    ("since", "usual", "by"),
    [(1.0, None, None), (7.0, None, 1.0), (1.0, 6.0, None), (2.0, 10.0, 2.0), (9.0, 3.0, 3.0)],
)
def test_work_is_judged_by_what_its_like_takes_and_else_by_itself(
    since: float, usual: float | None, by: float | None
) -> None:
    work = Running(path="t/a", what="job 17, mail", since=since, usual=usual)
    busy = Standing(path="t/a", busy=100.0, current="cast work")
    assert [one.by for one in of(busy, running=[work]).late] == ([] if by is None else [pytest.approx(by)])


def test_a_zombie_keeps_the_program_from_its_end() -> None:
    (one,) = said(of(zombies=[("t/a", "shop.py:9 in wait")]))
    assert one[2] == math.inf
    assert one[1].startswith("t/a: it was killed and its code still runs, at shop.py:9 in wait: ")


def test_those_that_are_stopped_one_after_the_other_are_told_together() -> None:
    """Each alone would have ended by then; the supervisor waits for one before it tells the next."""
    slow = [Standing(path=f"t/{name}", busy=9.0, current="cast put", shutdown=3.0) for name in "abc"]
    stop = of(*slow).late[0]
    assert (stop.path, stop.by) == ("t", 5.0)
    assert stop.text == (
        "what would still be at work is stopped one after the other, which takes 9 s (t/a 3 s, t/b 3 s, t/c 3 s) of "
        "the 4 s that are left"
    )
    together = Standing(path="t", is_supervisor=True, is_dynamic=True, shutdown=math.inf)
    assert "t" not in {one.path for one in rehearse([together, *slow], [], [], 10.0, 6.0).late}


def test_shutdown_times_that_add_up_are_a_doubt_and_no_more() -> None:
    found = of(*[Standing(path=f"t/{number}", shutdown=float(number)) for number in (1, 2, 3, 4, 5)])
    assert not found.is_late
    assert said(found) == [
        (
            "doubt",
            (
                "t: if each took all of its shutdown time, that would be 15 s of 10 s; most of it is for t/5 5 s, "
                "t/4 4 s, t/3 3 s and 2 more: lower their shutdown, or give the program more"
            ),
            5.0,
        )
    ]


def test_a_part_of_otpys_own_counts_as_one() -> None:
    engine = Standing(path="t/jobs", is_supervisor=True, shutdown=math.inf, sealed=4.0)
    inside = [Standing(path=f"t/jobs/{number}", shutdown=50.0) for number in range(3)]
    assert of(engine, *inside, Standing(path="t/jobsite", shutdown=6.0)).late == ()
    (doubt,) = of(engine, *inside, Standing(path="t/x", shutdown=7.0)).late
    assert (doubt.by, doubt.text.partition(": ")[2][:20]) == (1.0, "lower their shutdown"[:20])
    assert "t/x 7 s, t/jobs 4 s" in doubt.text


def test_the_latest_comes_first_and_doubts_last() -> None:
    late = [Standing(path=f"t/{by}", busy=6.0 + by, current="cast put", shutdown=0.0) for by in (1, 3, 2)]
    found = of(*late, Standing(path="t/x", shutdown=11.0))
    assert [one.path for one in found.late] == ["t/3", "t/2", "t/1", "t"]
    assert found.waits_for == 9.0


def test_who_takes_part_is_listed_with_its_hooks() -> None:
    found = of(Standing(path="t/a", hooks=("handle_drain", "persist")), Standing(path="t/b"))
    assert found.hooks == (("t/a", "handle_drain, persist"),)
