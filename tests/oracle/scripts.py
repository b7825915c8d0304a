"""Draws scripts for a tree: one step after another, most of them aimed at somebody who is, or was, there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from .families import Family
    from .model import Step
    from .trees import Forest

__all__ = ["Script"]

ENDS = ("boom", "boom", "normal", "shutdown", "shutdown_x", "shutdown_x")
LAST = (
    ["stop", "top", "shutdown"],
    ["stop", "top", "normal"],
    ["stop", "top", "boom"],
    ["parent_exit", "shutdown"],
    ["parent_exit", "normal"],
    ["parent_exit", "boom"],
    ["parent_exit", "kill"],
    ["parent_signal", "shutdown"],
    ["parent_signal", "normal"],
    ["parent_signal", "boom"],
)


class Script:
    """The steps of one scenario."""

    def __init__(self, draw: Any, family: Family, forest: Forest) -> None:
        self._draw = draw
        self.family = family
        self.forest = forest
        self.pick: Callable[[Any], Any] = forest.pick
        self.script: list[Step] = []
        self.jobs = 0
        self.groups: dict[str, str] = {}
        """Who is joined by links or monitors, as a union-find: each other's end is seen along one way."""
        self.watches: dict[frozenset[str], str] = {}

    def steps(self) -> list[Step]:
        """All of them: deeds and requests, then a look at the tree, then its end."""
        for _ in range(self.pick((8, 4, 6, 10, 12, 16))):
            getattr(self, self.pick(self.family.verbs))()
        self.add("open_all")
        for ident in (*self.forest.workers, *self.forest.crowd) if self.groups else ():
            self.add("cast", ident, ["deed", "let_go"])
        self.add("tree")
        self.script.append(list(self.pick(LAST)))
        return self.script

    def add(self, *step: Any) -> None:
        self.script.append(list(step))

    def somebody(self) -> str:
        """A worker of any kind."""
        return str(self.pick([*self.forest.workers, *self.forest.crowd, "nobody"]))

    def boss(self) -> str:
        return str(self.pick(list(self.forest.children)))

    # To workers.

    def end(self, who: str | None = None) -> None:
        self.add("cast", who or self.somebody(), ["stop", self.pick(ENDS)])

    def crash(self, who: str | None = None) -> None:
        self.add("cast", who or self.somebody(), "crash")

    def exit(self, who: str | None = None) -> None:
        self.add("cast", who or self.somebody(), ["exit", self.pick((*ENDS, "kill"))])

    def signal(self, who: str | None = None) -> None:
        self.add("signal", who or self.somebody(), self.pick(("boom", "shutdown", "normal", "shutdown_x")))

    def kill(self, who: str | None = None) -> None:
        self.add("signal", who or self.somebody(), "kill")

    def job(self, who: str | None = None) -> None:
        self.jobs += 1
        self.add("cast", who or self.somebody(), ["job", self.jobs])

    def call(self, who: str | None = None) -> None:
        message = self.pick(("ask", "crash", "defer", ["stop", "boom"], ["stop", "normal"], ["stop_reply", "shutdown"]))
        self.add("call", who or self.somebody(), message)

    def leave(self) -> None:
        if self.forest.workers:
            self.add("cast", self.pick(self.forest.workers), ["deed", "leave"])

    def hold(self) -> None:
        self.add("cast", self.somebody(), "hold")

    def open(self) -> None:
        self.add("open", self.somebody())

    def queue(self) -> None:
        """What waits in a worker's mailbox when something happens."""
        who = self.somebody()
        if who in self.forest.hanging:
            return
        self.add("suspend", who)
        for _ in range(self.pick((2, 3, 4, 5))):
            getattr(self, self.pick(("job", "call", "call", "end", "crash", "exit", "signal", "kill")))(who)
        self.add("resume", who)

    # To supervisors.

    def signal_supervisor(self) -> None:
        self.add("signal", self.boss(), self.pick(("boom", "shutdown", "normal")))

    def kill_supervisor(self) -> None:
        self.add("signal", self.pick([*self.forest.children, *self.forest.dynamic]), "kill")

    def junk(self) -> None:
        self.add("junk", self.boss())

    def which_children(self, boss: str | None = None) -> None:
        self.add("which_children", boss or self.boss())

    def count_children(self, boss: str | None = None) -> None:
        self.add("count_children", boss or self.boss())

    def get_childspec(self, boss: str | None = None) -> None:
        self.of_child("get_childspec", boss)

    def terminate_child(self, boss: str | None = None) -> None:
        self.of_child("terminate_child", boss)

    def restart_child(self, boss: str | None = None) -> None:
        self.of_child("restart_child", boss)

    def delete_child(self, boss: str | None = None) -> None:
        self.of_child("delete_child", boss)

    def of_child(self, verb: str, boss: str | None) -> None:
        boss = boss or self.boss()
        children = self.forest.children[boss]
        if self.family.name == "links":
            children = [child for child in children if child["kind"] == "worker"]
        self.add(verb, boss, self.pick([*(child["id"] for child in children), "nobody"]))

    def start_child(self, boss: str | None = None) -> None:
        boss = boss or self.boss()
        forest = self.forest
        auto = forest.auto_shutdown_of(boss)
        if forest.chance(2):
            known = [child["id"] for child in forest.children[boss] if child["kind"] == "worker"]
            child = forest.new_child(auto, ident=self.pick(known) if known else None)
        else:
            child = forest.new_child(auto, depth=1)
        if forest.chance(20):
            child = {**child, "restart": "permanent", "significant": True}
        if child["id"] not in [one["id"] for one in forest.children[boss]]:
            forest.children[boss].append(child)
        self.add("start_child", boss, child)

    def together(self) -> None:
        """Ends and requests that a supervisor finds at once."""
        forest = self.forest
        boss = self.pick([*forest.children, *forest.dynamic])
        static = boss in forest.children
        own = (
            [child["id"] for child in forest.children[boss] if child["kind"] == "worker"]
            if static
            else forest.of_crowd.get(boss, [])
        )
        asks = ("which_children", "count_children", "terminate_child", "restart_child", "delete_child", "start_child")
        deeds = ("kill", "kill", "end", "crash", "exit") if own else ()
        requests = asks if static else ("which_dynamic",)  # counted, the dead would be active in OTP
        self.add("suspend", boss)
        for _ in range(self.pick((2, 2, 3, 4))):
            verb = self.pick((*deeds, *requests))
            getattr(self, verb)(self.pick(own) if verb in deeds else boss)
        self.add("resume", boss)

    # To dynamic supervisors.

    def start_dynamic(self) -> None:
        if self.forest.dynamic:
            boss = self.pick(self.forest.dynamic)
            self.add("start_dynamic", boss, self.forest.crowd_worker(boss))

    def terminate_dynamic(self) -> None:
        for boss, crowd in self.forest.of_crowd.items():
            self.add("terminate_dynamic", boss, self.pick(crowd))

    def which_dynamic(self, boss: str | None = None) -> None:
        if self.forest.dynamic:
            self.add("which_dynamic", boss or self.pick(self.forest.dynamic))

    def count_dynamic(self, boss: str | None = None) -> None:
        if self.forest.dynamic:
            self.add("count_dynamic", boss or self.pick(self.forest.dynamic))

    # Among workers.

    def deed(self, who: str, *deed: Any) -> None:
        self.add("cast", who, ["deed", list(deed)])

    def link(self) -> None:
        self.join("link")

    def monitor(self) -> None:
        self.join("monitor")

    def join(self, verb: str) -> None:
        one, other = self.somebody(), self.somebody()
        pair = frozenset((one, other))
        if one != other and self.watches.get(pair) != verb:
            if self.root(one) == self.root(other):
                return
            self.groups[self.root(one)] = self.root(other)
            self.watches[pair] = verb
        self.deed(one, verb, other)

    def root(self, who: str) -> str:
        above = self.groups.setdefault(who, who)
        return who if above == who else self.root(above)

    def unlink(self) -> None:
        self.deed(self.somebody(), "unlink", self.somebody())

    def demonitor(self) -> None:
        self.deed(self.somebody(), "demonitor", self.somebody())

    def trap(self) -> None:
        self.deed(self.somebody(), "trap", not self.forest.chance(2))

    def send_exit(self) -> None:
        one, other = self.somebody(), self.somebody()
        if one != other:
            self.deed(one, "send_exit", other, self.pick(("boom", "kill", "normal", "shutdown")))

    def spawn_link(self) -> None:
        helper = self.forest.helper()
        one = self.somebody()
        self.groups[self.root(one)] = self.root(helper["id"])
        self.deed(one, "spawn_link", helper)
        self.forest.crowd.append(helper["id"])
