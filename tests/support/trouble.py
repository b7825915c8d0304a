"""Random trees under random trouble, all drawn from the seed of an exploration."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import otpy
from otpy.errors import OtpyError
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from random import Random

    from otpy.testing import VirtualSystem

__all__ = ["trouble_in_a_tree"]

MISHAPS = (OtpyError, TimeoutError, TypeError)
"""What anybody may get who asks somebody in such a tree."""


def trouble_in_a_tree(system: VirtualSystem) -> None:
    """A scenario: a tree, and four who make trouble in it at the same time; nothing may be left when it has stopped."""
    with suppress(*MISHAPS):
        system.start_root(otpy.child(Tree))
    for _ in range(3):
        system.start(make_trouble, 6)
    for _ in range(5):
        disturb(system)
        if system.random.random() < 0.5:
            system.clock.advance(system.random.random())
    otpy.sleep(3.0)


def make_trouble(rounds: int) -> None:
    ref = here().ref
    assert ref is not None
    for _ in range(rounds):
        disturb(ref.system)
        if ref.system.random.random() < 0.5:
            otpy.sleep(ref.system.random.random())


class Tree(otpy.Supervisor):
    def init(self, depth: int = 0) -> None:
        chance = self.system.random
        self.depth = depth
        self.strategy = chance.choice(["one_for_one", "one_for_all", "rest_for_one"])
        self.max_restarts = chance.randrange(8)
        self.max_seconds = chance.choice([0.5, 5.0])

    def children(self) -> list[otpy.ChildSpec]:
        return [any_child(self.system.random, self.depth, n) for n in range(self.system.random.randrange(1, 5))]


def any_child(chance: Random, depth: int, number: int) -> otpy.ChildSpec:
    """A child of any kind, kept in any way."""
    dice = chance.random()
    options: Any = {"id": f"c{number}", "restart": chance.choice(["permanent", "transient", "temporary"])}
    if dice < 0.25 and depth < 2:
        return otpy.child(Tree, depth + 1).opts(**options)
    if dice < 0.35:
        return otpy.dynamic(Moody, max_restarts=chance.randrange(6)).opts(**options)
    options["shutdown"] = chance.choice([0.5, 2.0, 5.0, otpy.BRUTAL_KILL])
    if chance.random() < 0.3:
        options["start_timeout"] = 0.6
    if dice < 0.5:
        return otpy.child(nap_often, chance.randrange(6)).opts(**options)
    if chance.random() < 0.2:
        options["max_queue"] = 2
    return otpy.child(Moody).opts(**options)


def nap_often(times: int) -> None:
    for _ in range(times):
        otpy.sleep(0.3)


class Moody(otpy.GenServer):
    """Starts and ends as chance will have it, and does what it is told."""

    def init(self) -> Any:
        self.trap_exit = self.system.random.random() < 0.4
        self.monitors: list[otpy.Monitor] = []
        dice = self.system.random.random()
        if dice < 0.05:
            raise ValueError("init")
        if dice < 0.2:
            otpy.sleep(self.system.random.random())
        if 0.8 < dice < 0.85:
            self.send_interval(0.3, "tick")
        return {17: otpy.Ignore(), 18: otpy.Stop(otpy.Exit("no")), 19: otpy.Continue()}.get(int(dice * 20))

    def handle_continue(self, term: object) -> None:
        otpy.sleep(0.1)

    def handle_timeout(self) -> None:
        """It deferred a reply."""

    def handle_info(self, message: Any) -> Any:
        return self.do(message[1]) if isinstance(message, tuple) else None

    def handle_call(self, request: object, caller: otpy.Caller) -> int:
        return 1

    @otpy.call
    def ask(self, deed: str) -> Any:
        return self.do(deed)

    def do(self, deed: str) -> Any:
        return getattr(self, f"do_{deed}")()

    def other(self) -> otpy.Ref[Moody]:
        return self.system.random.choice([ref for ref in living(self.system) if ref.actor_class is Moody])

    def do_crash(self) -> None:
        raise RuntimeError("crash")

    def do_stop(self) -> object:
        return otpy.Stop(self.system.random.choice([otpy.Normal(), otpy.Shutdown(), otpy.Exit("enough")]))

    def do_exit(self) -> None:
        otpy.exit(otpy.Exit("bye"))

    def do_nap(self) -> None:
        otpy.sleep(self.system.random.random() * 2)

    def do_link(self) -> None:
        self.link(self.other())

    def do_unlink(self) -> None:
        self.unlink(self.other())

    def do_monitor(self) -> None:
        self.monitors.append(self.monitor(self.other()))

    def do_demonitor(self) -> None:
        if self.monitors:
            self.demonitor(self.monitors.pop())

    def do_kill(self) -> None:
        self.other().kill()

    def do_send_exit(self) -> None:
        self.other().exit(otpy.Exit("pushed"))

    def do_call(self) -> None:
        chance = self.system.random
        with suppress(*MISHAPS):
            seconds = chance.choice([0.2, 1.0, 3.0])
            self.other().within(seconds).call(Moody.ask, chance.choice(["nap", "crash", "defer", "call"]))

    def do_defer(self) -> object:
        return otpy.NoReply(timeout=0.5)

    def do_spawn(self) -> None:
        with suppress(*MISHAPS):
            self.spawn_link(otpy.child(Moody).opts(start_timeout=self.system.random.choice([None, 0.5])))

    def do_set_timer(self) -> None:
        self.send_after(self.system.random.random(), ("do", self.system.random.choice(["crash", "nap", "stop"])))

    def do_future(self) -> None:
        with suppress(Exception):  # pykka's Timeout among them
            self.other().ask("anything", block=False).get(timeout=0.5)

    def do_use(self) -> None:
        self.use(Thing())

    def do_register(self) -> None:
        with suppress(*MISHAPS):
            self.register(f"name{self.system.random.randrange(3)}")

    def do_call_by_name(self) -> None:
        with suppress(*MISHAPS):
            self.system.ref(otpy.name(Moody, f"name{self.system.random.randrange(3)}")).call(Moody.ask, "use")

    def terminate(self, reason: otpy.Reason) -> None:
        dice = self.system.random.random()
        if dice < 0.1:
            raise ValueError("terminate")
        if dice < 0.3:
            otpy.sleep(self.system.random.random() * 3)
        elif dice < 0.4:
            self.do_call()


DEEDS = [name.removeprefix("do_") for name in dir(Moody) if name.startswith("do_")]


class Thing:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""


def living(system: Any) -> list[otpy.Ref[Any]]:
    """All that live in a seeded system."""
    found: list[otpy.Ref[Any]] = system.living()
    return found


def disturb(system: otpy.System) -> None:
    """Do something to somebody."""
    refs = living(system)
    if not refs:
        return
    ref = system.random.choice(refs)
    with suppress(*MISHAPS):
        if ref.actor_class is otpy.DynamicSupervisor:
            ask_dynamic(system.random, ref, [each for each in refs if each.parent is ref])
        elif ref.actor_class is Tree:
            ask_supervisor(system.random, ref)
        elif ref.actor_class is Moody:
            ask_moody(system.random, ref)


def ask_supervisor(chance: Random, ref: otpy.Ref[Tree]) -> None:
    limited = ref.within(chance.choice([0.3, 3.0]))
    ident = f"c{chance.randrange(5)}"
    dice = chance.randrange(6)
    if dice == 0:
        limited.call(Tree.which_children)
    elif dice == 1:
        limited.call(Tree.start_child, any_child(chance, 2, chance.randrange(5)))
    elif dice == 2 and chance.random() < 0.3:
        ref.kill()
    else:
        limited.call(chance.choice([Tree.terminate_child, Tree.restart_child, Tree.delete_child]), ident)


def ask_dynamic(chance: Random, ref: otpy.Ref[otpy.DynamicSupervisor], children: list[otpy.Ref[Any]]) -> None:
    limited = ref.within(chance.choice([0.3, 3.0]))
    dice = chance.random()
    if dice < 0.6:
        limited.call(otpy.DynamicSupervisor.start_with)
    elif dice < 0.7:
        limited.call(otpy.DynamicSupervisor.start_children, [otpy.child(Moody) for _ in range(3)])
    elif dice < 0.75:
        ref.kill()
    elif children:
        limited.call(otpy.DynamicSupervisor.terminate_child, chance.choice(children))


def ask_moody(chance: Random, ref: otpy.Ref[Moody]) -> None:
    dice = chance.random()
    if dice < 0.5:
        ref.tell(("do", chance.choice(DEEDS)))
    elif dice < 0.8:
        ref.within(1.0).call(Moody.ask, chance.choice(DEEDS))
    elif dice < 0.9:
        ref.stop(timeout=1.0)
    else:
        ref.kill()
