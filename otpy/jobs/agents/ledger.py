"""The ledger: it writes down for running jobs what they do once, and answers when that is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.actors.gen_server import GenServer
from otpy.core.decision import NoReply
from otpy.jobs.agents.beat import Beat
from otpy.jobs.errors import StoreError
from otpy.jobs.model.claim import Settled
from otpy.jobs.redact import sealed
from otpy.jobs.writer import Writer
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.jobs.model.claim import Once
    from otpy.jobs.setup import Setup
    from otpy.jobs.store.protocol import Transaction

__all__ = ["Ledger"]


class Ledger(GenServer):
    """Stands between jobs and the writer, for a job in a process can send words and no functions.

    It waits for nothing: many jobs may ask at once, and their answers share a commit.
    """

    def redact(self, name: str, value: Any) -> object:
        """Show nothing of what jobs keep."""
        return sealed(name, value)

    def init(self, setup: Setup) -> None:
        """Hold nothing."""
        self.beat = self.system.ref(setup.actor(Beat, "beat"))
        self.writer = self.system.ref(setup.actor(Writer, "writer"))

    @call
    def begin(self, id: int, token: int, key: str) -> Any:  # Any: the reply comes when it is kept
        """Whether this attempt may do it: `begun`, `done` with its result, `busy`, or `stale`."""

        def step(tx: Transaction) -> tuple[str, Any]:
            once: Once = tx.begin_once(id, token, key)
            return once.how, once.result

        return self._answer_with(step)

    @call
    def keep(self, id: int, token: int, key: str, result: bytes) -> Any:  # Any: as above
        """It is done: `kept`, or `stale`."""
        return self._answer_with(lambda tx: ("kept" if tx.keep_once(id, token, key, result) else "stale", b""))

    @call
    def acknowledge(self, id: int, token: int) -> Any:  # Any: as above
        """It is done, before it has begun: `held` when that is kept, `cancelled` or `lost` when it must not begin."""
        done, own = Settled(id=id, token=token, state="done"), self.beat

        def step(tx: Transaction) -> tuple[str, Any]:
            how = tx.holds(id, token)
            tx.settle([done])
            return how, b""

        # There, before the next renewal comes back: it would miss the lease, and have the agent killed for it.
        return self._answer_with(step, lambda: own.cast(Beat.change, [], [(id, token)], 0.0))

    @cast
    def drop(self, id: int, token: int, key: str) -> None:
        """It failed."""
        self.writer.cast(Writer.submit, lambda tx: tx.drop_once(id, token, key), lambda _: None)

    def _answer_with(
        self, step: Callable[[Transaction], tuple[str, Any]], kept: Callable[[], object] = bool
    ) -> Any:  # Any: the reply comes later
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        answers: list[tuple[str, Any]] = []

        def reply(error: Exception | None) -> None:
            if isinstance(error, StoreError):
                caller.reply(("store", (error.path, error.problem)))
            elif error is not None:
                caller.reply(("store", ("the store", str(error))))
            else:
                kept()
                caller.reply(answers[-1])

        self.writer.cast(Writer.submit, lambda tx: answers.append(step(tx)), reply)
        return NoReply()
