"""A counter crashes, its supervisor starts it again, and callers reach the new one by name.

    python examples/first_tree.py

prints:

    counted to 1
    counted to 2
    the counter crashed: ValueError: no number: 'three'
    a new counter counted to 1
"""

from __future__ import annotations

import logging

import otpy
from otpy.errors import CallExitError


class Counter(otpy.GenServer):
    def init(self) -> None:
        """Run inside the child at each start: a crash loses the count and nothing else."""
        self.total = 0

    @otpy.call
    def add(self, text: str) -> int:
        if not text.isdigit():
            message = f"no number: {text!r}"
            raise ValueError(message)  # nobody catches it: the actor ends, its supervisor acts
        self.total += int(text)
        return self.total


COUNTER = otpy.name(Counter, "counter")


class Tree(otpy.Supervisor):
    strategy = "one_for_one"

    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Counter).opts(id="counter", name=COUNTER)]


def main() -> None:
    logging.disable(logging.ERROR)  # the crash is reported in full otherwise; here its one line is enough
    with otpy.run(Tree, name="first-tree") as system:
        counter = system.ref(COUNTER)
        print("counted to", counter.call(Counter.add, "1"))
        print("counted to", counter.call(Counter.add, "1"))
        try:
            counter.call(Counter.add, "three")
        except CallExitError as error:
            print("the counter crashed:", error.reason)
        system.wait_idle()  # until the supervisor has dealt with it
        print("a new counter counted to", counter.call(Counter.add, "1"))


if __name__ == "__main__":
    main()
