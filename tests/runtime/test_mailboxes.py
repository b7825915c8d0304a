"""Mailboxes: order, limits, growth, and what becomes of messages nobody will handle."""

from __future__ import annotations

import threading

import pytest

import otpy
from otpy.errors import MailboxFullError
from otpy.events import ActorCrashed, DeadLetter, MailboxGrew
from otpy.runtime.mailbox import deliver_tick
from otpy.runtime.message import describe, message_word
from otpy.runtime.pool import BATCH
from otpy.testing import Gate, Probe, Recorder
from support.doer import BOOM, Doer, flush


def test_messages_of_one_sender_keep_their_order(system: otpy.System) -> None:
    ref = system.start(Doer)
    for number in range(0, 900, 3):
        ref.tell(number)
        ref.cast(Doer.run, lambda self, n=number: self.log.append(n + 1))
        ref.call(Doer.do, lambda self, n=number: self.log.append(n + 2))
    assert flush(ref) == list(range(900))


@pytest.mark.report("B67", "tqwewe/kameo#362", "tqwewe/kameo#363", "tqwewe/kameo#364")
def test_what_a_dead_actor_was_sent_is_a_dead_letter(system: otpy.System) -> None:
    """Semantics 4.2: a send to the dead never fails."""
    ref = system.start(Doer)
    gate = Gate()
    ref.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    ref.tell("queued")
    with Recorder(system, DeadLetter) as letters:
        ref.exit(BOOM)
        gate.open()
        ref.monitor().wait()
        system.wait_idle()  # a message that was just taken out of the mailbox is buried after the Down
        ref.tell("later")
        ref.cast(Doer.run, lambda _: None)
    assert [(letter.message, letter.why) for letter in letters.of(DeadLetter)] == [
        ("info 'queued'", "it ended: exit: 'boom'"),
        ("info 'later'", "it ended: exit: 'boom'"),
        ("cast run", "it ended: exit: 'boom'"),
    ]


@pytest.mark.report("B67", "tqwewe/kameo#362", "tqwewe/kameo#363", "tqwewe/kameo#364")
def test_who_only_counts_dead_letters_gets_them_without_what_they_hold(system: otpy.System) -> None:
    """There may be a hundred thousand, and to describe one takes as long as ten are sent."""
    ref = system.start(Doer)
    ref.stop()
    counted: list[DeadLetter] = []
    detach = system.events.attach(counted.append, DeadLetter, brief=True)

    ref.tell("secret")
    with Recorder(system, DeadLetter) as letters:
        ref.tell("secret")
    detach()

    assert [letter.message for letter in counted] == ["info", "info 'secret'"]
    assert [letter.message for letter in letters.of(DeadLetter)] == ["info 'secret'"]


def test_leftovers_of_a_stop_are_dead_letters(system: otpy.System) -> None:
    """One event for each."""
    ref = system.start(Doer)
    gate = Gate()
    ref.cast(Doer.run, lambda _: gate.wait() or otpy.Stop())
    gate.reached()
    for number in range(3):
        ref.tell(number)
    with Recorder(system, DeadLetter) as letters:
        gate.open()
        letters.expect(3)
    assert [letter.message for letter in letters.of(DeadLetter)] == ["info 0", "info 1", "info 2"]


def _held(system: otpy.System, gate: Gate, overflow: str, limit: int = 2) -> otpy.Ref[Doer]:
    """An actor with a bounded mailbox, in a message for as long as the gate is closed."""
    ref = system.start(otpy.child(Doer).opts(max_queue=limit, overflow=overflow))  # type: ignore[typeddict-item]
    ref.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    return ref


@pytest.mark.report("B68", "pathosDev/actor-ts#919")
def test_a_full_mailbox_drops_what_is_new_by_default(system: otpy.System) -> None:
    with Gate() as gate, Recorder(system, DeadLetter) as letters:
        ref = _held(system, gate, "drop_new")
        for number in range(4):
            ref.tell(number)
    assert [(letter.message, letter.why) for letter in letters.of(DeadLetter)] == [
        ("info 2", "its mailbox is full"),
        ("info 3", "its mailbox is full"),
    ]
    system.wait_idle()
    assert flush(ref) == [0, 1]


def test_a_full_mailbox_drops_what_is_old_if_told_so(system: otpy.System) -> None:
    with Gate() as gate:
        ref = _held(system, gate, "drop_old")
        for number in range(4):
            ref.tell(number)
    system.wait_idle()
    assert flush(ref) == [2, 3]


@pytest.mark.report("B68", "pathosDev/actor-ts#919")
def test_a_full_mailbox_raises_in_the_sender_if_told_so(system: otpy.System) -> None:
    """Only where the spec says so, and the receiver is unharmed."""
    with Gate() as gate:
        ref = _held(system, gate, "raise")
        ref.tell(0)
        ref.tell(1)
        with pytest.raises(MailboxFullError, match="holds 2 messages and is full"):
            ref.tell(2)
        with pytest.raises(MailboxFullError):
            ref.cast(Doer.run, lambda _: None)
    system.wait_idle()
    assert flush(ref) == [0, 1]


@pytest.mark.parametrize("overflow", ["drop_new", "drop_old", "raise"])
def test_a_full_mailbox_takes_what_the_runtime_sends(system: otpy.System, overflow: str) -> None:
    """Exit signals, Down and stop are no load that a user could shed, nor are they shed for others."""
    peer = system.start(Doer)
    with Gate() as gate:
        ref = _held(system, gate, overflow)
        ref.actor.trap_exit = True
        ref.actor.monitor(peer)
        ref.tell(0)
        ref.tell(1)
        peer.kill()
        ref.exit(BOOM)
        if overflow != "raise":
            ref.tell(2)
            ref.tell(3)
            ref.tell(4)
    system.wait_idle()
    own = [type(entry).__name__ for entry in flush(ref) if not isinstance(entry, int)]
    assert own == ["Down", "ExitSignal"]
    assert ref.stop()


def test_a_message_named_like_the_runtimes_own_is_shed_like_any_other(system: otpy.System) -> None:
    class Tricky(Doer):
        @otpy.cast
        def deliver_down(self, number: int) -> None:
            self.log.append(number)

    gate = Gate()
    ref = system.start(otpy.child(Tricky).opts(max_queue=1))
    ref.cast(Doer.run, lambda _: gate.wait())
    gate.reached()
    for number in range(3):
        ref.cast(Tricky.deliver_down, number)
    gate.open()
    system.wait_idle()
    assert flush(ref) == [0]
    assert describe((Tricky.deliver_down, 1)) == "cast deliver_down"


def test_what_an_interval_sends_is_told_as_any_other_message() -> None:
    assert (describe((deliver_tick, "sweep", None)), message_word((deliver_tick, "sweep", None))) == (
        "info 'sweep'",
        "info",
    )


def test_the_limit_of_a_mailbox_is_exact_for_many_senders(system: otpy.System) -> None:
    with Gate() as gate, Recorder(system, DeadLetter) as letters:
        ref = _held(system, gate, "drop_old", limit=100)
        threads = [threading.Thread(target=lambda: [ref.tell(n) for n in range(500)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert len(ref.mailbox or ()) == 100
        assert len(letters.events) == 1_900


@pytest.mark.parametrize("overflow", ["drop_new", "drop_old", "raise"])
def test_a_suspended_actor_with_a_full_mailbox_obeys_a_wish_to_stop_it(system: otpy.System, overflow: str) -> None:
    ref = system.start(otpy.child(Doer).opts(id="d", max_queue=2, overflow=overflow))
    system.suspend("t/d")
    ref.tell(1)
    ref.tell(2)
    system.suspend("t/d", seconds=60.0)
    assert (ref.reason, system.record("t/d").queue) == (None, 2)
    assert ref.stop(otpy.Shutdown(), timeout=5.0)


def test_growth_is_reported_at_ten_and_a_hundred_thousand(system: otpy.System, events: Recorder) -> None:
    """Once each; seen when the turn that let it grow is over, which has handled a batch of them by then."""
    ref = system.start(Doer)
    for length in (9_999, 10_000 + BATCH, 10_500, 100_000 + BATCH):
        with Gate() as gate:
            ref.cast(Doer.run, lambda _, gate=gate: gate.wait())
            gate.reached()
            for _ in range(length):
                ref.tell(None)
        system.wait_idle(timeout=60.0)
    grown = [event.length for event in events.of(MailboxGrew)]
    assert len(grown) == 2
    assert 10_000 <= grown[0] <= 10_000 + BATCH
    assert 100_000 <= grown[1] <= 100_000 + BATCH


def test_growth_is_reported_of_an_actor_that_is_stuck(system: otpy.System, events: Recorder) -> None:
    """It matters most where no turn ever ends: the watchdog looks every second."""
    gate = threading.Event()
    for place in ("pool", "thread"):
        ref = system.start(otpy.child(Doer).opts(id=place, place=place))  # type: ignore[typeddict-item]
        ref.cast(Doer.run, lambda _: gate.wait() and None)
        for _ in range(10_001):
            ref.tell(None)
    events.expect(2)
    assert {event.path for event in events.of(MailboxGrew)} == {"t/pool", "t/thread"}
    gate.set()


def test_a_bounded_mailbox_does_not_report_growth(system: otpy.System, events: Recorder) -> None:
    with Gate() as gate:
        ref = _held(system, gate, "drop_new", limit=20_000)
        for _ in range(15_000):
            ref.tell(None)
    system.wait_idle()
    assert events.of(MailboxGrew) == []


@pytest.mark.report("F152", "erlang/otp#328")
@pytest.mark.parametrize(
    ("length", "size_bytes"),
    [
        pytest.param(1_000, 1_000_000, id="small"),
        pytest.param(1_000_000, 100_000_000, id="large", marks=pytest.mark.stress),
    ],
)
def test_a_crash_report_does_not_print_the_mailbox(system: otpy.System, length: int, size_bytes: int) -> None:
    """Nor the state; and nobody waits long for the end of an actor with a million messages."""
    ref = system.start(Doer)
    ref.call(Doer.do, lambda self: setattr(self, "state", b"x" * size_bytes))
    monitor, message = ref.monitor(), "x" * 1_000
    with Recorder(system, ActorCrashed) as recorder, Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait() or otpy.exit(BOOM))
        gate.reached()
        for _ in range(length):
            ref.tell(message)
        gate.open()
        assert monitor.wait(30).reason == BOOM
    [crash] = recorder.of(ActorCrashed)
    assert crash.queue == length
    assert len(str(crash)) < 10_000


@pytest.mark.parametrize("is_heard", [True, False])
def test_the_words_for_an_end_are_made_once_and_not_for_each_message(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, *, is_heard: bool
) -> None:
    """Of a million that waited, each took its part of half a minute."""
    said: list[str] = []
    monkeypatch.setattr(otpy.Exit, "__str__", lambda self: said.append("once") or "exit")
    ref = system.start(Doer)
    monitor = ref.monitor()
    with Recorder(system, *([DeadLetter] if is_heard else [ActorCrashed])) as recorder, Gate() as gate:
        ref.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        for number in range(1_000):
            ref.tell(number)
        ref.exit(BOOM)
        gate.open()
        monitor.wait()
        system.wait_idle()  # the message that was just taken out of the mailbox is buried last, after the Down
    assert len(said) < 10
    assert len(recorder.of(DeadLetter)) == (1_000 if is_heard else 0)


def test_a_suspended_actor_keeps_its_messages(system: otpy.System) -> None:
    ref, probe = system.start(Doer), Probe(system)
    system.suspend("t/Doer")
    ref.tell("x")
    ref.cast(Doer.run, lambda _: probe.ref.tell("ran"))
    system.wait_idle()
    assert probe.messages == []
    assert system.record("t/Doer").status == "suspended"
    system.resume("t/Doer")
    assert probe.expect(1) == ["ran"]
    assert flush(ref) == ["x"]


def test_a_suspended_actor_can_be_killed_and_told_to_exit(system: otpy.System) -> None:
    for end in ("kill", "exit"):
        ref = system.start(otpy.child(Doer).opts(id=end))
        monitor = ref.monitor()
        system.suspend(f"t/{end}")
        if end == "kill":
            ref.kill()
        else:
            ref.exit(BOOM)
        assert monitor.wait().reason == (otpy.Killed() if end == "kill" else BOOM)
