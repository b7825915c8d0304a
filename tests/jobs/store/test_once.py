"""What a job does once, and jobs that are cancelled while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.jobs.model.claim import Once

from .shop import LEASE, claim, get, insert, new, numbers, settle

if TYPE_CHECKING:
    from otpy.jobs.model.job import State
    from otpy.jobs.model.lead import Fence
    from otpy.jobs.store.protocol import Store

    from .conftest import Clock


def test_what_is_done_once_has_its_result_in_later_attempts(store: Store, fence: Fence) -> None:
    insert(store, new())
    (first,) = claim(store, fence)
    with store.transaction() as tx:
        assert tx.begin_once(1, first.token, "charge") == Once("begun")
        assert tx.begin_once(1, first.token, "charge") == Once("busy")
        assert tx.keep_once(1, first.token, "charge", b"paid")
    settle(store, first, "ready", "error")
    (second,) = claim(store, fence)
    with store.transaction() as tx:
        assert tx.begin_once(1, second.token, "charge") == Once("done", b"paid")
        assert tx.begin_once(1, second.token, "other") == Once("begun")


def test_what_a_dead_attempt_has_begun_is_taken_over_and_its_late_word_refused(
    store: Store, fence: Fence, clock: Clock
) -> None:
    insert(store, new())
    (first,) = claim(store, fence)
    with store.transaction() as tx:
        tx.begin_once(1, first.token, "charge")
    clock.now += LEASE + 1
    with store.transaction() as tx:
        tx.rescue(0, 10, fence)
        assert tx.begin_once(1, first.token, "more") == Once("stale")
    (second,) = claim(store, fence)
    with store.transaction() as tx:
        assert tx.begin_once(1, second.token, "charge") == Once("begun")
        assert not tx.keep_once(1, first.token, "charge", b"late")
        tx.drop_once(1, first.token, "charge")
        assert tx.keep_once(1, second.token, "charge", b"paid")


def test_what_failed_may_be_begun_again(store: Store, fence: Fence) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    with store.transaction() as tx:
        tx.begin_once(1, job.token, "charge")
        tx.drop_once(1, job.token, "charge")
        assert tx.begin_once(1, job.token, "charge") == Once("begun")


@pytest.mark.parametrize("state", ["done", "ready", "scheduled", "dead"])
def test_one_that_was_cancelled_while_it_ran_ends_cancelled(store: Store, fence: Fence, state: State) -> None:
    insert(store, new())
    (job,) = claim(store, fence)
    with store.transaction() as tx:
        tx.cancel([1], "not wanted")
        assert tx.cancelled() == [(1, job.token)]
    assert settle(store, job, state, result=b"r", reason="of the handler")
    ended = get(store, 1)
    assert (ended.state, ended.reason, ended.result, ended.finished_at is None) == (
        "cancelled",
        "not wanted",
        None,
        False,
    )
    assert numbers(store) == {"cancelled": 1}


def test_one_that_was_cancelled_is_not_tried_again_when_its_program_dies(
    store: Store, fence: Fence, clock: Clock
) -> None:
    insert(store, new())
    claim(store, fence)
    clock.now += LEASE + 1
    with store.transaction() as tx:
        tx.cancel([1], "not wanted")
        tx.rescue(0, 10, fence)
    assert numbers(store) == {"cancelled": 1}
