"""How many jobs a crew has at hand, so that no agent waits for a commit."""

from __future__ import annotations

import pytest

from otpy.jobs.scheduler.team import AHEAD, Team
from otpy.jobs.setup import Crew

from .rows import row


@pytest.mark.parametrize(
    ("ended", "hand", "wished"),
    [
        (0, 0, 0),  # none ends: nothing waits behind it
        (1, 0, 1),
        (1, 1, 0),  # jobs are long: one that waits is enough
        (40, 40, 39),  # they are short: as many come while these are done
        (40, 0, 79),
        (1_000, 0, AHEAD),
        (1_000, AHEAD, 0),
    ],
)
def test_short_jobs_are_wished_for_while_others_are_at_hand(ended: int, hand: int, wished: int) -> None:
    """Before, every second commit brought none, for those of the one before it were still at hand."""
    team: Team[str] = Team(Crew(name="c", size=4))
    team.busy, team.ended = 4, ended
    team.hand.extend(row(id=number) for number in range(hand))
    assert len(team.owners()) == wished
