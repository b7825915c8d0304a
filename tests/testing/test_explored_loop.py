"""Actors on the event loop take part in explorations: turns, resumptions and time of asyncio follow the seed."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

import pytest

import otpy
from otpy.errors import BlockingError, CallExitError, CallTimeoutError, DeadlockError
from otpy.testing import ExplorationError, Gate, RealWorldError, StalledError, explore, replay
from support.doer import AsyncDoer, Doer
from support.exploring import found
from support.forked import run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from otpy.testing import VirtualSystem


class Account(otpy.GenServer):
    async def init(self) -> None:
        self.balance = 0

    @otpy.call
    async def read(self) -> int:
        return self.balance

    @otpy.call
    async def write(self, balance: int) -> None:
        self.balance = balance


class Payer(otpy.GenServer):
    @otpy.cast
    async def pay(self, account: otpy.Ref[Account]) -> None:
        await account.acall(Account.write, await account.acall(Account.read) + 1)


def race(system: VirtualSystem) -> None:
    account = system.start(Account)
    for payer in [system.start(Payer), system.start(Payer)]:
        payer.cast(Payer.pay, account)
    system.wait_idle()
    assert account.call(Account.read) == 2, "a payment was lost"


def within_an_actor(job: Callable[[Any], Awaitable[object]]) -> Callable[[VirtualSystem], None]:
    """A scenario that has one loop actor do something."""

    def scenario(system: VirtualSystem) -> None:
        system.start(AsyncDoer).within(None).call(Doer.do, job)

    return scenario


def outcomes(job: Callable[[Any, list[Any]], Awaitable[object]], seeds: int = 60) -> set[str]:
    """What a loop actor's job writes down, under so many seeds."""
    seen = set()

    def scenario(system: VirtualSystem) -> None:
        notes: list[Any] = []
        system.start(AsyncDoer).within(None).call(Doer.do, lambda self: job(self, notes))
        seen.add("".join(map(str, notes)))

    explore(scenario, seeds)
    return seen


# --- what the seed decides


def test_it_finds_the_order_of_resumptions_that_loses_an_update() -> None:
    error = found(race, seeds=100)

    assert "a payment was lost" in str(error)


def test_some_seeds_keep_both_updates() -> None:
    error = found(race, seeds=100)

    kept = [seed for seed in range(20) if seed != error.seed and passes(seed)]
    assert kept


def passes(seed: int) -> bool:
    try:
        explore(race, [seed])
    except ExplorationError:
        return False
    return True


def test_a_seed_gives_the_same_steps_each_time() -> None:
    error = found(race, seeds=100)

    with pytest.raises(ExplorationError) as replayed:
        replay(race, error.seed)
    assert found(race, seeds=[error.seed]).steps == error.steps == replayed.value.steps


CANCELLED = """
import asyncio, otpy
from otpy.testing import replay

class Many(otpy.GenServer):
    @otpy.call
    async def run(self) -> list[int]:
        seen = []
        async def wait(number: int) -> None:
            try:
                await asyncio.sleep(10.0)
            finally:
                await asyncio.sleep(0)
                seen.append(number)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(20):
                    group.create_task(wait(number))
                await asyncio.sleep(1.0)
                raise ValueError("enough")
        except* ValueError:
            seen.append(0)
        return seen

seen = []
steps = replay(lambda system: seen.append(system.start(Many).call(Many.run)), 7)
print(seen, [str(step) for step in steps])
"""


def test_a_seed_gives_the_same_run_in_another_process_though_groups_keep_tasks_in_sets(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Where things lie in memory, by which a set orders them, is another matter there than here."""
    exec(CANCELLED, {"__name__": "__main__"})  # noqa: S102 - the same text as there
    there = run([sys.executable, "-c", CANCELLED], text=True, check=True).stdout

    assert capsys.readouterr().out == there


def test_any_task_may_go_on_first_and_callbacks_keep_their_order() -> None:
    async def start_three(_: Any, notes: list[Any]) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            for number in (1, 2, 3):
                group.create_task(note(notes, number))
                loop.call_soon(notes.append, "abc"[number - 1])

    seen = outcomes(start_three)
    assert {"".join(sign for sign in text if sign.isdigit()) for text in seen} == {
        "123",
        "132",
        "213",
        "231",
        "312",
        "321",
    }
    assert {"".join(sign for sign in text if sign.isalpha()) for text in seen} == {"abc"}


async def note(notes: list[Any], sign: object) -> None:
    notes.append(sign)


def test_pool_actors_and_loop_actors_come_in_any_order() -> None:
    seen = set()

    def scenario(system: VirtualSystem) -> None:
        notes: list[str] = []
        for kind in (Doer, AsyncDoer):
            system.start(kind).cast(Doer.run, lambda self: notes.append(type(self).__name__))
        system.wait_idle()
        seen.add(tuple(notes))

    explore(scenario, 40)
    assert seen == {("Doer", "AsyncDoer"), ("AsyncDoer", "Doer")}


def test_invariants_are_checked_while_handlers_are_suspended() -> None:
    def none_is_suspended(system: VirtualSystem) -> bool:
        return not list(system.suspended())  # type: ignore[attr-defined]  # a SeededSystem

    error = found(within_an_actor(lambda _: asyncio.sleep(1.0)), invariants=[none_is_suspended])
    assert "invariant broken: none_is_suspended" in str(error)


# --- time


def test_time_of_asyncio_is_that_of_the_system() -> None:
    async def use_time(self: Any) -> None:
        loop = asyncio.get_running_loop()
        assert loop.time() == self.system.clock.now() == 0.0
        await asyncio.sleep(1_000.0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(2_000.0):
                await asyncio.Event().wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(loop.create_future(), 500.0)
        await otpy.asleep(100.0)
        assert loop.time() == self.system.clock.now() == 3_600.0

    explore(within_an_actor(use_time), 20)


def test_a_timer_that_was_cancelled_is_none_left_behind() -> None:
    async def use_half(_: Any) -> None:
        async with asyncio.timeout(60.0):
            await asyncio.sleep(30.0)
        asyncio.get_running_loop().call_later(5.0, print).cancel()

    explore(within_an_actor(use_half), 5)


def test_wait_idle_returns_while_a_handler_awaits_and_time_stands() -> None:
    def scenario(system: VirtualSystem) -> None:
        ref = system.start(AsyncDoer)
        ref.cast(Doer.run, lambda _: asyncio.sleep(3.0))
        system.wait_idle()
        assert system.clock.now() == 0.0
        assert ref.call(Doer.do, lambda self: self.system.clock.now()) == 3.0

    explore(scenario, 20)


def test_a_call_awaited_for_too_long_times_out_in_virtual_time() -> None:
    def scenario(system: VirtualSystem) -> None:
        slow = system.start(Doer)

        async def ask(_: Any) -> None:
            with pytest.raises(CallTimeoutError):
                await slow.within(2.0).acall(Doer.do, lambda _: otpy.sleep(3.0))

        system.start(AsyncDoer).call(Doer.do, ask)
        assert system.clock.now() == 2.0

    explore(scenario, 20)


# --- async code


def test_locks_queues_generators_and_conditions_work_as_elsewhere() -> None:
    async def use_all(_: Any, notes: list[Any]) -> None:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        lock, condition = asyncio.Lock(), asyncio.Condition()

        async def numbers() -> Any:
            for number in range(3):
                async with lock:
                    yield number

        async def produce() -> None:
            async for number in numbers():
                await queue.put(number)
            async with condition:
                condition.notify_all()

        async with asyncio.TaskGroup() as group, condition:
            group.create_task(produce())
            for _number in range(3):
                notes.append(await queue.get())  # noqa: PERF401 - one by one
            await condition.wait()

    assert outcomes(use_all) == {"012"}


def test_a_generator_that_was_left_in_the_middle_is_closed() -> None:
    async def leave(_: Any, notes: list[Any]) -> None:
        async def numbers() -> Any:
            try:
                yield 1
            finally:
                notes.append("closed")

        async for _number in numbers():
            break
        await asyncio.sleep(1.0)

    assert outcomes(leave, 5) == {"closed"}


def test_a_kill_cancels_the_handler_where_it_awaits() -> None:
    def scenario(system: VirtualSystem) -> None:
        notes: list[str] = []
        ref = system.start(AsyncDoer)

        async def wait(_: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                notes.append("cancelled")

        ref.cast(Doer.run, wait)
        system.wait_idle()
        ref.kill()
        system.wait_idle()
        assert notes == ["cancelled"]
        assert system.zombies() == []

    explore(scenario, 20)


def test_coroutine_functions_are_children_and_gates_hold_them() -> None:
    gate, notes = Gate(), []

    async def pass_gate() -> None:
        await gate.await_open()
        notes.append("through")

    def scenario(system: VirtualSystem) -> None:
        gate.close()
        notes.clear()
        ref = system.start(pass_gate)
        assert gate.reached(1) is not None
        system.wait_idle()
        assert notes == []
        gate.open()
        system.wait_idle()
        assert notes == ["through"]
        assert not ref.is_alive()

    explore(scenario, 20)


def test_a_circle_of_calls_through_pool_and_loop_is_found() -> None:
    def scenario(system: VirtualSystem) -> None:
        one, other = system.start(AsyncDoer), system.start(Doer)

        async def there(_: Any) -> object:
            return await other.acall(Doer.do, lambda _: one.call(Doer.do, lambda _: None))

        with pytest.raises(CallExitError):
            one.call(Doer.do, there)

    def watched(system: VirtualSystem) -> None:
        one = system.start(AsyncDoer)

        async def itself(_: Any) -> None:
            with pytest.raises(DeadlockError):
                await one.acall(Doer.do, lambda _: None)

        one.call(Doer.do, itself)

    explore(scenario, 20)
    explore(watched, 20)


# --- what it refuses, and what it finds


@pytest.mark.parametrize(
    "wish",
    [
        lambda: asyncio.to_thread(print),
        lambda: asyncio.open_connection("localhost", 80),
        lambda: asyncio.create_subprocess_exec("true"),
        lambda: asyncio.get_running_loop().getaddrinfo("localhost", 80),
    ],
    ids=["thread", "socket", "process", "name"],
)
def test_what_no_seed_decides_is_refused(wish: Callable[[], Any]) -> None:
    async def want(_: Any) -> None:
        with pytest.raises(RealWorldError, match="give the actor a stand-in"):
            await wish()

    explore(within_an_actor(want), 1)


def test_the_blocking_forms_are_refused_as_in_production() -> None:
    async def block(self: Any) -> None:
        with pytest.raises(BlockingError):
            self.ref.call(Doer.do, print)
        with pytest.raises(BlockingError):
            otpy.sleep(1.0)

    explore(within_an_actor(block), 1)


def test_a_scenario_that_waits_for_ever_is_told_who_else_does() -> None:
    error = found(within_an_actor(lambda _: asyncio.Event().wait()), seeds=1)

    assert isinstance(error.__cause__, StalledError)
    assert error.__cause__.waiting == (
        "the scenario waits for the reply of seeded/AsyncDoer to do",
        "seeded/AsyncDoer waits for what it awaits",
    )


def test_a_task_that_outlives_all_is_named() -> None:
    async def forget(self: Any) -> None:
        self.task = asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="forgotten")
        kept.append(self.task)

    kept: list[Any] = []
    error = found(within_an_actor(forget), seeds=1)
    assert "left behind: forgotten of seeded/AsyncDoer, Event.wait, has not ended" in str(error)


def test_a_timer_that_outlives_all_is_named() -> None:
    async def forget(_: Any) -> None:
        asyncio.get_running_loop().call_later(5.0, print)

    error = found(within_an_actor(forget), seeds=1)
    assert "a timer is set: print at 5.000" in str(error)


def test_a_run_that_fails_leaves_nothing_to_the_next() -> None:
    async def stay(_: Any) -> None:
        while True:
            try:
                await asyncio.sleep(1.0)
            except asyncio.CancelledError:
                await asyncio.Event().wait()

    def scenario(system: VirtualSystem) -> None:
        system.start(AsyncDoer).cast(Doer.run, stay)
        system.wait_idle()
        raise AssertionError("enough")

    for _ in range(3):
        assert "enough" in str(found(scenario, seeds=1))
    explore(within_an_actor(lambda _: asyncio.sleep(1.0)), 3)


def test_steps_say_what_goes_on() -> None:
    def scenario(system: VirtualSystem) -> None:
        account = system.start(Account)
        system.start(Payer).cast(Payer.pay, account)
        system.wait_idle()

    told = [str(step).strip() for step in replay(scenario, 1)]
    assert "0.000  seeded/Payer: cast pay" in told
    assert "0.000  seeded/Payer: goes on after the reply of seeded/Account to read" in told
