"""One budget, of which each phase has its share; no thread starts."""

from __future__ import annotations

import math

import pytest

from otpy.drain.course import check_within
from otpy.drain.plan import Phase, Plan


def test_each_phase_has_its_share_of_one_budget() -> None:
    plan = Plan.of(100.0, 10.0)

    assert dict(plan.ends) == {
        Phase.QUIESCE: 106.0,
        Phase.DRAIN: 106.0,
        Phase.CHECKPOINT: 108.0,
        Phase.FLUSH: 109.0,
        Phase.RELEASE: 110.0,
    }
    assert plan.deadline == plan.end(Phase.EXIT) == 110.0


def test_the_earlier_end_of_each_phase_holds() -> None:
    plan = Plan.of(0.0, 10.0)

    assert plan.hastened(5.0, 2.0).ends == (
        (Phase.QUIESCE, 6.0),
        (Phase.DRAIN, 6.0),
        (Phase.CHECKPOINT, 6.6),
        (Phase.FLUSH, 6.8),
        (Phase.RELEASE, 7.0),
    )
    assert plan.hastened(1.0, 100.0) == plan
    assert Plan.of(0.0, math.inf).hastened(1.0, 10.0) == Plan.of(1.0, 10.0)


@pytest.mark.parametrize("within", [-1.0, math.nan, "5", None, True])
def test_what_is_no_time_is_refused(within: object) -> None:
    with pytest.raises(ValueError, match="seconds, 0 or more"):
        check_within(within)
