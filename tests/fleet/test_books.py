"""Whatever comes, in whatever order: the numbers of each group are those of its agents, and none is overlooked."""

from __future__ import annotations

import threading
from collections import Counter
from random import Random
from typing import Any

import pytest

from otpy.fleet import FleetView
from otpy.fleet.books import NOWHERE, Agent
from otpy.fleet.labels import AWOL, GONE, LOST, NEVER, SILENT, Group
from otpy.fleet.ledger import Ledger
from otpy.fleet.plan import Watch
from otpy.fleet.wheel import Wheel
from otpy.testing import VirtualSystem

NAMES = [f"a{number}" for number in range(12)]


def plan(**options: Any) -> Any:
    return FleetView("fleet", **({"period": 5.0, "forget": 40.0, "most": 10, "groups": 6} | options)).plan


def recounted(ledger: Ledger) -> dict[tuple[str | None, str | None], Counter[int]]:
    found: dict[tuple[str | None, str | None], Counter[int]] = {}
    for agent in ledger.agents.values():
        for group in agent.set.groups:
            found.setdefault((group.label, group.value), Counter())[agent.standing] += 1
    return found


def check(ledger: Ledger, now: float) -> None:
    """What holds at any time."""
    counted = recounted(ledger)
    for group in ledger.labels:
        own = Counter({standing: number for standing, number in enumerate(group.numbers) if number})
        assert own == counted.get((group.label, group.value), Counter()), (group.label, group.value)
        assert group.label is None or group.members or group.expected or group.told is not None
    assert len(ledger.agents) <= ledger.plan.most
    assert ledger.lives.keys() <= ledger.agents.keys()
    for agent in ledger.agents.values():
        check_agent(ledger, agent, now)


def check_agent(ledger: Ledger, agent: Agent, now: float) -> None:
    is_watched = agent.standing <= SILENT
    assert (agent.bucket != NOWHERE) == is_watched
    assert not is_watched or agent in ledger._wheel._buckets[agent.bucket]
    assert not is_watched or agent.bucket >= ledger._wheel._next
    assert (agent.name in ledger._dead) == (agent.standing in {LOST, GONE} and not agent.is_expected)
    assert agent.standing != AWOL or agent.is_expected
    silent, dead = ledger.limits(agent)
    since = max(agent.heard, ledger.watched_from)
    if agent.standing < SILENT:
        assert now <= since + silent + 2.0
    elif agent.standing == SILENT and ledger.deaf_since is None:
        assert now <= since + dead + 2.0 + (agent.period if ledger.watched_from else 0)


@pytest.mark.parametrize("seed", range(16))
def test_the_books_agree_with_themselves(seed: int) -> None:
    chance = Random(seed)
    ledger = Ledger(plan(watches=[Watch(), Watch(label="region", least=1)]))
    now = 100.0 * chance.random()
    ledger.begin(now)
    for _ in range(300):
        step(ledger, chance, now)
        now += chance.choice((0.0, 0.0, 0.1, 1.0, 3.0, 12.0 if chance.random() < 0.1 else 0.0))
        if chance.random() < 0.6:
            ledger.tick(now, "hub/fleet")
            check(ledger, now)
    for _ in range(400):
        now += 1.0
        ledger.tick(now, "hub/fleet")
    check(ledger, now)
    standings = {agent.standing for agent in ledger.agents.values() if not agent.is_expected}
    assert standings <= ({SILENT} if ledger.deaf_since is not None else {NEVER}), "time ends all, and forgets them"


def step(ledger: Ledger, chance: Random, now: float) -> None:
    name, kind = chance.choice(NAMES), chance.random()
    if kind < 0.03:
        ledger.forget(name)
    elif kind < 0.06 and (name in ledger.agents or len(ledger.agents) < ledger.plan.most):
        ledger.expect([name], {"region": "eu"}, now)
    elif kind < 0.08:
        ledger.expect_so_many(("region", chance.choice("abc")), chance.randrange(3))
    elif kind < 0.09:
        ledger.begin(now)
    else:
        ledger.beat(
            now,
            lambda: 0,
            name,
            chance.choice((None, {}, {"region": chance.choice("abcdefgh")}, {"region": "a", "version": "1"})),
            chance.choice(("normal", "normal", "normal", "degraded", "draining", "gone")),
            None,
            {} if kind < 0.5 else {"rows": 1},
            chance.choice((None, "one", "two", "three", "four", "five", "six")),
            chance.choice((None, chance.randrange(50))),
            chance.choice((None, None, 0.5, 2.0, 7.0)),
            None,
            chance.choice((None, chance.randrange(9))),
        )


def test_the_wheel_gives_each_once_and_at_its_time() -> None:
    wheel, chance = Wheel(), Random(1)
    group = Group(None, None)
    due: dict[Agent, float] = {}
    seen: list[Agent] = []
    for number in range(300):
        agent = Agent(str(number), group, 1.0, 0.0)  # type: ignore[arg-type]
        for _ in range(1 + number % 3):  # the last word holds
            due[agent] = 40.0 * chance.random() + (1e6 if number % 10 == 0 else 0.0)
            wheel.put(agent, due[agent])
    for now in (0.0, 0.5, 1.0, 7.9, 8.0, 30.0, 41.0, 1e6 + 41.0):
        for agent in wheel.due(now):
            assert now - 35 <= due[agent] <= now or now > 1e6
            seen.append(agent)
        assert not [one for one, at in due.items() if at <= now - 1 and one not in seen]
    assert len(seen) == len(set(seen)) == 300
    assert wheel._buckets == {}


def test_beats_from_many_threads_are_all_counted() -> None:
    view = FleetView("fleet")
    system = VirtualSystem("hub", seed=1)
    system.start(view.child())

    def work(thread: int) -> None:
        for number in range(300):
            view.beat(f"{thread}-{number % 30}", labels={"thread": str(thread % 2)})
            view.beat("shared", labels={"thread": str(thread)})
            if number % 100 == 0:
                view.look()
                view.agents("alive", limit=3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    system.clock.advance(5.0)
    for thread in threads:
        thread.join()
    look = view.look()
    assert (look.beats, look.whole.alive, sum(group.alive for group in view.groups("thread"))) == (2_400, 121, 121)
    system.stop()
