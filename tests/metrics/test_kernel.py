"""What the kernel's metrics say of a program to which something happens."""

from __future__ import annotations

import pytest

import otpy
from otpy.errors import CallExitError, SpecError
from otpy.metrics import Metrics
from otpy.testing import Gate, VirtualClock
from support.doer import BOOM, AsyncDoer, Doer
from support.prometheus import figure, figures, promtool


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Doer).opts(id="doer", name="doer")]


def test_a_crash_and_a_restart_are_counted(system: otpy.System) -> None:
    metrics = Metrics(system)
    system.start(otpy.child(Tree))
    doer = system.whereis("doer")
    assert doer is not None
    assert (figure(metrics, "otpy_restarts_total"), figure(metrics, "otpy_actors")) == (0, 2)

    with pytest.raises(CallExitError):
        doer.call(Doer.do, BOOM)
    system.wait_idle()

    assert figure(metrics, "otpy_restarts_total") == 1
    assert figures(metrics, "otpy_crashes_total") == {("Doer",): 1}
    assert figure(metrics, "otpy_actors") == 2


def test_a_dead_letter_is_counted(system: otpy.System) -> None:
    metrics = Metrics(system)
    doer = system.start(otpy.child(Doer))
    doer.stop()

    doer.tell("anybody?")
    system.wait_idle()

    assert figure(metrics, "otpy_dead_letters_total") == 1


def test_what_waits_and_what_is_in_flight_is_seen(system: otpy.System) -> None:
    metrics = Metrics(system)
    named = system.start(otpy.child(Doer).opts(id="named", name="named"))
    other = system.start(otpy.child(Doer).opts(id="other"))
    with Gate() as gate:
        for place, (ref, number) in enumerate(((named, 3), (other, 5)), 1):
            ref.cast(Doer.run, lambda _: gate.wait())
            gate.reached(place)
            for _ in range(number):
                ref.cast(Doer.run, lambda _: None)

        assert figure(metrics, "otpy_mailbox_messages") == 8
        assert figure(metrics, "otpy_mailbox_messages_max") == 5
        assert figures(metrics, "otpy_named_mailbox_messages") == {("named",): 3}
        assert figure(metrics, "otpy_actors_busy") == 2

        gate.open()
    system.wait_idle()
    assert figure(metrics, "otpy_mailbox_messages") == 0
    assert figure(metrics, "otpy_actors_busy") == 0


def test_what_is_in_flight_outside_of_actors_is_seen(system: otpy.System) -> None:
    metrics = Metrics(system)
    with system.in_flight():
        assert figure(metrics, "otpy_in_flight") == 1
    assert figure(metrics, "otpy_in_flight") == 0


def test_a_zombie_is_there_until_its_code_ends(system: otpy.System) -> None:
    metrics = Metrics(system)
    doer = system.start(otpy.child(Doer))
    with Gate() as gate:
        doer.cast(Doer.run, lambda _: gate.wait())
        gate.reached()

        doer.kill()

        assert figure(metrics, "otpy_zombies") == figure(metrics, "otpy_zombies_made_total") == 1
        gate.open()
    system.wait_idle()
    assert figure(metrics, "otpy_zombies") == 0


def test_calls_are_timed_by_the_systems_clock(timed: otpy.System, clock: VirtualClock) -> None:
    metrics = Metrics(timed)
    asker, doer = timed.start(otpy.child(Doer).opts(id="asker")), timed.start(otpy.child(Doer))

    def later(actor: Doer) -> otpy.NoReply:
        assert actor.caller is not None
        actor.system.timers.after(0.2, actor.caller.reply, None)
        return otpy.NoReply()

    asker.cast(Doer.run, lambda _: doer.call(Doer.do, lambda _: None))
    asker.cast(Doer.run, lambda _: doer.call(Doer.do, later))
    timed.wait_idle()
    clock.advance(0.2)

    timed_calls = figure(metrics, "otpy_call_seconds")
    assert dict(timed_calls.buckets)[0.0001] == 1
    assert dict(timed_calls.buckets)[0.1] == 1
    assert dict(timed_calls.buckets)[0.5] == dict(timed_calls.buckets)[float("inf")] == 2
    assert timed_calls.total == pytest.approx(0.2)


def test_calls_are_not_timed_before_somebody_measures(system: otpy.System) -> None:
    doer = system.start(otpy.child(Doer))

    doer.call(Doer.do, lambda _: None)

    assert system.latency is None
    assert dict(figure(Metrics(system), "otpy_call_seconds").buckets)[float("inf")] == 0


def test_labels_stay_bounded_whatever_there_is(system: otpy.System) -> None:
    metrics = Metrics(system, most=3)
    for number in range(10):
        system.start(otpy.child(Doer).opts(id=f"d{number}", name=f"d{number}"))

    first = figures(metrics, "otpy_named_mailbox_messages")

    assert set(first) == {("d0",), ("d1",), ("d2",), ("other",)}
    assert set(figures(metrics, "otpy_named_mailbox_messages")) == set(first)


def test_ten_thousand_dynamic_children_have_no_series_of_their_own(system: otpy.System) -> None:
    metrics = Metrics(system)
    children = system.start(otpy.dynamic())
    before = len(metrics.exposition()[1].splitlines())
    for _ in range(10_000):
        children.call(otpy.DynamicSupervisor.start_child, otpy.child(Doer))

    assert figure(metrics, "otpy_actors") == 10_001
    assert len(metrics.exposition()[1].splitlines()) == before


def test_two_systems_have_metrics_of_their_own(system: otpy.System, timed: otpy.System) -> None:
    one, other = Metrics(system), Metrics(timed)
    system.start(otpy.child(Doer))

    assert (figure(one, "otpy_actors"), figure(other, "otpy_actors")) == (1, 0)
    assert one.registry is not other.registry


def test_nothing_is_counted_after_close(system: otpy.System) -> None:
    with Metrics(system) as metrics:
        doer = system.start(otpy.child(Doer))
    doer.stop()
    doer.tell("anybody?")

    assert figure(metrics, "otpy_dead_letters_total") == 0


@pytest.mark.parametrize("options", [{"most": 0}, {"most": True}, {"seconds": 0}, {"seconds": "1"}])
def test_options_that_cannot_be_are_refused(system: otpy.System, options: dict[str, object]) -> None:
    with pytest.raises(SpecError, match="Metrics"):
        Metrics(system, **options)  # type: ignore[arg-type]


def test_what_is_no_system_is_refused() -> None:
    with pytest.raises(TypeError, match="Metrics takes a system"):
        Metrics("shop")  # type: ignore[arg-type]


def test_names_that_cannot_be_written_do_not_spoil_the_rest(system: otpy.System) -> None:
    """A lone surrogate is no UTF-8, and a page that cannot be encoded would say nothing of anything."""
    metrics = Metrics(system)
    for number, name in enumerate(["a\udc80\n", "x" * 1_000]):
        system.start(otpy.child(Doer).opts(id=f"d{number}", name=name))

    assert set(figures(metrics, "otpy_named_mailbox_messages")) == {("a\udc80\n",), ("other",)}
    assert "udc80" in promtooled(metrics)


def promtooled(metrics: Metrics) -> str:
    """What is exported, once a real Prometheus has taken it."""
    body = metrics.exposition()[1]
    promtool("check", "metrics", given=body)
    return body.decode()


def test_calls_that_are_awaited_or_led_are_timed_as_well(system: otpy.System) -> None:
    metrics = Metrics(system)
    doer = system.start(otpy.child(Doer))
    apart = system.start(otpy.child(Doer).opts(id="apart", place="process"))
    awaiting = system.start(otpy.child(AsyncDoer).opts(id="awaiting"))
    before = figure(metrics, "otpy_call_seconds").buckets[-1][1]

    async def ask(_: object) -> None:
        await doer.acall(Doer.read)

    awaiting.call(AsyncDoer.do, ask)
    for _ in range(3):
        apart.call(Doer.read)

    assert figure(metrics, "otpy_call_seconds").buckets[-1][1] - before == 5
