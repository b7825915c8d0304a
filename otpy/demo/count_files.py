"""A scheduler gives files to agents that crash now and then; by its claim's token each file counts exactly once.

    python examples/count_files.py

prints:

    ... files, ... lines, ... words; ... agents crashed
    a plain loop finds the same: True
"""

from __future__ import annotations

import otpy
from otpy.demo.claims import Claims
from otpy.demo.collector import COLLECTOR, Collector, Progress
from otpy.demo.compare import compare, plain_loop
from otpy.demo.files import Count, File, Problem, find, read
from otpy.demo.tree import CountFiles, Shifts
from otpy.demo.trouble import AFTER, BEFORE, WHILE, Trouble, mute


class Agent(otpy.GenServer):
    """Reads one file at a time. All it knows is in its hands, so when it crashes nothing else is lost."""

    def init(self, trouble: Trouble) -> None:
        self.trouble = trouble
        self.scheduler = self.system.ref(SCHEDULER)
        self.scheduler.cast(Scheduler.ready, self.ref, is_new=True)

    @otpy.cast
    def work(self, token: int, file: File) -> None:
        self.trouble.wait()
        self.trouble.strike(token, BEFORE)
        found = read(file, each_chunk=lambda: self.trouble.strike(token, WHILE))
        self.scheduler.cast(Scheduler.result, token, found)
        self.trouble.strike(token, AFTER)
        self.scheduler.cast(Scheduler.ready, self.ref)


class Scheduler(otpy.GenServer):
    """Lists the files and gives them out. It alone knows who reads what, and it hears of every agent's death."""

    def init(self, agents: list[otpy.ChildSpec]) -> None:
        self.claims: Claims[otpy.Ref[Agent]] = Claims()
        self.shifts = Shifts(self.system, agents)  # a thousand files each, with a crew of agents
        self.collector = self.system.ref(COLLECTOR)

    @otpy.cast
    def count(self, folder: str, without: tuple[str, ...] = ()) -> None:
        found = list(find(folder, without))
        self.collector.cast(Collector.listed, found)
        self.shifts.plan(entry for entry in found if isinstance(entry, File))
        self.go_on()

    @otpy.cast
    def ready(self, agent: otpy.Ref[Agent], *, is_new: bool = False) -> None:
        if is_new:
            self.monitor(agent)
        if agent.is_alive():
            self.claims.ready(agent)
            self.go_on()

    @otpy.cast
    def result(self, token: int, found: Count | Problem) -> None:
        if file := self.claims.finish(token):  # otherwise the claim is not current, and its result is dropped
            self.collector.cast(Collector.add, file, found)

    def handle_info(self, message: object) -> None:
        if isinstance(message, otpy.Down):  # whatever the agent sent before has been handled by now
            self.claims.lose(message.target)  # its file waits again, for another agent and a new token
            self.collector.cast(Collector.lost, message.reason)
            self.go_on()

    def go_on(self) -> None:
        if self.claims.is_done:
            files = self.shifts.next()  # the crew goes home, and a new one comes
            self.claims.begin(files)
            if not files:
                self.collector.cast(Collector.finish)
        while not otpy.draining() and (claim := self.claims.give()):  # while it drains, nothing more is given out
            claim.holder.cast(Agent.work, claim.token, claim.file)


SCHEDULER = otpy.name(Scheduler, "scheduler")


def main() -> None:
    mute()
    told: list[Progress] = []
    scheduler = otpy.child(Scheduler, [otpy.child(Agent, Trouble(crash=0.2, seed=1))] * 4).opts(name=SCHEDULER)
    with otpy.run(CountFiles, scheduler, told.append, name="count-files") as system:
        system.ref(SCHEDULER).cast(Scheduler.count, otpy.__path__[0])
        system.wait()  # until the tree ends by itself, or Ctrl-C ends it
    if report := told[-1].report:
        print(report)
        print("a plain loop finds the same:", compare(report.results, plain_loop(report.files)).is_equal)


if __name__ == "__main__":
    main()
