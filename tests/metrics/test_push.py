"""Metrics of agents that nobody can scrape: pushed through an outbox, and put together at the receiver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.drain.begin import begin
from otpy.errors import SpecError, StartError
from otpy.metrics import METRICS_TOPIC, AgentMetrics, Metrics, MetricsPush, SnapshotError
from otpy.metrics.snapshot import snapshot_of
from otpy.resilience import Outbox
from support.doer import Doer
from support.prometheus import figure, promtool

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.resilience import Batch, Receipt
    from otpy.testing import VirtualClock

pytestmark = pytest.mark.any_python


class Hub:
    """Takes batches, unless it is away."""

    def __init__(self, clock: VirtualClock) -> None:
        self.agents = AgentMetrics(keep=120.0, most=2, clock=clock.now)
        self.is_away = False
        self.rows = 0

    def post(self, batch: Batch) -> Receipt | None:
        if self.is_away:
            raise ConnectionError("the hub is away")
        self.rows += len(batch.rows)
        return self.agents.receive(batch)

    def lines(self, name: str) -> list[str]:
        text = self.agents.exposition()[1].decode()
        return [line for line in text.splitlines() if line.startswith((f"{name}{{", f"{name} "))]


@pytest.fixture
def hub(clock: VirtualClock) -> Hub:
    return Hub(clock)


@pytest.fixture
def outbox(hub: Hub, tmp_path: Path) -> Outbox:
    return Outbox("hub", tmp_path / "o.db", senders=[hub.post], topics=[METRICS_TOPIC], agent="a17", ramp=0.0)


def pushing(system: otpy.System, outbox: Outbox, **options: Any) -> otpy.Ref[MetricsPush]:
    system.start(outbox.child())
    ref: otpy.Ref[MetricsPush] = system.start(otpy.child(MetricsPush, outbox, **options))
    system.wait_idle()
    return ref


def with_many_names(system: otpy.System) -> Metrics:
    for number in range(60):
        system.start(otpy.child(Doer).opts(id=f"doer-{number}", name=f"doer-{number}"))
    return Metrics(system)


def test_metrics_come_through_an_outbox(timed: otpy.System, clock: VirtualClock, hub: Hub, outbox: Outbox) -> None:
    pushing(timed, outbox, every=30.0)
    assert hub.rows == 1
    assert hub.lines("otpy_info") == ['otpy_info{agent="a17",system="t",version="0.1.0"} 1.0']

    clock.advance(61.0)

    assert hub.rows == 3
    assert hub.lines("otpy_agents") == ["otpy_agents 1.0"]
    assert promtool("check", "metrics", given=hub.agents.exposition()[1]) == ""


def test_an_agent_that_is_silent_is_forgotten(
    timed: otpy.System, clock: VirtualClock, hub: Hub, outbox: Outbox
) -> None:
    ref = pushing(timed, outbox)
    ref.stop()

    clock.advance(100.0)
    assert hub.lines("otpy_agent_age_seconds") == ['otpy_agent_age_seconds{agent="a17"} 100.0']
    clock.advance(30.0)

    assert hub.lines("otpy_agents") == ["otpy_agents 0.0"]
    assert hub.lines("otpy_actors") == []


def test_what_waits_for_a_hub_gets_coarser(timed: otpy.System, clock: VirtualClock, hub: Hub, tmp_path: Path) -> None:
    topic = type(METRICS_TOPIC)("metrics", rows=10, overflow="sample")
    outbox = Outbox("hub", tmp_path / "o.db", senders=[hub.post], topics=[topic])
    hub.is_away = True
    pushing(timed, outbox, every=10.0)

    clock.advance(1_000.0)

    look = outbox.look()
    assert look.rows <= 10
    assert look.dropped["sample"] > 80


def test_the_last_word_is_said_in_a_drain(timed: otpy.System, clock: VirtualClock, hub: Hub, outbox: Outbox) -> None:
    class Tree(otpy.Supervisor):
        def children(self) -> list[otpy.ChildSpec]:
            return [outbox.child(), otpy.child(MetricsPush, outbox, every=600.0)]

    timed.start_root(otpy.child(Tree))
    timed.wait_idle()
    assert hub.lines("otpy_drain_in_progress") == ['otpy_drain_in_progress{agent="a17"} 0.0']

    begin(timed, "SIGTERM", 10.0)
    clock.advance(1.0)

    assert hub.lines("otpy_drain_in_progress") == ['otpy_drain_in_progress{agent="a17"} 1.0']


def test_a_snapshot_is_bounded_and_leaves_out_the_largest(timed: otpy.System) -> None:
    metrics = with_many_names(timed)
    whole, none = snapshot_of(metrics.read(), 1 << 20)

    part, left = snapshot_of(metrics.read(), 1_500)

    assert none == 0
    assert left == len(whole[1]) - len(part[1]) > 0
    assert "otpy_actors" in part[1]
    assert "otpy_named_mailbox_messages" not in part[1]


def test_what_an_outbox_does_not_take_is_counted(timed: otpy.System, outbox: Outbox, hub: Hub) -> None:
    metrics = with_many_names(timed)
    timed.start(otpy.child(MetricsPush, outbox, metrics=metrics, most_bytes=1_500))  # nobody keeps the outbox
    timed.wait_idle()

    assert figure(metrics, "otpy_push_failures_total") == 1
    assert figure(metrics, "otpy_push_left_out_total") > 0


def test_agents_beyond_the_bound_are_refused(hub: Hub, timed: otpy.System) -> None:
    snapshot, _ = snapshot_of(Metrics(timed).read(), 1 << 20)

    assert [hub.agents.take(f"a{number}", snapshot) for number in range(3)] == [True, True, False]
    assert hub.agents.take("a1", snapshot)


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "text",
        [],
        [1, []],
        [2, {}],
        [1, {"otpy_actors": [["label too much", 1.0]]}],
        [1, {"otpy_actors": [["1"]]}],
        [1, {"otpy_actors": [{}]}],
        [1, {"otpy_call_seconds": [[1.0]]}],
        [1, {"otpy_call_seconds": [[[[0.1], [1], 1.0]]]}],
        [1, {"otpy_call_seconds": [[[[0.1], [1, float("inf")], 1.0]]]}],
        [1, {"otpy_call_seconds": [[[[0.1, 0.1], [1, 2, 3], 1.0]]]}],
        [1, {"otpy_call_seconds": [[[[float("inf")], [1, 2], 1.0]]]}],
        [1, {"otpy_crashes_total": [["x" * 400, 1.0]]}],
        [1, {"otpy_crashes_total": [[5, 1.0]]}],
    ],
)
def test_what_is_no_snapshot_is_refused(hub: Hub, wrong: Any) -> None:
    with pytest.raises(SnapshotError):
        hub.agents.take("a1", wrong)


def test_a_snapshot_of_too_many_series_is_refused(hub: Hub) -> None:
    many = [1, {"otpy_crashes_total": [[str(number), 1.0] for number in range(20_001)]}]

    with pytest.raises(SnapshotError, match="20001 series"):
        hub.agents.take("a1", many)


def test_labels_that_look_alike_are_one_series(hub: Hub) -> None:
    assert hub.agents.take("a1", [1, {"otpy_crashes_total": [["x\n", 1.0], ["x\\n", 2.0]]}])

    assert len(hub.lines("otpy_crashes_total")) == 1


def test_metrics_of_a_newer_otpy_are_left_out(hub: Hub) -> None:
    assert hub.agents.take("a1", [1, {"otpy_new": [["x", 1.0]], "otpy_actors": [[3.0]]}])

    assert hub.lines("otpy_actors") == ['otpy_actors{agent="a1"} 3.0']


def test_rows_that_are_no_snapshots_are_refused_for_good(
    timed: otpy.System, hub: Hub, outbox: Outbox, clock: VirtualClock
) -> None:
    timed.start(outbox.child())
    outbox.put("metrics", "nonsense")

    clock.advance(60.0)

    assert outbox.look().rows == 0
    assert outbox.look().dropped == {"refused": 1}
    assert hub.lines("otpy_agent_snapshots_refused_total") == ["otpy_agent_snapshots_refused_total 1.0"]


@pytest.mark.parametrize("options", [{"every": 0}, {"every": float("inf")}, {"most_bytes": 10}, {"topic": "nowhere"}])
def test_options_that_cannot_be_are_refused(timed: otpy.System, outbox: Outbox, options: dict[str, Any]) -> None:
    with pytest.raises(StartError, match="MetricsPush"):
        timed.start(otpy.child(MetricsPush, outbox, **options))


@pytest.mark.parametrize("options", [{"keep": 0}, {"most": 0}])
def test_the_receivers_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SpecError, match="AgentMetrics"):
        AgentMetrics(**options)
