"""A kind that a breaker holds back, whose function calls through the same one: one call, counted once, as the probe."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.events import BreakerChanged
from otpy.jobs.client import Client, of
from otpy.jobs.engine import engine
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.jobs.setup import Crew
from otpy.resilience import Breaker, BreakerOpenError, retry
from otpy.testing import Gate
from support import errands

from .agents.works import Ends

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from otpy.testing import VirtualClock

SOON = otpy.Backoff(first=0.0, most=0.0)
OFTEN = Retry(errors=50, backoff=otpy.Backoff(first=1.0, most=1.0))


class RefusedError(Exception):
    """The service is well, and says no."""


class Service:
    """It fails while it is ill, and knows in which cool-down of its breaker it was asked."""

    def __init__(self, system: otpy.System, cooldown: float = 30.0, **rules: Any) -> None:
        self.breaker = Breaker("service", cooldown=cooldown, longest=cooldown, excludes=RefusedError, **rules)
        self.is_ill = True
        self.failures = self.opened = 0
        self.probes: list[int] = []
        self.gate: Gate | None = None
        system.start(self.breaker.child())
        system.events.attach(self._changed, BreakerChanged)

    def ask(self) -> str:
        """What a job calls."""
        if self.breaker.state != "closed" and self.breaker.retry_after() == 0.0:  # not one that was let begin before
            self.probes.append(self.opened)
        if self.gate is not None:
            self.gate.wait()
        if self.is_ill:
            self.failures += 1
            raise ConnectionError
        return "fine"

    def most(self) -> int:
        """The most calls that it got in one cool-down."""
        return max(map(self.probes.count, self.probes), default=0)

    def _changed(self, event: Any) -> None:
        self.opened += event.after == "open"


def plain(service: Service) -> Callable[[], object]:
    guarded = service.breaker(service.ask)

    def call() -> str:
        return guarded()

    return call


def block(service: Service) -> Callable[[], object]:
    def call() -> str:
        with service.breaker:
            return service.ask()

    return call


def permit(service: Service) -> Callable[[], object]:
    def call() -> str:
        allowed = service.breaker.allow()
        try:
            answer = service.ask()
        except ConnectionError as error:
            allowed.failed(error)
            raise
        allowed.succeeded()
        return answer

    return call


def coroutine(service: Service) -> Callable[[], object]:
    @service.breaker
    async def ask() -> str:
        return service.ask()

    async def call() -> str:
        return await ask()

    return call


def async_block(service: Service) -> Callable[[], object]:
    async def call() -> str:
        async with service.breaker:
            return service.ask()

    return call


def tried_again(service: Service) -> Callable[[], object]:
    again = retry(on=ConnectionError, attempts=3, backoff=SOON, breaker=service.breaker)(service.ask)

    def call() -> str:
        return again()

    return call


def in_a_thread(service: Service) -> Callable[[], object]:
    guarded = service.breaker(service.ask)

    async def call() -> str:
        return await asyncio.to_thread(guarded)

    return call


def in_own_thread(service: Service) -> Callable[[], object]:
    guarded = service.breaker(service.ask)

    def call() -> str:
        answers: list[str] = []
        context = contextvars.copy_context()

        def run() -> None:
            with suppress(ConnectionError):
                answers.append(context.run(guarded))

        thread = threading.Thread(target=run)
        thread.start()
        thread.join(10.0)
        if not answers:
            raise ConnectionError
        return answers[0]

    return call


FORMS = [plain, block, permit, coroutine, async_block, tried_again, in_a_thread, in_own_thread]


def started(system: otpy.System, folder: Path, kind: Any, **crew: Any) -> Client:
    system.start(engine(folder / "jobs.db", [kind], crews=[Crew(name="one", **{"size": 1, "spare": 0, **crew})]))
    return of(system)


def seen(client: Client, made: Any) -> Any:
    found = client.get(made.id)
    assert found is not None
    return found


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_its_call_is_the_probe_and_closes_it(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, form: Callable[[Service], Any]
) -> None:
    service = Service(timed, cooldown=3.0, failures=3)
    kind = job(name="send", retry=OFTEN, breakers=[service.breaker])(form(service))
    client = started(timed, tmp_path, kind, size=3)
    made = client.enqueue_all([kind.new() for _ in range(5)])
    clock.advance(10.0)
    assert service.opened > 2
    service.is_ill = False
    clock.advance(20.0)
    assert service.breaker.state == "closed"
    assert [seen(client, one).state for one in made] == ["done"] * 5
    assert service.most() == 1
    if form is not tried_again:
        assert sum(seen(client, one).errors for one in made) == service.failures, "no attempt is spent on a refusal"


@pytest.mark.parametrize("form", [plain, block, permit, tried_again], ids=lambda form: form.__name__)
def test_so_many_jobs_probe_as_there_are_permits(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, form: Callable[[Service], Any]
) -> None:
    service = Service(timed, failures=1, probes=2, successes=2)
    kind = job(name="send", retry=OFTEN, breakers=[service.breaker])(form(service))
    opened(timed, clock, service)
    service.is_ill = False
    service.gate = gate = Gate()
    client = started(timed, tmp_path, kind, size=3)
    made = client.enqueue_all([kind.new() for _ in range(5)])
    gate.reached(2)
    timed.wait_idle()
    clock.advance(5.0)
    assert service.probes == [1, 1]
    gate.open()
    clock.advance(60.0)
    assert service.breaker.state == "closed"
    assert [(seen(client, one).state, seen(client, one).errors) for one in made] == [("done", 0)] * 5
    assert service.probes == [1, 1]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_while_closed_a_call_is_counted_once(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path, form: Callable[[Service], Any]
) -> None:
    service = Service(timed, failures=4)
    kind = job(name="send", retry=Retry(errors=1), breakers=[service.breaker])(form(service))
    client = started(timed, tmp_path, kind)
    while service.failures < 3:
        client.enqueue(kind.new())
        clock.advance(1.0)
    assert (service.failures, service.breaker.state) == (3, "closed")
    client.enqueue(kind.new())
    clock.advance(1.0)
    assert (service.failures >= 4, service.breaker.state) == (True, "open")


def opened(timed: otpy.System, clock: VirtualClock, service: Service) -> None:
    """Have one failure open it, and its cool-down be over."""
    with suppress(ConnectionError):
        service.breaker(service.ask)()
    timed.wait_idle()
    assert service.breaker.state == "open"
    clock.advance(40.0)


def test_all_calls_of_a_job_go_by_the_permit_until_one_fails(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    service = Service(timed, failures=1)
    ask = service.breaker(service.ask)
    told: list[object] = []

    def call() -> None:
        for _ in range(3):
            try:
                told.append(ask())
            except (ConnectionError, BreakerOpenError) as error:
                told.append(type(error))

    kind = job(name="send", breakers=[service.breaker])(call)
    opened(timed, clock, service)
    client = started(timed, tmp_path, kind)
    client.enqueue(kind.new())
    clock.advance(5.0)
    assert told == [ConnectionError, BreakerOpenError, BreakerOpenError]
    assert service.breaker.state == "open", "that the job went well does not count"
    service.is_ill = False
    clock.advance(40.0)
    client.enqueue(kind.new())
    clock.advance(40.0)
    assert told[3:] == ["fine"] * 3, "also before the breaker's actor has heard of the first"
    assert service.breaker.state == "closed"


def test_an_error_that_does_not_count_does_not_by_the_job_either(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    service = Service(timed, failures=1)

    @service.breaker
    def refuse() -> None:
        raise RefusedError

    kind = job(name="send", retry=Retry(errors=1), breakers=[service.breaker])(refuse)
    client = started(timed, tmp_path, kind)
    client.enqueue(kind.new())
    clock.advance(1.0)
    assert service.breaker.state == "closed"
    opened(timed, clock, service)
    client.enqueue_all([kind.new() for _ in range(3)])
    clock.advance(100.0)
    assert service.opened == 1
    assert service.breaker.state == "half_open", "the probe's permit is given back"
    service.is_ill = False
    assert service.breaker(service.ask)() == "fine"
    timed.wait_idle()
    assert service.breaker.state == "closed"


def test_an_attempt_that_is_cut_off_counts_although_a_call_in_it_went_well(
    timed: otpy.System, clock: VirtualClock, tmp_path: Path
) -> None:
    service = Service(timed, failures=1)
    service.is_ill = False
    gate = Gate()

    async def call() -> None:
        service.breaker(service.ask)()
        async with service.breaker:
            await gate.await_open()

    kind = job(name="send", timeout=5.0, retry=Retry(errors=1), breakers=[service.breaker])(call)
    client = started(timed, tmp_path, kind, place="loop")
    client.enqueue(kind.new())
    gate.reached(1)
    timed.wait_idle()
    assert service.breaker.state == "closed"
    clock.advance(10.0)
    assert service.breaker.state == "open"


def test_in_a_process_the_attempt_is_the_call_and_is_counted_once(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ends = Ends(monkeypatch)
    keeper = system.start(errands.AILING.child())
    client = started(system, tmp_path, errands.ail, place="process")
    states = []
    for count in (1, 2):
        client.enqueue(errands.ail.new())
        ends.wait(count)
        system.state(keeper.path)  # answered in its turn
        states.append(errands.AILING.state)
    assert states == ["closed", "open"]
