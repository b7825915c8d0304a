"""Code that never comes back and is ended all the same: a child in a process of its own, killed and replaced.

    python examples/killable.py

prints:

    6 * 7 = 42, in another process: True
    stuck, killed, and back: 6 * 7 = 42
"""

from __future__ import annotations

import os

import otpy


class Worker(otpy.GenServer):
    place = "process"

    @otpy.call
    def multiply(self, one: int, other: int) -> tuple[int, int]:
        return one * other, os.getpid()

    @otpy.cast
    def spin(self) -> None:
        while True:  # no thread could be stopped here
            pass


WORKER = otpy.name(Worker, "worker")


class Tree(otpy.Supervisor):
    def children(self) -> list[otpy.ChildSpec]:
        return [otpy.child(Worker).opts(name=WORKER)]


def main() -> None:
    with otpy.run(Tree, name="killable", control="off") as system:
        worker = system.ref(WORKER)
        product, pid = worker.call(Worker.multiply, 6, 7)
        print(f"6 * 7 = {product}, in another process: {pid != os.getpid()}")
        worker.cast(Worker.spin)
        worker.kill()
        system.find("killable").call(otpy.Supervisor.count_children)  # answered when the replacement is up
        product, _ = worker.call(Worker.multiply, 6, 7)
        print(f"stuck, killed, and back: 6 * 7 = {product}")


if __name__ == "__main__":
    main()
