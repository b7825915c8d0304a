"""Looking into actors: their state within a time, the kinds of what waits for them, and whom they wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.core.reason import Killed
from otpy.errors import NoSuchActorError
from support.doer import Doer
from support.lab import Worker, started

if TYPE_CHECKING:
    from support.lab import Lab


class Nasty:
    """An object one had better not ask anything."""

    def __repr__(self) -> str:
        raise AssertionError("nobody may ask")


class Holder(otpy.GenServer):
    def init(self, **items: Any) -> None:
        self.items = items
        self.password = "hunter2"  # noqa: S105 - what must not be shown
        self._cache = "hidden"

    @otpy.call
    def hold(self, gate: Any) -> None:
        gate.wait()


class Moody(Holder):
    def redact(self, name: str, value: Any) -> object:
        raise SystemExit(name)


def test_its_public_attributes_are_told_without_secrets_and_without_any_repr(lab: Lab) -> None:
    lab.system.start(otpy.child(Holder, a=1, nasty=Nasty()).opts(id="h"))
    lab.settle()

    record = lab.system.state("lab/h")

    assert (record.path, record.status, record.problem, record.stack) == ("lab/h", "idle", None, None)
    items, password = record.state
    assert items.startswith("items = {'a': 1, 'nasty': <")
    assert "hunter2" not in password


@pytest.mark.report("F155", "erlang/otp#3269")
def test_a_value_that_cannot_be_shown_harms_nobody(lab: Lab) -> None:
    """A `__repr__` that raises, recurses or takes ten seconds is never run; a `redact` that raises ends nobody."""
    loop: list[Any] = []
    loop.append(loop)
    ref = lab.system.start(otpy.child(Moody, loop=loop).opts(id="h"))

    record = lab.system.state("lab/h")

    assert ref.is_alive()
    assert "hunter2" not in str(record)
    assert len(str(record)) < 5_000


def test_a_busy_actor_is_not_waited_for_but_says_what_it_does(lab: Lab) -> None:
    """OTP case 189: get_state of a busy server times out, of a dead one it is noproc."""
    gate = lab.gate()
    holder = lab.system.start(otpy.child(Holder).opts(id="h"))
    lab.system.start(lab.worker("a")).cast(Worker.do, lambda: holder.within(None).call(Holder.hold, gate))
    gate.reached()

    busy, caller = (lab.system.state(path, timeout=0.01) for path in ("lab/h", "lab/a"))

    assert busy.state == caller.state == ()
    assert busy.problem is not None
    assert busy.problem.startswith("busy for 0.0 s in call hold, at ")
    assert busy.stack is not None
    assert "gate.wait()" in busy.stack
    assert caller.problem is not None
    assert ", waiting for lab/h in call hold, at " in caller.problem
    assert lab.system.record("lab/a").waiting == "lab/h in call hold"
    gate.open()
    lab.settle()
    assert lab.system.record("lab/a").waiting is None


def test_nobody_no_process_and_a_zombie_have_answers_of_their_own(lab: Lab) -> None:
    gate = lab.gate()
    started(lab, *lab.workers("ab"))
    lab.system.terminate_child("lab/top/a")
    lab.refs["b"].cast(Worker.do, gate.wait)
    gate.reached()
    zombie = lab.system.start(lab.worker("z"))
    zombie_gate = lab.gate()
    zombie.cast(Worker.do, zombie_gate.wait)
    zombie_gate.reached()
    zombie.kill()

    stopped, killed = lab.system.state("lab/top/a"), lab.system.state("lab/z")

    assert stopped.problem == "it has no process: it is stopped"
    assert lab.system.stack("lab/top/a") is None
    assert (killed.status, killed.state) == ("zombie", ())
    assert killed.stack is not None
    with pytest.raises(NoSuchActorError):
        lab.system.state("lab/nobody")
    with pytest.raises(NoSuchActorError):
        lab.system.mailbox("lab/nobody")
    with pytest.raises(NoSuchActorError):
        lab.system.stack("lab/nobody")


def test_a_stack_shows_the_actors_own_code_and_what_it_calls(lab: Lab) -> None:
    """Otpy's frames above and below it are left out; who runs nothing of his own, as a supervisor, shows one."""
    gate = lab.gate()

    def poll() -> None:
        gate.wait()
        otpy.sleep(1.0)

    lab.system.start(otpy.child(poll).opts(id="poll"))
    gate.reached()
    gate.open()
    lab.settle()
    stack = lab.system.stack("lab/poll")
    assert stack is not None
    assert [line.rpartition(" in ")[2] for line in stack.splitlines()] == ["poll", "    otpy.sleep(1.0)"]


def test_an_actor_that_ends_while_its_state_is_asked_is_said_to_have_ended(lab: Lab) -> None:
    gate = lab.gate()
    ref = lab.system.start(lab.worker("a"))
    ref.cast(Worker.do, gate.wait)
    gate.reached()
    killer = lab.system.timers.after(1.0, ref.kill)
    asked = otpy.System("other")
    try:
        answers: list[Any] = []
        one = asked.start(Doer)
        one.cast(Doer.run, lambda _: answers.append(lab.system.state("lab/a", timeout=60.0)))
        asked.wait_idle()
        lab.clock.advance(1.0)
        asked.wait_idle()
    finally:
        asked.stop()
    assert killer.fired
    assert ref.reason == Killed()
    assert answers[0].problem == "it has just ended: killed"


def test_a_suspended_actor_tells_its_state_and_so_does_one_that_asks_itself(lab: Lab) -> None:
    ref = lab.system.start(otpy.child(Doer).opts(id="d"))
    lab.system.suspend("lab/d")
    assert lab.system.state("lab/d").state == ("log = []",)
    lab.system.resume("lab/d")
    assert ref.call(Doer.do, lambda _: lab.system.state("lab/d").state) == ("log = []",)


def test_what_waits_is_told_by_kind_alone(lab: Lab) -> None:
    gate = lab.gate()
    ref = lab.system.start(lab.worker("a"))
    other = lab.system.start(lab.worker("b"))
    ref.cast(Worker.do, gate.wait)
    gate.reached()
    other.cast(Worker.do, lambda: ref.within(None).call(Worker.ask_to_do, id))
    lab.settle()
    ref.tell("secret")
    ref.cast(Worker.end, otpy.Exit("secret"))
    ref.stop(block=False)

    record = lab.system.mailbox("lab/a", limit=3)

    assert record.messages == ("call ask_to_do from lab/b", "info", "cast end")
    assert (record.length, record.status) == (4, "running")
    assert record.doing is not None
    assert record.doing.startswith("busy for 0.0 s in cast do, at ")


@pytest.mark.report("F151", "mazenharake/entop#13")
def test_a_long_mailbox_costs_what_is_shown_of_it(lab: Lab) -> None:
    """The messages are counted, not copied: looking at them one by one would run into the one that refuses."""
    ref = lab.system.start(lab.worker("a"))
    lab.system.suspend("lab/a")
    for _ in range(1_000):
        ref.tell(Nasty())
    box = ref.mailbox
    assert box is not None
    seen: list[int] = []

    class Counting(type(box)):  # type: ignore[misc]  # a deque
        def __getitem__(self, index: Any) -> Any:
            seen.append(index)
            return super().__getitem__(index)

        def __iter__(self) -> Any:
            raise AssertionError

    ref.mailbox = Counting(box)
    record = lab.system.mailbox("lab/a", limit=5)
    ref.mailbox = box

    assert (record.length, record.messages, seen) == (1_000, ("info",) * 5, [0, 1, 2, 3, 4])
    assert record.doing == "at rest, 1000 messages waiting"
    ref.kill()
