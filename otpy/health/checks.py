"""`Checks`: what else a program needs to do its work, asked from time to time beside everything."""

from __future__ import annotations

import asyncio
import math
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from otpy.actors.function import is_coroutine_function
from otpy.actors.gen_server import GenServer
from otpy.actors.supervisor import Supervisor
from otpy.core.backoff import Backoff
from otpy.core.decision import Continue
from otpy.core.number import is_number
from otpy.core.spec import ChildSpec, child
from otpy.core.text import exception_line, safe_repr, visible
from otpy.core.value import value
from otpy.errors import SpecError
from otpy.runtime.request import cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from otpy.runtime.system import System

__all__ = ["Check", "Checks"]

LIMIT = 300
"""Characters of a problem."""
LATE = 2
"""So many times `every` after an answer the next one is late, whatever keeps it from being asked for."""
AGAIN = Backoff(first=1.0, most=60.0)


@value
class Check:
    """One thing that a program needs, and how it is found out whether it is there."""

    function: Callable[[], object]
    """Tells it: False, or a text that says what is wrong, or anything it raises is a problem, anything else is well. It
    may be a coroutine function; others run on a thread of their own, which may hang."""
    every: float = 5.0
    """Seconds between an answer and the next question: as often as a platform asks."""
    within: float = 2.0
    """Seconds after which it is late."""


class Checks:
    """What else a program needs to be ready: `Checks({"database": ping}).child()` in its tree.

    Each check is asked by an actor of its own, and whoever looks at readiness reads what it said last: a probe never
    waits for one. One that hangs is late, and is not asked again until it comes back.

    Args:
        checks: functions by name, or `Check` for those with times of their own.
        name: the id of all of them in the tree.

    Raises:
        SpecError: what was given cannot be used; the message says why.
    """

    def __init__(self, checks: Mapping[str, Callable[[], object] | Check], *, name: str = "checks") -> None:
        """Ask nothing before the actors start."""
        self.name = name
        self.checks = {ident: _check(ident, one) for ident, one in checks.items()}

    def child(self) -> ChildSpec:
        """The spec of the actors that ask, for the tree."""
        return child(ChecksTree, self).opts(id=self.name)


def _check(ident: object, one: object) -> Check:
    if not isinstance(ident, str) or not ident or "/" in ident:
        raise SpecError("Checks", f"{safe_repr(ident)}: a check is named by a text without '/'")
    check = one if isinstance(one, Check) else Check(one)  # type: ignore[arg-type]  # looked at in the next line
    if not callable(check.function):
        raise SpecError("Checks", f"{ident}: a function, or a Check of one, not {safe_repr(one)}")
    for word in ("every", "within"):
        seconds = getattr(check, word)
        if not (is_number(seconds) and 0 < seconds < math.inf):
            raise SpecError("Checks", f"{ident}: {word}={safe_repr(seconds)}: seconds > 0")
    return check


class ChecksTree(Supervisor):
    """One actor for each check; one that ends comes back after a pause, and ends nothing else."""

    def init(self, checks: Checks) -> None:
        """Of these."""
        self._checks = checks.checks

    def children(self) -> list[ChildSpec]:
        """In the order in which they were given."""
        return [_spec(ident, check) for ident, check in self._checks.items()]


def _spec(ident: str, check: Check) -> ChildSpec:
    asker = AsyncChecker if is_coroutine_function(check.function) else Checker
    return child(asker, ident, check).opts(id=ident, backoff=AGAIN)


class Answers:
    """What one check has said; written in the turns of its actor, read in any thread."""

    def __init__(self, system: System, check: Check) -> None:
        """Nothing yet."""
        self._now = system.clock.now
        self._check = check
        self._asked_at: float | None = None
        self._told_at: float | None = None
        self._problem: str | None = None

    def ask(self) -> None:
        """It is being asked."""
        self._asked_at = self._now()

    def tell(self, problem: str | None) -> None:
        """It has answered."""
        self._problem, self._told_at, self._asked_at = problem, self._now(), None

    def problem(self) -> str | None:
        """What is wrong, as far as is known."""
        asked_at, told_at, now = self._asked_at, self._told_at, self._now()
        if asked_at is not None and now - asked_at > self._check.within:
            return f"late: it was asked {now - asked_at:.0f} s ago"
        if told_at is None:
            return "it has not been asked yet" if asked_at is None else "it has not answered yet"
        if now - told_at > LATE * self._check.every + self._check.within:
            return f"late: it was last asked {now - told_at:.0f} s ago"
        return self._problem


class Asker(GenServer):
    """What both kinds of actors have."""

    def init(self, ident: str, check: Check) -> Continue:
        """Ask at once."""
        self._check = check
        self._answers = Answers(self.system, check)
        self.use(_listed(self.system, ident, self._answers.problem))
        return Continue(None)

    def _note(self, problem: str | None) -> None:
        self._answers.tell(problem)
        self.send_after(self._check.every, None)


class Checker(Asker):
    """Has a function called on a thread of its own, which may hang, and be left behind at the end."""

    def handle_continue(self, _: object) -> None:
        """The first time."""
        self._ask()

    def handle_info(self, _: object) -> None:
        """Again."""
        self._ask()

    @cast
    def answered(self, problem: str | None) -> None:
        """The function has come back."""
        self._note(problem)

    def _ask(self) -> None:
        self._answers.ask()
        ref, function = self.ref, self._check.function

        def call() -> None:
            ref.cast(Checker.answered, _outcome(function))

        try:
            threading.Thread(target=call, name=f"otpy-check-{ref.id}", daemon=True).start()
        except RuntimeError as error:
            self._note(exception_line(error))


class AsyncChecker(Asker):
    """Awaits a coroutine function."""

    async def handle_continue(self, _: object) -> None:
        """The first time."""
        await self._ask()

    async def handle_info(self, _: object) -> None:
        """Again."""
        await self._ask()

    async def _ask(self) -> None:
        self._answers.ask()
        try:
            answer: Any = await self._check.function()  # type: ignore[misc]  # it is a coroutine function
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # the actor is to end; else a library has let the end of a task of its own out
            self._note(exception_line(error, LIMIT))
        else:
            self._note(_problem_in(answer))


def _outcome(function: Callable[[], object]) -> str | None:
    try:
        return _problem_in(function())
    except BaseException as error:  # noqa: BLE001 - that is its answer
        return exception_line(error, LIMIT)


def _problem_in(answer: object) -> str | None:
    if answer is False:
        return "it says no"
    return visible(answer, LIMIT) if isinstance(answer, str) and answer else None


@contextmanager
def _listed(system: System, ident: str, problem: Callable[[], str | None]) -> Iterator[None]:
    """Be one of the system's checks; of the same name the last one holds."""
    system.checks[ident] = problem
    try:
        yield
    finally:
        if system.checks.get(ident) is problem:
            del system.checks[ident]
