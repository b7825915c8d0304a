"""`system.suspend` and `resume`. OTP: sys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.core.reason import Exit, Killed, Shutdown
from otpy.errors import CallTimeoutError, NoSuchActorError
from support.lab import Worker, tree

if TYPE_CHECKING:
    from support.lab import Lab


def test_messages_wait_until_it_is_resumed(lab: Lab) -> None:
    """Semantics 11; suspending and resuming twice is no error."""
    done: list[int] = []
    lab.start(tree(lab.worker("a")))
    lab.system.suspend("lab/top/a")
    lab.system.suspend("lab/top/a")
    for number in range(3):
        lab.refs["a"].cast(Worker.do, lambda number=number: done.append(number))
    lab.settle()
    record = lab.system.record("lab/top/a")
    assert (record.status, record.queue, done) == ("suspended", 3, [])
    lab.system.resume("lab/top/a")
    lab.system.resume("lab/top/a")
    lab.settle()
    assert done == [0, 1, 2]
    assert lab.system.record("lab/top/a").status == "idle"


@pytest.mark.otp_case(185)
def test_kill_and_an_exit_signal_end_it(lab: Lab) -> None:
    """Decision 8: both take the fast lane."""
    for ident in ("a", "b"):
        ref = lab.system.start(lab.worker(ident, traps=False))
        lab.system.suspend(f"lab/{ident}")
        ref.kill() if ident == "a" else ref.exit(Exit("boom"))
        lab.settle()
        assert ref.reason == (Killed() if ident == "a" else Exit("boom"))


def test_trapping_child_that_is_suspended_outlives_its_time_and_is_killed(lab: Lab) -> None:
    sup = lab.start(tree(lab.worker("a").opts(shutdown=1.0)))
    lab.system.suspend("lab/top/a")
    sup.stop(Shutdown(), block=False)
    lab.clock.advance(1.0)
    assert lab.refs["a"].reason == Killed()
    assert sup.reason == Shutdown()


def test_busy_actor_is_waited_for(lab: Lab) -> None:
    gate = lab.gate()
    ref = lab.system.start(lab.worker("a"))
    ref.cast(Worker.do, gate.wait)
    gate.reached()
    with pytest.raises(CallTimeoutError):
        lab.system.suspend("lab/a", timeout=0.01)
    gate.open()
    lab.settle()
    assert lab.system.record("lab/a").status == "suspended"
    lab.system.resume("lab/a")


def test_nobody_there(lab: Lab) -> None:
    with pytest.raises(NoSuchActorError):
        lab.system.suspend("lab/nobody")
    with pytest.raises(NoSuchActorError):
        lab.system.resume("lab/nobody")
