"""The one that writes: all of a program's requests to the store go through it, and share its transactions."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from otpy.actors.gen_server import GenServer
from otpy.core.decision import Fail, NoReply
from otpy.core.gathering import GATHER, Gathering
from otpy.core.reason import Shutdown
from otpy.jobs.errors import LostJobError, StoreConflictError, StoreError, StoreLockedError, StoreVersionError
from otpy.jobs.failing import MOST, Failing
from otpy.jobs.health import Health
from otpy.jobs.insertion import do_all, parted
from otpy.jobs.model.news import News
from otpy.jobs.store.late import LateStore
from otpy.jobs.submitted import Told
from otpy.runtime.request import call, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.core.reason import Reason
    from otpy.jobs.loan import Loan
    from otpy.jobs.scheduler.standing import Standing
    from otpy.jobs.store.protocol import Store, Transaction
    from otpy.runtime.caller import Caller
    from otpy.runtime.drain import Drain

    Waiter: TypeAlias = "tuple[Caller | Told, Callable[[Transaction], Any]]"  # Any: what the step returns

__all__ = ["Writer"]

LATE = 2
"""Requests that may wait for another program's locks, once it has come out that one does: each only for a moment."""
WARY = 10.0
"""Seconds after that in which new jobs with keys wait but for a moment: whoever was refused comes again, and would hold
up all others each time."""
TRIES = 5
"""Attempts at a transaction that is in another program's way; who has won does not come again at once."""

LATER = NoReply()
"""The reply comes with the commit."""

NOTHING = News(frozenset(), None)
"""What a look makes possible."""


class Writer(GenServer):
    """Owns the store's connection, on a thread of its own.

    Group commit: a request waits in a list, and the first one has the actor send itself a message. What has come until
    that is handled is one transaction, so a commit that takes long is shared by all who came meanwhile. Whoever gets a
    reply knows that it is kept. Who was served together is expected back together, for a millisecond or so.

    A failure of the store is that of all in the transaction, of whom nothing was kept. For a pause nothing is taken
    then, so that a full disk is told at once, and the next request after it finds out whether it is over. The actor
    lives on: to start it again mends no disk.
    """

    place: ClassVar[str] = "thread"
    trap_exit = True
    otpy_is_answered_for = True  # whoever waits for it is late in a drain, and not it

    def init(
        self,
        opened: Callable[[], Store],
        herald: Callable[[News], object] = bool,
        most: float = MOST,
        health: Health | None = None,
    ) -> Fail | None:
        """Open the store, in its own thread.

        One that cannot be opened ends the start of an engine. A writer that is started again, while the store is away,
        lives without it until it is back: an engine that gave up would take along what its agents still do.

        Args:
            opened: makes it.
            herald: told, here, what each commit has made possible.
            most: seconds that a pause after a failure lasts at most; what has a lease to extend must not miss it.
            health: where outages, and writes that were refused, are seen by others.
        """
        self._herald = herald
        self.health = Health() if health is None else health
        self._failing = Failing(self.ref, self.health, most)
        self._waiting: list[Waiter] = []
        self._gathering = Gathering()
        self._standing: Standing | None = None
        self._held: tuple[float, StoreLockedError] | None = None
        """Until when to be wary of keys that others have, and what was said of the last one."""
        self.health.begins(self.system.clock.now())
        try:
            store = opened()
        except (StoreError, StoreVersionError) as error:  # no fault of this actor: a sentence, and no crash report
            if isinstance(error, StoreVersionError) or not self.health.was_open:
                return Fail(Shutdown(str(error)))
            self._failing.fail(error)
            store = LateStore(opened)
        finally:
            self.health.answered("look", self.system.clock.now)
        self.health.was_open = True
        self.store = self.use(closing(store))
        return None

    @property
    def otpy_kind(self) -> str:
        """What it is, in the tree, which so shows when it keeps nothing."""
        outage = self.health.outage if hasattr(self, "health") else None
        if outage is None or not outage.is_failing:
            return "Writer"
        return f"Writer without its store: {outage.error.problem}"

    @call
    def run(self, step: Callable[[Transaction], Any]) -> Any:  # Any: what the step returns
        """Do something in a transaction; the reply comes when it is committed.

        Raises:
            StoreError: the store failed, and nothing of it is kept.
        """
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        self._take(caller, step)
        return LATER

    @cast
    def submit(self, step: Callable[[Transaction], object], then: Callable[[Exception | None], object]) -> None:
        """As `run`, for actors that go on meanwhile: `then` is called here, with what went wrong."""
        self._take(Told(then), step)

    @cast
    def stand(self, standing: Standing) -> None:
        """Grant these wishes in the first commit that makes something ready of which they are; they replace others."""
        standing.begin()
        self._standing = standing

    @call
    def changes(self) -> Any:  # Any: a whole number, or the reply is an error
        """A number that differs when another program has written. Raises as `lead`."""
        return self._seen(self.store.changes, is_sign=False)

    @call
    def lead(self, name: str) -> Any:  # Any: `Lead | None`, or the reply is an error
        """Who was elected last; holds up nobody, and is not held up by other programs.

        Raises:
            StoreError: the store failed.
        """
        return self._seen(lambda: self.store.lead(name))

    @cast
    def lend(self, loan: Loan) -> None:
        """Have a job's handler say what is done, in a transaction of its own and for a bounded time."""
        if self._failing.is_closed_to(loan):
            return
        self.health.begins(self.system.clock.now())
        try:
            news = loan.serve(self.store)
        except StoreConflictError as error:  # its own statements were in somebody's way: the store is well
            self.health.met(error)
            loan.refuse(error)
        except StoreError as error:
            self._failing.fail(error)
            self._failing.refuse(loan, error)
        except Exception as error:  # noqa: BLE001 - the handler's, who is told
            loan.refuse(error)
        except BaseException:  # it was killed
            loan.refuse(LostJobError(loan.job))
            raise
        else:
            if news is not None:
                self._failing.well(news)
                self._herald(news)
        finally:
            self.health.answered("loan", self.system.clock.now)

    def handle_flush(self, drain: Drain) -> NoReply:
        """Do what it was given until now, whatever came last."""
        self.ref.cast(Writer.flush, drain)
        return LATER

    @cast
    def flush(self, drain: Drain) -> None:
        """All that stood before this is done."""
        self._do_all()
        drain.done()

    @cast
    def commit(self) -> None:
        """Do what waits, once those are back who have just been served together."""
        if self._gathering.waits(len(self._waiting), time.monotonic()):
            time.sleep(GATHER)
            self.ref.cast(Writer.commit)
        else:
            self._do_all()

    def terminate(self, reason: Reason) -> None:  # noqa: ARG002 - whatever it is
        """What was taken is done."""
        self._do_all()

    def _seen(self, look: Callable[[], Any], *, is_sign: bool = True) -> Any:  # Any: what the look returns
        """What a look finds. A store that fails in it is no fault of this actor, which lives on.

        `is_sign`: that it succeeds says that the store is there. A number may be had without asking a server.
        """
        caller = self.caller
        assert caller is not None  # noqa: S101 - a call has one
        self.health.begins(self.system.clock.now())
        try:
            found = look()
        except StoreError as error:
            self._failing.fail(error, is_look=True)
            caller.refuse(self._failing.once_more(error))
            return LATER
        finally:
            self.health.answered("look", self.system.clock.now)
        if is_sign and self.health.outage is not None and self.health.outage.is_of_looks:
            self._failing.well(NOTHING)
        return found

    def _do_all(self) -> None:
        waiting, self._waiting = self._waiting, []
        self._gathering.begin()
        if waiting:
            self._commit_warily(waiting)
            self._gathering.served(len(waiting), time.monotonic())

    def _take(self, waiter: Caller | Told, step: Callable[[Transaction], Any]) -> None:
        if self._failing.is_closed_to(waiter):
            return
        if not self._waiting:
            self.ref.cast(Writer.commit)
        self._waiting.append((waiter, step))

    def _commit(self, waiting: Sequence[Waiter], tries: int = TRIES, *, is_brief: bool = False) -> bool:
        """Do it; whether they are still to be told that somebody has what one of them wants, as if this `is_brief`."""
        began = self.health.begins(self.system.clock.now())
        try:
            with self.store.transaction() as transaction:
                if is_brief:
                    transaction.hurry()
                results = do_all(transaction, [step for _, step in waiting])
                standing, news = self._grant(transaction, began)
        except StoreError as error:
            self.health.met(error)
            return self._failed(waiting, error, tries, is_brief=is_brief)
        except Exception as error:  # noqa: BLE001 - one of them is wrong, and it alone shall know
            if len(waiting) == 1:
                waiting[0][0].refuse(error)
            else:
                for one in waiting:
                    self._commit([one])
        else:
            self._kept(waiting, results, standing, news)
        finally:
            self.health.answered("commit", self.system.clock.now)
        return False

    def _kept(self, waiting: Sequence[Waiter], results: Sequence[Any], standing: Standing | None, news: News) -> None:
        self._failing.well(news)
        if standing is not None:
            self._standing = None
            standing.kept()
        for (caller, _), result in zip(waiting, results, strict=True):
            caller.reply(result)
        # Last: what a round that shared the commit says of the next time comes before what it cannot know.
        self._herald(news)

    def _failed(self, waiting: Sequence[Waiter], error: StoreError, tries: int, *, is_brief: bool) -> bool:
        if isinstance(error, StoreConflictError) and tries > 1:  # anew, on what the other one has left
            return self._commit(waiting, tries - 1, is_brief=is_brief)
        if not isinstance(error, StoreLockedError):
            self._refuse_all(waiting, error)
        elif not is_brief:
            self._commit_apart(waiting, error)
        return is_brief and isinstance(error, StoreLockedError)

    def _refuse_all(self, waiting: Sequence[Waiter], error: StoreError) -> None:
        """The store has failed."""
        self._failing.fail(error)
        for caller, _ in waiting:
            self._failing.refuse(caller, error)

    def _commit_apart(self, waiting: Sequence[Waiter], error: StoreLockedError) -> None:
        """One wants what another's transaction has. Who wants no key shall not be refused for that, and goes first."""
        free, keyed = parted(waiting)
        if free and (not keyed or self._commit(free, is_brief=True)):
            self._refuse_all(waiting, error)
            return
        self._commit_keyed(keyed, error, was_tried=len(waiting) == 1)

    def _commit_warily(self, waiting: Sequence[Waiter]) -> None:
        """Together, unless somebody has had a key a short while ago: then new jobs with keys by themselves."""
        if self._held is None or self.system.clock.now() >= self._held[0]:
            self._commit(waiting)
            return
        free, keyed = parted(waiting)
        if free:
            self._commit(free)
        if keyed and self._commit(keyed, is_brief=True):
            self._commit_keyed(keyed, self._held[1], was_tried=len(keyed) == 1)

    def _commit_keyed(self, keyed: Sequence[Waiter], error: StoreLockedError, *, was_tried: bool) -> None:
        """One by one, each for a moment; who is held up alone is refused."""
        late: list[Waiter] = []
        for one in keyed:
            if was_tried or len(late) >= LATE or self._commit([one], is_brief=True):
                late.append(one)
        if late:
            self._held = self.system.clock.now() + WARY, error
        for caller, _ in late:
            self._failing.refuse(caller, error)

    def _grant(self, transaction: Transaction, began: float) -> tuple[Standing | None, News]:
        """The standing wish, when it is granted in this transaction, and what that has left of the news."""
        standing, news = self._standing, transaction.news
        if standing is None or not standing.fits(news):
            return None, news
        return standing, standing.grant(transaction, began)
