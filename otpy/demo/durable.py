"""The same count as jobs in a file: whatever dies, an agent or the whole program, every file counts once.

What is known of the run is in the store alone, so a program that is started again goes on where the other was killed.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

import otpy
from otpy import jobs
from otpy.demo.collector import Progress, Report
from otpy.demo.files import Count, File, Problem, find, read
from otpy.demo.trouble import CrashOnPurpose, Trouble
from otpy.events.crash import ActorCrashed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.demo.collector import Tell
    from otpy.demo.compare import Result
    from otpy.demo.files import Stamp
    from otpy.events.event import Event

__all__ = ["MOMENTS", "AgentCrashOnPurpose", "CountDurably", "Counting", "Watcher", "counting"]

QUEUE = "files"
PERIOD = 0.1
"""Seconds between two looks."""
PAGE = 1_000
LEASE = 2.0
"""Seconds after which a run goes on that another one has left: short, for people wait for it."""
KEEP = 10 * 365 * 86_400.0
"""Seconds for which a run that somebody has left can be gone on with: what is done must not be forgotten meanwhile."""
MOMENTS = BEFORE, WHILE, AFTER = "before reading", "while reading", "after reading"
"""When an agent may crash; after reading it has its result, and nobody else does."""
ATTEMPTS = 50
"""That may crash, and that may fail, before a file is given up: with `--crash 0.3` one in a billion gets there."""
CRASHES, CRASHES_EACH = 200, 3
"""That a run bears, and so many more for each file that is done: `--crash 0.3` costs two a file, 1.0 gets none done."""
TIMEOUT = 30.0
"""Seconds for one attempt."""
OUTAGE = 60.0
"""Seconds for which the store may be away: a server that is started again, and a disk that somebody makes room on."""

Found: TypeAlias = tuple[int, int, int, str] | str
"""What a job returns: bytes, lines, words and checksum, or why there are none."""
Counting: TypeAlias = "jobs.Kind[[str, Stamp | None, str], Found | jobs.Snooze]"


class AgentCrashOnPurpose(BaseException):
    """Ends an agent in the middle of its job."""


def counting(trouble: Trouble) -> Counting:
    """The kind of job that counts one file, in which agents meet with trouble."""

    @jobs.job(
        name="demo.count",
        queue=QUEUE,
        timeout=TIMEOUT,
        retry=jobs.Retry(errors=ATTEMPTS, crashes=ATTEMPTS, backoff=otpy.Backoff(first=0.0, most=0.0)),
    )
    def count(path: str, stamp: Stamp | None, problem: str = "") -> Found | jobs.Snooze:
        if stamp is None:
            return problem  # it could not even be listed
        current = jobs.current()
        draw = current.id * 1_000 + current.token
        if not trouble.wait(lambda: current.draining is not None):
            return jobs.Snooze(0)
        try:
            trouble.strike(draw, BEFORE)
            found = read(File(path, stamp), each_chunk=lambda: trouble.strike(draw, WHILE))
            trouble.strike(draw, AFTER)
        except CrashOnPurpose as error:
            raise AgentCrashOnPurpose(*error.args) from None
        if isinstance(found, Problem):
            return found.text
        return found.size_bytes, found.lines, found.words, f"{found.checksum:x}"

    return count


class Watcher(otpy.GenServer):
    """Enqueues the files unless an earlier run has, and tells how far they are, until all are done."""

    def init(self, kind: Counting, folder: str, without: tuple[str, ...], tell: Tell) -> otpy.Continue:
        """Take what is called in this actor's turns: now, ten times a second, and at the end."""
        self.kind, self.folder, self.without, self.tell = kind, folder, without, tell
        self.jobs = jobs.of(self.system, seconds=60.0)
        self.crashes = 0
        self.stop_counting = self.system.events.attach(self._crashed, ActorCrashed)
        self.since = self.answered = self.system.clock.now()
        self.before: int | None = None
        return otpy.Continue("begin")

    def handle_continue(self, term: object) -> otpy.Stop | None:  # noqa: ARG002 - there is one
        """Begin at once, and look again and again."""
        self.tell(Progress(None, 0, 0))
        self.send_interval(PERIOD, "look")
        return self.handle_info("look")

    def handle_info(self, message: object) -> otpy.Stop | None:
        """It is time to look, or the end of everything; a store that is away for a while is asked again."""
        if message != "look":
            return None
        now = self.system.clock.now()
        try:
            if self.before is None:
                self.before = self._begin()
            told = self._look(self.before)
        except jobs.StoreError:
            if now - self.answered >= OUTAGE:
                raise
            return None
        self.answered = now
        return told

    def _begin(self) -> int:
        """Enqueue all files unless an earlier run has; how many of them that has done.

        They are one transaction: a run that was killed before it had them all has none.

        Each has a key, for another program may be doing just this: the list of one counts, and the other adds nothing.
        """
        numbers = self.numbers()
        if not numbers:
            with suppress(jobs.KeyTakenError):  # a file has changed since the other one has listed it
                self.jobs.enqueue_all(self._job(one) for one in find(self.folder, self.without))
        return numbers["done"]

    def _look(self, before: int) -> otpy.Stop | None:
        """Tell how far they are, and stop when all are done."""
        numbers = self.numbers()
        total = numbers.total() - numbers["replayed"]
        ended = numbers["done"] + numbers["dead"] + numbers["cancelled"]
        if ended < total:
            gave_up = self._too_many(numbers["done"] - before)
            self.tell(Progress(total, ended, self.crashes, before=before, gave_up=gave_up))
            return otpy.Stop() if gave_up else None
        report = self.report()
        crashes = sum(report.crashes.values())
        self.tell(Progress(len(report.files), len(report.results), crashes, report, before=before))
        return otpy.Stop()

    def terminate(self, reason: otpy.Reason) -> None:  # noqa: ARG002 - whatever it is
        """Count no longer."""
        self.stop_counting()

    def _crashed(self, event: Event) -> None:
        """Called in the turn of whoever crashed; for the screen, so one that is lost in a race is no harm."""
        self.crashes += AgentCrashOnPurpose.__name__ in str(event)

    def numbers(self) -> Counter[str]:
        """How many files are in which state."""
        found = [queue.numbers for queue in self.jobs.queues() if queue.name == QUEUE]
        return +Counter(found[0]) if found else Counter()

    def report(self) -> Report:
        """What the store says of all of them; it alone knows."""
        files: list[File] = []
        problems: list[Problem] = []
        results: list[Result] = []
        given_up: list[Problem] = []
        crashes = 0
        for job in self.all():
            path, stamp, *_ = job.arguments[0]
            crashes += job.crashes
            if job.state == "replayed":
                continue
            if stamp is not None:
                files.append(File(path, stamp))
            if job.state != "done":
                given_up.append(Problem(path, job.reason or job.state))
            elif stamp is None:
                problems.append(Problem(path, str(job.result_value)))
            else:
                results.append((files[-1], _found(path, job.result_value)))
        seconds = self.system.clock.now() - self.since
        how = {"in the middle of a file": crashes} if crashes else {}
        return Report(files[::-1], problems[::-1], results[::-1], how, seconds, given_up[::-1])

    def all(self) -> Iterator[jobs.Job]:
        """Every job, the newest first."""
        page = self.jobs.find(kind=self.kind.name, limit=PAGE)
        while page:
            yield from page
            page = self.jobs.find(kind=self.kind.name, limit=PAGE, before=page[-1].id)

    def _job(self, entry: File | Problem) -> jobs.JobSpec[Found | jobs.Snooze]:
        arguments = (entry.path, entry.stamp, "") if isinstance(entry, File) else (entry.path, None, entry.text)
        return self.kind.new(*arguments).opts(key=entry.path)

    def _too_many(self, done: int) -> str:
        """What is wrong when agents crash and hardly anything gets done: each file would be tried fifty times."""
        if self.crashes <= CRASHES + CRASHES_EACH * done:
            return ""
        return f"more than {CRASHES} agents crashed, and {CRASHES_EACH} for each file that was done"


class CountDurably(otpy.Supervisor):
    """The engine, and who watches it; when that one has seen all, the tree ends."""

    auto_shutdown = "any_significant"

    def init(
        self, store: str, agents: int, trouble: Trouble, folder: str, without: tuple[str, ...], tell: Tell
    ) -> None:
        """With so many agents, on this file."""
        kind = counting(trouble)
        crew = jobs.Crew(name="readers", size=agents, spare=max(1, agents // 4))
        queue = jobs.Queue(QUEUE, retry_budget=None)  # crashes on purpose are no service that is down
        self.engine = jobs.engine(store, [kind], queues=[queue], crews=[crew], lease=LEASE, keep=KEEP)
        self.watcher = otpy.child(Watcher, kind, folder, without, tell)

    def children(self) -> list[otpy.ChildSpec]:
        """In start order."""
        return [self.engine, self.watcher.opts(id="watcher", restart="transient", significant=True)]


def _found(path: str, value: Found) -> Count | Problem:
    if isinstance(value, str):
        return Problem(path, value)
    size, lines, words, checksum = value
    return Count(1, size, lines, words, int(checksum, 16))
