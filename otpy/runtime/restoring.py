"""State over restarts: what an actor's `init` is given back, and what it has written; the file is on a higher floor."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol, cast

from otpy.core.reason import Killed, Shutdown
from otpy.core.value import value
from otpy.errors import ActorExit, IgnoredError, StateError
from otpy.runtime.aside import aside
from otpy.runtime.seat import here

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.errors import StartError
    from otpy.runtime.actor import Actor
    from otpy.runtime.ref import Ref

__all__ = ["KeptStates", "Restored", "Restoring", "Snapshot", "restore", "settle"]


@value(kw_only=True)
class Restored:
    """What the last `persist` at this path returned; the dict belongs to who has got it."""

    data: dict[str, Any]
    """As `persist` returned it."""
    saved_at: float
    """When that was, in seconds since 1970, by the clock of the machine."""
    is_fresh: bool
    """Whether nothing has run at this path since: then nothing was done that is not in it."""


@value(kw_only=True)
class Snapshot:
    """What one actor has persisted, packed in its own turn: what it changes afterwards is not in it."""

    path: str
    """Whose."""
    number: tuple[int, ...]
    """Which incarnation; of one inside of a process, that of the process first."""
    turn: int
    """The snapshots of one incarnation are written in this order, or not at all."""
    data: bytes
    """Its state."""
    ref: Ref[Any]
    """Who must be alive when it is written: what was killed writes nothing."""


class KeptStates(Protocol):
    """Where states are kept; any thread may call these."""

    max_bytes: int
    """What one actor may persist."""

    def snapshot(self, ref: Ref[Any], data: object) -> Snapshot:
        """What `persist` has returned, packed; in the actor's turn. Raises StateError: it is no plain data."""
        ...

    def save(self, snapshots: Iterable[Snapshot], *, is_final: bool) -> dict[str, StateError]:
        """Write them in one commit; on the disk when it returns. Gives, by path, those that were refused, and why.

        Those that are final are handed to the next incarnation, also in the same program.

        Raises:
            StateFileError: nothing was written; what was kept before is kept.
        """
        ...

    def take(self, path: str, number: tuple[int, ...]) -> Restored | None:
        """What an incarnation that begins is given. Raises StateFileError."""
        ...

    def settle(self, path: str, number: tuple[int, ...], *, is_begun: bool, is_excused: bool) -> None:
        """Its `init` has succeeded, or has failed; for no fault of its state, when it is excused."""
        ...

    def age(self, path: str) -> float | None:
        """Seconds since the state of a path was written; None when there is none. Waits for nobody."""
        ...

    def close(self) -> None:
        """Nothing is written any more."""
        ...


class Restoring:
    """Mixed into `Actor`: what its own code may ask for."""

    _restored: Restored | None = None

    @property
    def restored(self) -> Restored | None:
        """What `persist` of an earlier incarnation at this path has saved, for `init`; None when there is nothing.

        Only a class with a method `persist` gets any, in a program that runs with `state=`. It is what the end of the
        last program, a drain, or `self.save_state()` has written last. It is given to each incarnation until the `init`
        of one has succeeded; one that is restarted later, after a crash, starts without, as in OTP: the state may be
        what has crashed it. One with which two starts have failed is set aside.
        """
        return self._restored

    def save_state(self) -> None:
        """Call `persist` and write what it returns; on the disk when this returns, whatever happens then.

        Runs in the actor's own turn, and waits for the disk: some milliseconds.

        Raises:
            StateError: the program runs without `state=`, or it is no plain data, or too large.
            StateFileError: the file cannot be written; what was kept before is kept.
            BlockingError: on the thread of an event loop; `asave_state` is its other form.
        """
        here().may_block()
        data = self._persisted()
        if data.__class__ is CoroutineType:
            data.close()
            raise StateError(f"{self._own().path}: its persist is a coroutine function: await self.asave_state()")
        _write(self._own(), data)

    async def asave_state(self) -> None:
        """As `save_state`, for a handler that is a coroutine function; `persist` may be one, too.

        Who is cancelled while it waits does not know whether it was written.
        """
        data = self._persisted()
        if data.__class__ is CoroutineType:
            data = await data
        store, snapshot = _packed(self._own(), data)
        await aside(lambda: _save(store, snapshot))

    def _own(self) -> Ref[Any]:
        ref = cast("Actor", self).ref
        if ref.reason is not None:  # killed, and its code still runs
            raise ActorExit(ref.reason)
        return ref

    def _persisted(self) -> object:
        ref = self._own()
        if not ref.actor_class.otpy_persists:
            raise StateError(f"{ref.path}: {type(self).__name__} has no method persist, which returns what to keep")
        _store_of(ref)  # before anything is done in vain
        return cast("Any", self).persist()


def restore(ref: Ref[Any]) -> None:
    """Give an incarnation that begins what there is for it; before its `init`."""
    store = ref.system.states
    if store is not None:
        ref.actor._restored = store.take(ref.path, (ref.number,))  # noqa: SLF001 - its own


def settle(ref: Ref[Any], error: StartError | None) -> None:
    """Its `init` has succeeded, or has failed so."""
    store = ref.system.states
    if store is not None and ref.actor_class.otpy_persists:
        is_excused = isinstance(error, IgnoredError) or isinstance(getattr(error, "reason", None), Shutdown | Killed)
        store.settle(ref.path, (ref.number,), is_begun=error is None, is_excused=is_excused)


def _write(ref: Ref[Any], data: object) -> None:
    _save(*_packed(ref, data))


def _packed(ref: Ref[Any], data: object) -> tuple[KeptStates, Snapshot]:
    store = _store_of(ref)
    return store, store.snapshot(ref, data)


def _save(store: KeptStates, snapshot: Snapshot) -> None:
    refused = store.save([snapshot], is_final=False)
    if refused:
        raise refused[snapshot.path]


def _store_of(ref: Ref[Any]) -> KeptStates:
    store = ref.system.states
    if store is None:
        raise StateError(f"{ref.path}: the program keeps no states: run it with state='a file'")
    return store
