"""Links and monitors between all places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from support import deeds
from support.stage import BOOM, do, ends, one_of, run, seen
from support.steps import named

if TYPE_CHECKING:
    from support.stage import Place, Stage

ENDS: list[tuple[Any, ...]] = [(deeds.leave, BOOM), (deeds.kill_self,), (deeds.stop, otpy.Shutdown())]


# --- links


@pytest.mark.otp_case(6, 10, 12)
def test_an_end_takes_along_who_is_linked_and_does_not_trap(stage: Stage, one: Place, other: Place) -> None:
    """Whoever made the link; a third, linked to that one, hears whose end it was."""
    beyond = stage.start(one, traps=True)
    linker, linked = stage.start(one), stage.start(other)
    do(linker, deeds.link, linked)
    do(beyond, deeds.link, linker)
    deed, *args = one_of(ENDS, one, other)
    reason = ends(linker, lambda: run(linked, deed, *args))
    assert reason == linked.reason
    assert seen(beyond, 1) == [("exit", linker.path, reason)]


@pytest.mark.otp_case(5, 13)
def test_an_end_is_a_message_to_who_is_linked_and_traps(stage: Stage, one: Place, other: Place) -> None:
    linker, linked = stage.start(one, traps=True), stage.start(other)
    do(linker, deeds.link, linked)
    deed, *args = one_of(ENDS, one, other)
    reason = ends(linked, lambda: run(linked, deed, *args))
    assert seen(linker, 1) == [("exit", linked.path, reason)]


@pytest.mark.otp_case(6, 10)
def test_the_end_of_who_made_the_link_takes_the_other_along(stage: Stage, one: Place, other: Place) -> None:
    """Killed from outside, which a process cannot tell of any more."""
    linker, plain, trapping = stage.start(one), stage.start(other), stage.start(other, traps=True)
    do(linker, deeds.link, plain, trapping)
    assert ends(plain, linker.kill) == otpy.Killed()
    assert seen(trapping, 1) == [("exit", linker.path, otpy.Killed())]


def test_a_normal_end_takes_nobody_along(stage: Stage, one: Place, other: Place) -> None:
    linker, linked, trapping = stage.start(one), stage.start(other), stage.start(one, traps=True)
    do(linker, deeds.link, linked)
    do(trapping, deeds.link, linked)
    linked.stop()
    assert seen(trapping, 1) == [("exit", linked.path, otpy.Normal())]
    assert seen(linker) == []


@pytest.mark.otp_case(9)
def test_a_reason_kill_of_ones_own_goes_over_links_as_kill(stage: Stage, one: Place, other: Place) -> None:
    linker, linked, plain = stage.start(one, traps=True), stage.start(other), stage.start(one)
    do(linker, deeds.link, linked)
    do(plain, deeds.link, linked)
    assert ends(plain, lambda: run(linked, deeds.leave, otpy.Kill())) == otpy.Kill()
    assert seen(linker, 1) == [("exit", linked.path, otpy.Kill())]


@pytest.mark.otp_case(14)
def test_linking_twice_is_linking_once(stage: Stage, one: Place, other: Place) -> None:
    linker, linked = stage.start(one), stage.start(other)
    do(linker, deeds.link, linked, linked)
    do(linker, deeds.unlink, linked)
    assert ends(linked, lambda: linked.exit(BOOM)) == BOOM
    assert do(linker, deeds.echo, 1) == 1


def test_unlinking_from_either_side_removes_the_link(stage: Stage, one: Place, other: Place) -> None:
    linker, linked = stage.start(one), stage.start(other)
    do(linker, deeds.link, linked)
    do(linked, deeds.unlink, linker)
    assert ends(linked, lambda: linked.exit(BOOM)) == BOOM
    assert do(linker, deeds.echo, 1) == 1


def test_a_link_may_be_made_again(stage: Stage, one: Place, other: Place) -> None:
    linker, linked = stage.start(one), stage.start(other)
    do(linker, deeds.link_again, linked)
    assert ends(linker, lambda: linked.exit(BOOM)) == BOOM


@pytest.mark.otp_case(16)
def test_unlinking_leaves_an_exit_message_that_has_arrived(stage: Stage, one: Place, other: Place) -> None:
    linker, linked = stage.start(one, traps=True), stage.start(other)
    do(linker, deeds.link, linked)
    assert ends(linked, linked.kill) == otpy.Killed()
    assert seen(linker, 1) == [("exit", linked.path, otpy.Killed())]
    do(linker, deeds.unlink, linked)
    assert seen(linker, 1) == [("exit", linked.path, otpy.Killed())]


@pytest.mark.otp_case(17)
def test_linking_to_a_dead_actor_is_noproc(stage: Stage, one: Place, other: Place) -> None:
    """Whether it was known before its end or not."""
    dead, trapping, plain = stage.start(other), stage.start(one, traps=True), stage.start(one)
    do(trapping, deeds.ask, dead, named(deeds.nothing))
    dead.kill()
    do(trapping, deeds.link, dead)
    assert seen(trapping, 1) == [("exit", dead.path, otpy.NoProc())]
    assert ends(plain, lambda: run(plain, deeds.link, dead)) == otpy.NoProc()


@pytest.mark.otp_case(18)
def test_linking_to_oneself_has_no_effect(stage: Stage, place: Place) -> None:
    ref, stranger = stage.start(place), stage.start(place)
    do(ref, deeds.link, ref)
    do(ref, deeds.unlink, ref, stranger)
    assert seen(ref) == []
    assert ends(ref, ref.stop) == otpy.Normal()


@pytest.mark.otp_case(102)
def test_a_child_may_cut_its_link(stage: Stage, parent: Place, child: Place) -> None:
    starter = stage.start(parent)
    do(starter, deeds.spawn, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.ask, named(deeds.unlink_parent))
    do(starter, deeds.to_kept, "child", deeds.watch)
    do(starter, deeds.to_kept, "child", deeds.end, BOOM)
    assert do(starter, deeds.to_kept, "child", deeds.wait_for_end) in (BOOM, otpy.NoProc())
    assert seen(starter, 1) == [("down", f"{starter.path}/child", BOOM)]


def test_a_kept_child_lives_on_when_it_has_cut_its_link(stage: Stage, parent: Place, child: Place) -> None:
    notes = stage.notes()
    starter = stage.start(parent, log=notes)
    do(starter, deeds.spawn, "child", child.name)
    do(starter, deeds.to_kept, "child", deeds.unlink)
    do(starter, deeds.to_kept, "child", deeds.end, BOOM)
    assert do(starter, deeds.to_kept, "child", deeds.wait_for_end) in (BOOM, otpy.NoProc())
    assert seen(starter) == []


# --- monitors


def test_who_watches_is_told_of_the_end_as_often_as_he_watches(stage: Stage, one: Place, other: Place) -> None:
    watcher, watched = stage.start(one), stage.start(other)
    do(watcher, deeds.watch, watched, 2)
    deed, *args = one_of(ENDS, one, other)
    reason = ends(watched, lambda: run(watched, deed, *args))
    assert seen(watcher, 2) == [("down", watched.path, reason)] * 2


def test_the_end_of_who_watches_concerns_nobody(stage: Stage, one: Place, other: Place) -> None:
    watcher, watched = stage.start(one), stage.start(other)
    do(watcher, deeds.watch, watched)
    assert ends(watcher, lambda: watcher.exit(BOOM)) == BOOM
    assert do(watched, deeds.echo, 1) == 1


@pytest.mark.otp_case(20)
def test_watching_the_dead_says_noproc_once(stage: Stage, one: Place, other: Place) -> None:
    watcher, dead = stage.start(one), stage.start(other)
    dead.kill()
    do(watcher, deeds.watch, dead)
    assert seen(watcher, 1) == [("down", dead.path, otpy.NoProc())]


@pytest.mark.otp_case(20)
def test_watching_a_name_that_nobody_holds_says_noproc(stage: Stage, place: Place) -> None:
    watcher = stage.start(place)
    do(watcher, deeds.watch, "nobody")
    assert seen(watcher, 1) == [("down", "nobody", otpy.NoProc())]


@pytest.mark.otp_case(24)
def test_a_monitor_by_name_tells_the_name(stage: Stage, one: Place, other: Place) -> None:
    watcher, watched = stage.start(one), stage.start(other, name="it")
    do(watcher, deeds.watch, "it")
    assert ends(watched, lambda: watched.exit(BOOM)) == BOOM
    assert seen(watcher, 1) == [("down", "it", BOOM)]


@pytest.mark.otp_case(21)
def test_watching_oneself_says_nothing(stage: Stage, place: Place) -> None:
    ref = stage.start(place)
    do(ref, deeds.watch_itself)
    assert seen(ref) == []
    assert ends(ref, ref.stop) == otpy.Normal()


@pytest.mark.otp_case(22)
def test_who_no_longer_watches_hears_nothing(stage: Stage, one: Place, other: Place) -> None:
    watcher, watched = stage.start(one), stage.start(other)
    do(watcher, deeds.watch, watched)
    assert do(watcher, deeds.unwatch) is True
    assert ends(watched, watched.kill) == otpy.Killed()
    assert seen(watcher) == []


@pytest.mark.otp_case(22)
def test_what_has_arrived_stays_unless_it_is_flushed(stage: Stage, one: Place, other: Place) -> None:
    flush = one_of([True, False, True], one, other)
    watcher, watched, gate = stage.start(one), stage.start(other), stage.barrier()
    do(watcher, deeds.watch, watched)
    run(watcher, deeds.unwatch_late, gate.ref, watched, flush)
    gate.reached()
    assert ends(watched, watched.kill) == otpy.Killed()
    gate.open()
    heard = seen(watcher, 1)
    assert heard[0] is False
    assert heard[1:] == [("down", watched.path, otpy.Killed())] * (not flush)


def test_an_end_can_be_waited_for(stage: Stage, one: Place, other: Place) -> None:
    waiter, watched, notes = stage.start(one), stage.start(other), stage.notes()
    run(waiter, deeds.wait_and_note, notes.ref, watched)
    assert notes.expect(1) == ["waits"]
    watched.exit(BOOM)
    [_, reason] = notes.expect(2)
    assert reason in (BOOM, otpy.NoProc())
    assert do(waiter, deeds.wait_for_end, watched) == otpy.NoProc()
