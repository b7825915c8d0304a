"""Calls that could never be answered are refused at once, naming the chain; and no others are."""

from __future__ import annotations

import threading

import pytest

import otpy
from otpy.errors import CallTimeoutError, DeadlockError
from otpy.runtime.caller import Caller, deadlock
from otpy.testing import Gate
from support.doer import Doer


def chain_of(ref: otpy.Ref[Doer], *path: otpy.Ref[Doer]) -> tuple[str, ...]:
    """Have an actor call along a path of others; the chain named by the error that comes up."""

    def go(_: Doer, rest: tuple[otpy.Ref[Doer], ...]) -> tuple[str, ...] | None:
        try:
            return rest[0].call(Doer.do, go, rest[1:]) if rest else None  # type: ignore[no-any-return]
        except DeadlockError as error:
            return error.chain

    return ref.call(Doer.do, go, path)  # type: ignore[no-any-return]


@pytest.mark.otp_case(48)
@pytest.mark.report("B64", "tqwewe/kameo#87")
def test_a_call_to_oneself_is_refused(system: otpy.System) -> None:
    a = system.start(Doer)
    assert chain_of(a, a) == ("t/Doer", "t/Doer")
    assert a.is_alive()


@pytest.mark.report("B64", "tqwewe/kameo#87")
def test_a_circle_of_two_is_refused(system: otpy.System) -> None:
    a, b = system.start(Doer), system.start(Doer)
    assert chain_of(a, b, a) == (b.path, a.path, b.path)


def test_a_circle_of_three_is_refused(system: otpy.System) -> None:
    a, b, c = (system.start(Doer) for _ in range(3))
    assert chain_of(a, b, c, a) == (c.path, a.path, b.path, c.path)


def test_a_circle_beside_the_caller_is_none_of_its_own(system: otpy.System) -> None:
    """A chain that leads into somebody else's wait and ends there is no circle."""
    a, b, c = (system.start(Doer) for _ in range(3))
    assert chain_of(a, b, c) is None


def test_an_edge_ends_when_the_reply_is_sent(system: otpy.System) -> None:
    """The callee replies by hand and then calls back its caller, which goes on at once."""
    a, b = system.start(Doer), system.start(Doer)

    def reply_then_call_back(self: Doer) -> None:
        assert self.caller is not None
        self.caller.reply("first")
        self.log.append(a.call(Doer.do, lambda _: "back"))

    assert a.call(Doer.do, lambda _: b.call(Doer.do, reply_then_call_back)) == "first"
    assert b.call(Doer.read) == ["back"]


def test_a_deferred_reply_is_no_edge(system: otpy.System) -> None:
    """A third actor may answer, so the circle is left to its timeout, and here it is answered."""
    a, b = system.start(Doer), system.start(Doer)
    kept: list[otpy.Caller] = []
    a.cast(Doer.run, lambda self: self.log.append(b.call(Doer.do, keep, kept)))
    system.wait_idle()
    # `a` waits for `b`, which has deferred; now `b` calls `a`.
    b.cast(Doer.run, lambda self: self.log.append(a.call(Doer.do, lambda _: "not yet")))
    system.wait_idle()
    assert kept[0].reply("freed by the test")
    assert a.call(Doer.read) == ["freed by the test"]
    assert b.call(Doer.read) == ["not yet"]


def keep(self: Doer, kept: list[otpy.Caller]) -> otpy.NoReply:
    assert self.caller is not None
    kept.append(self.caller)
    return otpy.NoReply()


@pytest.mark.otp_case(94)
def test_an_init_that_calls_its_starter_is_refused(system: otpy.System) -> None:
    """With spawn_link: the parent waits for the child's start."""
    seen: list[str] = []
    parent = system.start(Doer)

    def call_parent(self: Doer) -> None:
        with pytest.raises(DeadlockError) as caught:
            parent.call(Doer.read)
        seen.extend(caught.value.chain)

    child = parent.call(Doer.do, lambda self: self.spawn_link(Doer, deed=call_parent))
    assert seen == [child.path, parent.path, child.path]


@pytest.mark.otp_case(94)
@pytest.mark.report("A43", "puniverse/quasar#42")
def test_an_init_that_calls_its_supervisor_is_refused(system: otpy.System) -> None:
    """Also when its start runs inline, on the supervisor's own thread."""
    seen: list[str] = []

    def call_supervisor(self: Doer) -> None:
        assert self.ref.parent is not None
        with pytest.raises(DeadlockError) as caught:
            self.ref.parent.call(otpy.Supervisor.which_children)
        seen.append(" ".join(caught.value.chain))

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            spec = otpy.child(Doer, deed=call_supervisor)
            return [
                spec.opts(id="inline"),
                spec.opts(id="timed", start_timeout=5.0),
                spec.opts(id="own", place="thread"),
            ]

    system.start(Tree)
    assert seen == [f"t/Tree/{child} t/Tree t/Tree/{child}" for child in ("inline", "timed", "own")]


def test_a_child_that_calls_its_supervisor_while_it_is_stopped_is_refused(system: otpy.System) -> None:
    """The supervisor waits for the child's end, and the child would wait for the supervisor."""
    seen: list[str] = []

    class Clingy(Doer):
        def terminate(self, reason: otpy.Reason) -> None:
            assert self.ref.parent is not None
            try:
                self.ref.parent.call(otpy.Supervisor.which_children)
            except otpy.OtpyError as error:
                seen.append(type(error).__name__)

    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [otpy.child(Clingy, traps=True).opts(id="a")]

    root = system.start(Tree)
    root.call(otpy.Supervisor.terminate_child, "a")
    assert seen == ["DeadlockError"]


def test_an_actor_that_stops_its_own_system_is_refused(system: otpy.System) -> None:
    """It would wait for its own end; `request_stop` of an Application asks and returns."""
    a = system.start(Doer)

    def stop(self: Doer) -> bool:
        with pytest.raises(DeadlockError):
            self.system.stop()
        return True

    assert a.call(Doer.do, stop)
    assert system.find("t/Doer") is a


def test_an_outside_thread_is_in_no_circle(system: otpy.System) -> None:
    a, b = system.start(Doer), system.start(Doer)
    assert a.call(Doer.do, lambda _: b.call(Doer.do, lambda _: "fine")) == "fine"


def test_of_two_calls_that_close_a_circle_at_once_neither_hangs(system: otpy.System, rounds: int = 50) -> None:
    """Both, or one, may raise; nobody waits."""
    a, b = system.start(Doer), system.start(Doer)

    def call(_: Doer, other: otpy.Ref[Doer], barrier: threading.Barrier) -> str:
        barrier.wait(30)
        try:
            other.within(5).call(Doer.read)
        except DeadlockError:
            return "refused"
        except CallTimeoutError:
            return "hung"
        return "answered"

    for _ in range(rounds):
        barrier = threading.Barrier(2)
        futures = [one.proxy().do(call, other, barrier) for one, other in ((a, b), (b, a))]
        outcomes = sorted(future.get(timeout=20) for future in futures)
        assert outcomes in (["answered", "refused"], ["refused", "refused"])


def test_edges_seen_one_after_the_other_are_no_circle(system: otpy.System, monkeypatch: pytest.MonkeyPatch) -> None:
    """One is answered after it was looked at, then another calls: no moment had the whole circle, none is reported."""
    a, b, c = (system.start(Doer) for _ in range(3))
    system.wait_idle()

    class Edge:
        deferred = False

        def __init__(self, target: otpy.Ref[Doer], at_look: object = None) -> None:
            self.claim: list[bool] = [True]
            self._target = target
            self.at_look = at_look

        @property
        def target(self) -> otpy.Ref[Doer]:
            if callable(self.at_look):
                self.at_look()
            return self._target

    def time_passes() -> None:
        edge_of_b.claim.clear()  # c has answered b ...
        c.waiting = Edge(a)  # ... and only then calls a

    edge_of_b = Edge(c, time_passes)
    b.waiting = edge_of_b
    assert deadlock(a, b) == []
    b.waiting, c.waiting = Edge(c), Edge(a)
    assert deadlock(a, b) == [a.path, b.path, c.path, a.path]
    b.waiting = c.waiting = None


def test_a_refused_call_leaves_nothing_in_the_mailbox(system: otpy.System) -> None:
    a = system.start(Doer)
    chain_of(a, a)
    assert not a.mailbox
    assert a.waiting is None
    assert a.call(Doer.do, lambda _: 1) == 1


def test_a_long_chain_of_callers_is_no_circle(system: otpy.System) -> None:
    """A hundred actors, each waiting for the next; the last one calls the first."""
    refs = [system.start(Doer) for _ in range(100)]
    assert len(chain_of(*refs) or ()) == 0
    assert len(chain_of(*refs, refs[0])) == 101


def test_a_caller_knows_whom_it_waits_for(system: otpy.System) -> None:
    a, b = system.start(Doer), system.start(Doer)
    with Gate() as gate:
        b.cast(Doer.run, lambda _: gate.wait())
        gate.reached()
        a.cast(Doer.run, lambda _: b.call(Doer.read) and None)
        system.wait_idle()
        assert isinstance(a.waiting, Caller)
        assert a.waiting.target is b
