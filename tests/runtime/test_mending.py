"""What an interrupt or a runaway recursion cuts off in the middle of waking an actor is mended."""

from __future__ import annotations

from contextlib import suppress

import pytest

import otpy
from otpy.errors import CallError
from otpy.runtime import birth


class Keeper(otpy.GenServer):
    def init(self) -> None:
        self.kept = 0

    def handle_info(self, message: object) -> None:
        self.kept += 1

    @otpy.call
    def count(self) -> int:
        return self.kept


def dig(ref: otpy.Ref[Keeper]) -> None:
    """Send at each depth until Python refuses to go deeper."""
    ref.tell("deep")
    dig(ref)


def test_an_actor_told_from_a_runaway_recursion_still_runs(system: otpy.System) -> None:
    ref, other = system.start(Keeper), system.start(Keeper)
    for _ in range(3):
        with suppress(RecursionError):
            dig(ref)
        system.wait_idle()

    assert ref.call(Keeper.count) > 0
    assert other.call(Keeper.count) == 0


def ask_deep(ref: otpy.Ref[Keeper], depth: int) -> None:
    if depth:
        ask_deep(ref, depth - 1)
    else:
        ref.within(5.0).call(Keeper.count)


def test_a_call_from_any_depth_returns_or_raises(system: otpy.System) -> None:
    ref = system.start(Keeper)
    for depth in range(900, 1_000):
        with suppress(RecursionError, CallError):
            ask_deep(ref, depth)

    assert ref.call(Keeper.count) == 0


def test_a_token_that_was_taken_and_never_used_is_found_again(system: otpy.System) -> None:
    ref = system.start(Keeper)
    system.wait_idle()
    pool = system.pool
    worker = pool.free.pop()  # as an interrupt between this and the release of its lock leaves it
    assert worker is not None

    pool.mend(lambda: None)

    assert sum(len(w.tok) for w in pool.workers) + pool.free.count(None) == pool.limit
    assert ref.call(Keeper.count) == 0


def test_an_actor_that_was_claimed_and_never_queued_is_found_again(system: otpy.System) -> None:
    ref = system.start(Keeper)
    system.wait_idle()
    ref.tok.pop()  # as an interrupt between this and the run queue leaves it
    ref.tell("lost")
    system.pool.hurt.append(ref)

    system.pool.mend(lambda: None)

    assert ref.call(Keeper.count) == 1


class Interrupted(BaseException):
    pass


@pytest.mark.parametrize("step", ["queued", "timed"])
def test_a_start_that_is_interrupted_before_it_waits_leaves_nobody(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Its `init` may run already, and nobody would ever know of the actor."""
    ready = birth.ready

    def interrupt(*args: object, **_: object) -> None:
        if step == "queued":
            ready(args[0])  # type: ignore[arg-type]
        raise Interrupted

    if step == "queued":
        monkeypatch.setattr(birth, "ready", interrupt)
    else:
        monkeypatch.setattr(system.timers, "after", interrupt)
    with pytest.raises(Interrupted):
        system.start(otpy.child(Keeper).opts(start_timeout=5.0))
    monkeypatch.undo()
    system.wait_idle()
    assert system.alive == 0
    assert system.start(Keeper).call(Keeper.count) == 0


def test_an_early_message_to_a_bounded_actor_is_not_lost(system: otpy.System) -> None:
    """Its mailbox is there before its name is."""

    class Early(Keeper):
        def init(self) -> None:
            super().init()
            assert self.ref.mailbox is not None

    ref = system.start(otpy.child(Early).opts(name="early", max_queue=10))

    assert type(ref.mailbox).__name__ == "BoundedBox"


class Sour(otpy.GenServer):
    @property
    def trap_exit(self) -> bool:  # type: ignore[override]  # as a user may, by mistake
        raise RuntimeError("sour")


def test_a_property_that_raises_keeps_no_death_from_others(system: otpy.System) -> None:
    class Watcher(Keeper):
        trap_exit = True

        def init(self, *others: otpy.Ref[otpy.GenServer]) -> None:
            super().init()
            for other in others:
                self.link(other)

        @otpy.call
        def link_to(self, other: otpy.Ref[otpy.GenServer]) -> None:
            self.link(other)

    sour, dying = system.start(Sour), system.start(Keeper)
    watchers = [system.start(Watcher, dying) for _ in range(3)]
    system.start(Watcher, dying, sour)

    dying.kill()
    system.wait_idle()

    assert [watcher.call(Keeper.count) for watcher in watchers] == [1, 1, 1]
