"""What a system remembers of exits: who, why, whom it took along, what the supervisor did; and that it is bounded."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.core.reason import Exit, Killed
from otpy.errors import CallExitError, NoSuchActorError, StartError
from otpy.runtime import notes
from otpy.runtime.history import MAX_NAMES
from otpy.runtime.links import add_link
from otpy.runtime.notes import MAX_EXITS
from support.doer import BOOM, Doer
from support.lab import Worker, dynamic, started, tree

if TYPE_CHECKING:
    from otpy.core.exits import ExitRecord
    from support.lab import Lab


def crash(actor: Doer) -> None:
    """Fail because of something else."""
    try:
        raise KeyError("a")
    except KeyError as error:
        raise ValueError("no a") from error


def only(exits: list[ExitRecord]) -> ExitRecord:
    assert len(exits) == 1
    return exits[0]


def test_a_crash_is_told_with_its_cause_its_place_and_its_message(lab: Lab) -> None:
    ref = lab.system.start(otpy.child(Doer).opts(id="a"))
    lab.clock.advance(2.0)
    ref.cast(Doer.run, crash)
    lab.settle()
    lab.clock.advance(3.0)

    record = only(lab.system.exits("lab/a"))

    assert (record.path, record.relation, record.kind, record.number) == ("lab/a", "own", "Doer", ref.number)
    assert (record.reason, record.causes, record.message) == ("ValueError: no a", ("KeyError: 'a'",), "cast run")
    assert (record.time, record.ago, record.uptime) == (2.0, 3.0, 2.0)
    assert record.frame is not None
    assert record.frame.endswith(" in crash")
    assert __file__ in record.frame


def test_callers_that_waited_are_named(lab: Lab) -> None:
    gate = lab.gate()
    server = lab.system.start(lab.worker("server"))
    client = lab.system.start(lab.worker("client"))
    server.cast(Worker.do, gate.wait)
    gate.reached()
    client.cast(Worker.do, lambda: server.within(None).call(Worker.ask_to_do, id))
    lab.settle()
    future = server.ask("anything", block=False)
    server.kill()
    gate.open()
    lab.settle()

    record = lab.system.exits("lab/server")[0]

    own = threading.current_thread().name
    assert record.waiting == ("lab/client in call ask_to_do", f"{own} in call request")
    assert (record.queue, record.message, record.by) == (2, "cast do", own)
    assert lab.system.exits("lab/client")[0].origin == ("lab/server: killed",)
    with pytest.raises(CallExitError):
        future.get()


def test_restarts_are_counted_in_their_window_and_name_the_siblings(lab: Lab) -> None:
    started(lab, *lab.workers("abc"), strategy="rest_for_one")
    lab.end("b")
    lab.settle()

    action, stopped = only(lab.system.exits("lab/top/b")).actions
    beside = only(lab.system.exits("lab/top/c"))

    assert (action.what, action.restart, action.in_window, action.max_restarts) == ("restart", 1, 1, 5)
    assert (stopped.what, stopped.detail, stopped.others) == ("stopped others", "rest_for_one", ("lab/top/c",))
    assert (beside.path, beside.relation) == ("lab/top/b", "beside")
    assert lab.system.exits("lab/top/a") == []


def test_a_supervisor_that_gives_up_leads_to_the_exit_that_was_one_too_many(lab: Lab) -> None:
    started(lab, lab.worker("a"), max_restarts=1)
    for _ in range(2):
        lab.end("a")
        lab.settle()

    above, last, first = lab.system.exits("lab/top/a")

    assert (above.path, above.relation, above.origin) == ("lab/top", "above", ("lab/top/a: exit: 'boom'",))
    assert [one.actions[0].what for one in (last, first)] == ["gave up", "restart"]
    assert last.actions[0].in_window == 2
    assert [one.relation for one in lab.system.exits("lab/top")] == ["own", "below", "below"]


def test_a_restart_that_fails_is_told_with_each_try(lab: Lab) -> None:
    started(lab, lab.worker("a", "+!+"))
    lab.end("a")
    lab.settle()

    failed, ended = lab.system.exits("lab/top/a")

    assert (failed.message, [action.what for action in failed.actions]) == ("init", ["restart failed", "restart"])
    assert failed.actions[0].detail == "exit: 'boom'"
    assert [action.what for action in ended.actions] == ["attempt"]


def test_attempts_that_fail_are_no_restarts(lab: Lab) -> None:
    """Only the one that went well is; of a group, that of a sibling which did start stays one."""
    started(lab, lab.worker("a"), lab.worker("b", "+!!+"), strategy="rest_for_one")
    lab.end("a")
    lab.settle()
    third, second, first = (exit_ for exit_ in lab.system.exits("lab/top") if exit_.relation == "below")
    whats = [[action.what for action in exit_.actions] for exit_ in (first, second, third)]
    assert whats == [
        ["restart", "stopped others"],
        ["restart failed", "attempt"],
        ["restart failed", "restart"],
    ]
    assert lab.system.record("lab/top/b").restarts == 1


def test_a_start_by_hand_that_fails_says_that_nobody_tries_again(lab: Lab) -> None:
    gentle = lab.worker("a", "+!+").opts(backoff=otpy.Backoff(first=1.0))
    started(lab, gentle)
    with pytest.raises(StartError, match="lab/top/a did not start: exit: 'boom'; it stays stopped until it, "):
        lab.system.restart_child("lab/top/a")
    lab.clock.advance(60.0)

    record = only(lab.system.exits("lab/top/a"))

    assert [(action.what, action.detail) for action in record.actions] == [
        ("start failed", "exit: 'boom'"),
        ("kept", None),
    ]
    assert lab.system.record("lab/top/a").status == "stopped"


def test_a_dynamic_child_started_by_hand_that_fails_is_forgotten_and_says_so(lab: Lab) -> None:
    sup = dynamic(lab)
    ref = sup.call(otpy.DynamicSupervisor.start_child, lab.worker("a", "+!+"))
    assert ref is not None
    path = ref.path
    with pytest.raises(StartError, match="exit: 'boom'; its supervisor has forgotten it"):
        lab.system.restart_child(path)
    assert [action.what for action in only(lab.system.exits(path)).actions] == ["start failed", "forgot"]


def test_a_pause_and_a_child_that_is_given_up_are_told(lab: Lab) -> None:
    gentle = lab.worker("a").opts(backoff=otpy.Backoff(first=1.0, jitter=0.0), limit=otpy.Limit(1, 600.0))
    started(lab, gentle, lab.worker("b"), strategy="rest_for_one")
    lab.end("a")
    lab.settle()
    lab.clock.advance(1.0)
    lab.end("a")
    lab.settle()
    lab.clock.advance(2.0)

    last, first = lab.system.exits("lab/top/b")

    assert [action.what for action in first.actions] == ["stopped others", "waits", "restart"]
    assert first.actions[1].detail == "1 s"
    assert [action.what for action in last.actions][-1] == "gave up"


def test_linked_actors_lead_to_the_root_cause(lab: Lab) -> None:
    refs = [lab.system.start(otpy.child(Doer).opts(id=ident)) for ident in "abc"]
    add_link(refs[0], refs[1])
    add_link(refs[1], refs[2])
    refs[0].cast(Doer.run, lambda _: otpy.Stop(BOOM))
    lab.settle()

    record = only([one for one in lab.system.exits("lab/c") if one.relation == "own"])

    assert record.origin == ("lab/b: exit: 'boom'", "lab/a: exit: 'boom'")
    assert lab.system.exits("lab/a")[0].took == ("lab/b",)


def test_a_killed_supervisor_takes_its_children_along(lab: Lab) -> None:
    started(lab, tree(*lab.workers("ab"), id="sub"))
    lab.system.kill("lab/top/sub")
    lab.settle()

    own, above = lab.system.exits("lab/top/sub/a")

    assert (own.reason, own.origin, own.by) == ("killed", ("lab/top/sub: killed",), "lab/top/sub")
    assert (above.relation, sorted(above.took)) == ("above", ["lab/top/sub/a", "lab/top/sub/b"])


def test_a_child_that_is_gone_for_good_is_remembered(lab: Lab) -> None:
    sup = dynamic(lab)
    spec = lab.worker("x").opts(restart="temporary")
    crashed, ended = (sup.call(otpy.DynamicSupervisor.start_child, spec) for _ in range(2))
    crashed.cast(Worker.crash, ValueError("no"))
    ended.cast(Worker.end, otpy.Normal())
    lab.settle()

    records = [only(lab.system.exits(path)) for path in (crashed.path, ended.path)]

    assert [record.reason for record in records] == ["ValueError: no", "normal"]
    assert [record.actions[0].what for record in records] == ["forgot", "forgot"]


def test_ordered_stops_are_not_kept(lab: Lab) -> None:
    """A million of them must not wash a crash away."""
    top = started(lab, *lab.workers("ab"), lab.worker("c", traps=False), lab.worker("d").opts(shutdown="brutal_kill"))
    for ident in ("b", "c", "d"):
        lab.system.terminate_child(f"lab/top/{ident}")
    lab.system.restart_child("lab/top/a")
    top.stop(otpy.Shutdown())
    lab.settle()

    assert lab.system.exits() == []


def test_a_flood_of_one_kind_leaves_the_others(lab: Lab) -> None:
    lab.system.start(otpy.child(Doer).opts(id="root-cause")).cast(Doer.run, crash)
    lab.settle()
    hub = lab.system.start(otpy.child(Doer).opts(id="hub"))
    for _ in range(MAX_EXITS + 50):
        add_link(hub, lab.system.start(Doer))
    hub.kill()
    lab.settle()

    assert len(lab.system.history.notes()) == MAX_EXITS + 2
    assert [one.path for one in lab.system.exits("lab/root-cause")] == ["lab/root-cause"]
    hub_exit = lab.system.exits("lab/hub")[0]
    assert (len(hub_exit.took), hub_exit.took_left_out) == (MAX_NAMES, MAX_EXITS + 50 - MAX_NAMES)


def test_what_is_kept_is_bounded_in_size(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notes, "MAX_BYTES", 10_000)
    for _ in range(30):
        lab.system.start(Doer).cast(Doer.run, crash)
        lab.settle()

    kept = lab.system.history.notes()

    assert 0 < sum(note.size for note in kept) <= 10_000
    assert len(kept) < 30


def test_the_text_of_a_crash_somebody_made_up_is_counted(lab: Lab) -> None:
    """Those that otpy makes are short; `Stop(Crashed(…))` may bring a book each."""
    for _ in range(10):
        lab.system.start(Doer).cast(Doer.run, lambda _: otpy.Stop(otpy.Crashed("BookError", "x" * 100_000)))
        lab.settle()
    assert len(lab.system.history.notes()) == 2


def test_it_holds_nothing_of_the_user(lab: Lab) -> None:
    class Secret:
        def __repr__(self) -> str:
            raise AssertionError

    lab.system.start(Doer).cast(Doer.run, lambda _: otpy.Stop(otpy.Exit(Secret())))
    lab.settle()

    assert "Secret" in only(lab.system.exits()).reason
    assert isinstance(lab.system.history.notes()[0].reason, str)


def test_nobody_there_and_nothing_known(lab: Lab) -> None:
    lab.system.start(otpy.child(Doer).opts(id="a"))

    assert lab.system.exits("lab/a") == []
    with pytest.raises(NoSuchActorError):
        lab.system.exits("lab/b")


def test_a_kill_names_the_actor_that_did_it(lab: Lab) -> None:
    victim = lab.system.start(otpy.child(Doer).opts(id="victim"))
    killer = lab.system.start(otpy.child(Doer).opts(id="killer"))
    killer.cast(Doer.run, lambda _: victim.kill() and None)
    lab.settle()

    assert (victim.reason, lab.system.exits("lab/victim")[0].by) == (Killed(), "lab/killer")


class Array:
    """As those of numpy: two of them are no single truth."""

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")

    __hash__ = None  # type: ignore[assignment]


def test_reasons_that_cannot_be_compared_keep_no_death_from_being_told(lab: Lab) -> None:
    """It compared the reason of who ends with that of whom it follows, in the middle of the death."""

    class Follower(otpy.GenServer):
        trap_exit = True

        def handle_info(self, message: object) -> object:
            return otpy.Stop(Exit(Array()))

    ref = lab.system.start(otpy.child(Follower))
    cause = lab.system.start(lab.worker("a", traps=False))
    add_link(ref, cause)
    watch = ref.monitor()
    cause.exit(Exit(Array()))
    lab.settle()
    assert watch.wait(0).reason is ref.reason
    assert only(lab.system.exits("lab/Follower")).reason == f"exit: <{__name__}.Array>"


class Wordless(otpy.Reason):
    def __str__(self) -> str:
        raise ValueError("no words")


def test_reason_whose_str_fails_is_told_all_the_same(lab: Lab) -> None:
    sup = started(lab, lab.worker("a", traps=False), max_restarts=1)
    said = f"<{__name__}.Wordless that cannot be described>"
    lab.refs["a"].exit(Wordless())
    lab.settle()
    assert only(lab.system.exits("lab/top/a")).reason == said
    lab.refs["a"].exit(Wordless())
    lab.settle()
    assert f"child a ({said}), after restarts of a ({said}" in str(sup.reason)
