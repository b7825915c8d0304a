"""Random trees under random trouble, all drawn from the seed of an exploration.

One seed step by step, from the root of the repository: `PYTHONPATH=.:tests python -m support.trouble tree 4711`.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import otpy
from otpy.errors import OtpyError
from otpy.runtime.mailbox import poke
from otpy.testing import replay
from support.ledger import ledger_of
from support.moody import DEEDS, MISHAPS, AsyncMoody, Moody, living
from support.soundness import check_rest, sound
from support.ways import AWAITING, BLOCKING, done

if TYPE_CHECKING:
    from random import Random

    from otpy.testing import VirtualSystem
    from support.ways import Ways

__all__ = ["trouble_in_a_crowd", "trouble_in_a_tree"]

PATIENCE = 12.0
"""Seconds in which a tree that is left alone has come to rest: the longest time a child may take to end, and more."""


def trouble_in_a_tree(system: VirtualSystem) -> None:
    """A scenario: a tree, and five who make trouble in it at the same time.

    When they leave it alone the tree is whole, everybody who lives has heard of each end once, and when it has stopped
    nothing is left and every message is accounted for.
    """
    with suppress(*MISHAPS):
        system.start_root(otpy.child(Tree))
    make_it_and_look(system)


def trouble_in_a_crowd(system: VirtualSystem) -> None:
    """A scenario: workers on the loop and in the pool, restarted as often as they die, do much to each other.

    The same must be true.
    """
    crowd = system.start_root(otpy.dynamic(AsyncMoody, max_restarts=1_000))
    kinds = [AsyncMoody, AsyncMoody, AsyncMoody, Moody] * 2
    specs = [otpy.child(kind).opts(shutdown=system.random.choice([0, 0.5, 2.0])) for kind in kinds]
    crowd.call(otpy.DynamicSupervisor.start_children, specs)
    make_it_and_look(system)


def make_it_and_look(system: VirtualSystem) -> None:
    ledger = ledger_of(system)
    for trouble in (make_trouble, make_trouble, make_trouble_on_loop, make_trouble_on_loop):
        system.start(trouble, 8)
    for _ in range(8):
        done(disturb(system, BLOCKING))
        if system.random.random() < 0.5:
            system.clock.advance(system.random.random())
    otpy.sleep(3.0)
    for ref in living(system):
        suspend(ref, is_suspended=False)
    system.clock.advance(PATIENCE)
    check_rest(system)
    ledger.check_settled()
    system.stop(timeout=1_000.0)
    system.wait_idle()
    ledger.check_ended()


def make_trouble(rounds: int) -> None:
    done(trouble(rounds, BLOCKING))


async def make_trouble_on_loop(rounds: int) -> None:
    await trouble(rounds, AWAITING)


async def trouble(rounds: int, ways: Ways) -> None:
    system = otpy.current().system
    for _ in range(rounds):
        await disturb(system, ways)
        if system.random.random() < 0.5:
            await ways.nap(system.random.random())


class Tree(otpy.Supervisor):
    def init(self, depth: int = 0) -> Any:
        chance = self.system.random
        self.depth = depth
        self.strategy = chance.choice(["one_for_one", "one_for_all", "rest_for_one"])
        self.auto_shutdown = chance.choice(["never", "never", "any_significant", "all_significant"])
        self.max_restarts = chance.choice([0, 1, 2, 3, 5, 10, 100])
        self.max_seconds = chance.choice([0.5, 5.0])
        dice = chance.randrange(40) if depth else 0
        if dice == 1:
            ledger_of(self.system).ignored.add(self.ref.path)
        return {1: otpy.Ignore(), 2: otpy.Stop(otpy.Exit("no tree"))}.get(dice)

    def children(self) -> list[otpy.ChildSpec]:
        chance = self.system.random
        return [any_child(chance, self.depth, n, ends=self.auto_shutdown) for n in range(chance.randrange(1, 5))]

    def terminate(self, reason: otpy.Reason) -> None:
        if self.system.random.random() < 0.05:
            raise ValueError("terminate of a supervisor")


def any_child(chance: Random, depth: int, number: int, *, ends: str = "never") -> otpy.ChildSpec:
    """A child of any kind, kept in any way; `ends` is the `auto_shutdown` of its supervisor."""
    options: Any = {"id": f"c{number}", "restart": chance.choice(["permanent", "transient", "temporary"])}
    if options["restart"] != "permanent" and ends != "never":
        options["significant"] = chance.random() < 0.5
    if options["restart"] != "temporary" and chance.random() < 0.15:
        options["backoff"] = otpy.Backoff(first=0.2, most=1.0, reset_after=0.5)
    if options["restart"] != "temporary" and chance.random() < 0.15:
        options["limit"] = otpy.Limit(chance.randrange(3), then=chance.choice(["give_up", "give_up", "escalate"]))
    dice = chance.random()
    if dice < 0.25 and depth < 2:
        return otpy.child(Tree, depth + 1).opts(**options)
    if dice < 0.35:
        limit = chance.choice([None, None, 0, 2])
        kind = chance.choice([Moody, AsyncMoody])
        return otpy.dynamic(kind, max_restarts=chance.randrange(6), max_children=limit).opts(**options)
    options["shutdown"] = chance.choice([0, 0.5, 2.0, 5.0, otpy.BRUTAL_KILL])
    if chance.random() < 0.3:
        options["start_timeout"] = 0.6
    if dice < 0.5:
        return otpy.child(chance.choice([wander, wander_on_loop]), chance.randrange(6)).opts(**options)
    if chance.random() < 0.2:
        options |= {"max_queue": 2, "overflow": chance.choice(["drop_new", "drop_old", "raise"])}
    if chance.random() < 0.15:
        options["name"] = f"name{chance.randrange(3)}"
    return otpy.child(chance.choice([Moody, AsyncMoody])).opts(**options)


def wander(times: int) -> None:
    done(stroll(times, BLOCKING))


async def wander_on_loop(times: int) -> None:
    await stroll(times, AWAITING)


async def stroll(times: int, ways: Ways) -> None:
    """A function as a child: it naps, and now and then it does something to somebody, or crashes."""
    own = otpy.current()
    for _ in range(times):
        await ways.nap(0.3)
        dice = own.system.random.random()
        if dice < 0.2:
            await disturb(own.system, ways)
        elif dice < 0.25:
            raise RuntimeError("lost")


async def disturb(system: otpy.System, ways: Ways) -> None:
    """Do something to somebody."""
    refs = living(system)
    if not refs:
        return
    workers = [ref for ref in refs if issubclass(ref.actor_class, Moody)]
    ref = system.random.choice(workers if workers and system.random.random() < 0.4 else refs)
    with suppress(*MISHAPS):
        if system.random.random() < 0.04:
            suspend(ref, is_suspended=not ref.is_suspended())
        elif ref.actor_class is otpy.DynamicSupervisor:
            await ask_dynamic(system.random, ref, [each for each in refs if each.parent is ref], ways)
        elif ref.actor_class is Tree:
            await ask_supervisor(system.random, ref, ways)
        elif issubclass(ref.actor_class, Moody):
            await ask_moody(system.random, ref, ways)
        elif ref.parent is not None and system.random.random() < 0.3:
            ref.kill()


def suspend(ref: otpy.Ref[Any], *, is_suspended: bool) -> None:
    """Suspend or resume an actor, without waiting until it is."""
    poke(ref, lambda own: setattr(own.extras(), "suspended", is_suspended))


async def ask_supervisor(chance: Random, ref: otpy.Ref[Tree], ways: Ways) -> None:
    limited = ref.within(chance.choice([0.3, 3.0]))
    ident = f"c{chance.randrange(5)}"
    dice = chance.randrange(8)
    if dice == 0:
        await ways.call(limited, chance.choice([Tree.which_children, Tree.count_children]))
    elif dice == 1:
        await ways.call(
            limited,
            Tree.start_child,
            any_child(chance, 2, chance.randrange(5), ends=getattr(ref.actor, "auto_shutdown", "never")),
        )
    elif dice == 2:
        if chance.random() < 0.3:
            ref.kill()
        elif chance.random() < 0.5:
            ref.exit(otpy.Exit("not its parent's"))
    elif dice == 3:
        await ways.call(limited, chance.choice([Tree.which_child, Tree.get_childspec]), ident)
    else:
        verb = chance.choice([Tree.terminate_child, Tree.terminate_child, Tree.restart_child, Tree.delete_child])
        ledger_of(ref.system).touched.add(ref)
        await ways.call(limited, verb, ident)


async def ask_dynamic(
    chance: Random, ref: otpy.Ref[otpy.DynamicSupervisor], children: list[otpy.Ref[Any]], ways: Ways
) -> None:
    limited = ref.within(chance.choice([0.3, 3.0]))
    dice = chance.random()
    if dice < 0.6:
        await ways.call(limited, otpy.DynamicSupervisor.start_with)
    elif dice < 0.7:
        await ways.call(
            limited, otpy.DynamicSupervisor.start_children, [otpy.child(kind) for kind in (Moody, AsyncMoody, Moody)]
        )
    elif dice < 0.75:
        ref.kill()
    elif children:
        ledger_of(ref.system).touched.add(ref)
        verb = chance.choice([otpy.DynamicSupervisor.terminate_child, otpy.DynamicSupervisor.restart_child])
        await ways.call(limited, verb, chance.choice(children))


async def ask_moody(chance: Random, ref: otpy.Ref[Moody], ways: Ways) -> None:
    ledger = ledger_of(ref.system)
    dice = chance.random()
    if dice < 0.35:
        for deed in chance.sample(DEEDS[ref.actor_class], 3):
            ledger.send(ref, lambda number, deed=deed: ref.tell(("do", deed, number)))
    elif dice < 0.5:
        for _ in range(3):
            ledger.send(ref, lambda number: ref.cast(Moody.take, number), is_cast=True)
    elif dice < 0.75:
        deed = chance.choice(DEEDS[ref.actor_class])
        await ledger.call(ref, lambda number: ways.call(ref.within(1.0), Moody.ask, deed, number))
    elif dice < 0.8:
        monitor = ref.monitor()
        ref.exit(ledger.push(ref))
        ledger.expect((await ways.down(monitor, 1.0)).reason == ref.reason, f"the Down of {ref} is no news of its end")
    elif dice < 0.85:
        ref.stop(otpy.Shutdown(), block=False)
    elif dice < 0.9:
        await ways.stop(ref, timeout=1.0)
    else:
        ref.kill()


SCENARIOS = {"tree": trouble_in_a_tree, "crowd": trouble_in_a_crowd}


def main() -> None:
    """Show the steps of some seeds."""
    scenario, *seeds = sys.argv[1:]
    for seed in map(int, seeds):
        try:
            steps = replay(SCENARIOS[scenario], seed, invariants=[sound])
            sys.stdout.write("".join(f"{step}\n" for step in steps))
        except OtpyError as error:
            sys.stdout.write("".join(f"{step}\n" for step in getattr(error, "steps", ())))
            sys.stdout.write(f"{error.__cause__!r}\n")


if __name__ == "__main__":
    main()
