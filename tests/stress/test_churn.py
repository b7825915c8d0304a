"""Actors that start and end, and timers that are set and cancelled, from many threads at once: nothing is left."""

from __future__ import annotations

import random
import threading
from collections import Counter

import pytest

import otpy
from otpy.errors import StartError

pytestmark = pytest.mark.usefixtures("switching")


def test_starts_and_ends_in_all_ways_leave_nothing(rounds: int) -> None:
    """Stop, kill, exit, crash and failed starts, from several threads, in both places."""
    system = otpy.System("stress")

    def churn(ident: int) -> None:
        chance = random.Random(ident)
        for number in range(60 * rounds):
            fails = chance.random() < 0.2
            place = "thread" if chance.random() < 0.3 else "pool"
            spec = otpy.child(Fragile, fails=fails).opts(id=f"{ident}-{number}", name=f"{ident}", place=place)  # type: ignore[typeddict-item]
            try:
                ref = system.start(spec)
            except StartError:
                continue
            monitor = ref.monitor()
            enders = [
                lambda: ref.stop(block=False),  # noqa: B023 - at once
                lambda: ref.kill(),  # noqa: B023, PLW0108 - as above
                lambda: ref.exit(otpy.Exit("x")),  # noqa: B023
                lambda: ref.tell("crash"),  # noqa: B023
            ]
            for _ in range(chance.randrange(1, 3)):
                chance.choice(enders)()
            monitor.wait(20.0)
            assert system.whereis(f"{ident}") is None

    failures: list[BaseException] = []

    def guarded(ident: int) -> None:
        try:
            churn(ident)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(ident,)) for ident in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    system.wait_idle()
    assert failures == []
    assert (system.alive, system.zombies(), system.names, system.tops) == (0, [], {}, {})
    assert OPEN == []
    for home in list(system.threads):
        assert home.is_idle()
    assert system.stop() == []


OPEN: list[object] = []


class Fragile(otpy.GenServer):
    def init(self, *, fails: bool) -> otpy.Stop | None:
        self.use(self)
        return otpy.Stop(otpy.Exit("no")) if fails else None

    def __enter__(self) -> None:
        OPEN.append(self)

    def __exit__(self, *_: object) -> None:
        OPEN.remove(self)

    def handle_info(self, message: object) -> None:
        raise ValueError(message)


def test_timers_set_and_cancelled_from_many_threads_fire_or_not_never_both(rounds: int) -> None:
    system = otpy.System("stress")
    fired: Counter[int] = Counter()
    cancelled: Counter[int] = Counter()
    lock = threading.Lock()

    def drive(ident: int) -> None:
        chance = random.Random(ident)
        for number in range(500 * rounds):
            key = ident * 1_000_000 + number
            timer = system.timers.after(chance.random() * 0.002, note, fired, key)
            if chance.random() < 0.5 and timer.cancel():
                note(cancelled, key)

    def note(counter: Counter[int], key: int) -> None:
        with lock:
            counter[key] += 1

    threads = [threading.Thread(target=drive, args=(ident,)) for ident in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    last = threading.Event()
    system.timers.after(0.05, last.set)
    assert last.wait(60)
    system.stop()
    both = fired + cancelled
    assert len(both) == 4 * 500 * rounds
    assert set(both.values()) == {1}
