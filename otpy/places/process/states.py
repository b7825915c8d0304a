"""What actors in a process persist: kept by the parent, in whose tree they stand, whatever becomes of the process."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.core.text import exception_line
from otpy.errors import OtpyError, StateError
from otpy.places.process.bonds import brief_seat
from otpy.places.process.codec import error_parts
from otpy.places.process.say import Say
from otpy.runtime.restoring import Restored, Snapshot
from otpy.runtime.seat import Slot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from otpy.places.process.child import Child
    from otpy.places.process.line import Line
    from otpy.runtime.ref import Ref

__all__ = ["Clerk", "FarStates", "carried", "hear_state", "snapshot_of"]


class FarStates:
    """As `KeptStates`, inside of a process."""

    def __init__(self, line: Line, max_bytes: int) -> None:
        """Ask the parent by this pipe."""
        self.max_bytes = max_bytes
        self._line = line
        self._turns = itertools.count(1)

    def snapshot(self, ref: Ref[Any], data: object) -> Snapshot:
        """As `KeptStates.snapshot`."""
        from otpy.state.packing import pack_state  # noqa: PLC0415 - for who keeps states

        packed = pack_state(ref.path, data, self.max_bytes)
        return Snapshot(path=ref.path, number=(ref.number,), turn=next(self._turns), data=packed, ref=ref)

    def save(self, snapshots: Iterable[Snapshot], *, is_final: bool) -> dict[str, StateError]:
        """As `KeptStates.save`."""
        living: list[Snapshot] = []
        refused: dict[str, StateError] = {}
        for one in snapshots:
            if one.ref.reason is None:
                living.append(one)
            else:
                refused[one.path] = StateError(
                    f"{one.path}: it has ended ({one.ref.reason}): its state was not written"
                )
        said = self._ask("save", [carried(one) for one in living], is_final)
        return refused | {path: StateError(text) for path, text in said.items()}

    def take(self, path: str, number: tuple[int, ...]) -> Restored | None:
        """As `KeptStates.take`."""
        said = self._ask("take", path, list(number))
        return None if said is None else Restored(data=said[0], saved_at=said[1], is_fresh=said[2])

    def settle(self, path: str, number: tuple[int, ...], *, is_begun: bool, is_excused: bool) -> None:
        """As `KeptStates.settle`."""
        self._line.say(Say.STATE, 0, "settle", path, list(number), is_begun, is_excused)

    def age(self, path: str) -> float | None:  # noqa: ARG002 - as `KeptStates`
        """Known in the parent, where it is shown."""
        return None

    def close(self) -> None:
        """It is the parent's."""

    def _ask(self, what: str, *words: object) -> Any:  # Any: plain data
        slot = Slot(brief_seat())
        self._line.say(Say.STATE, self._line.expect(slot), what, *words)
        slot.wait(None)
        return slot.value


class Clerk:
    """Does one thing after the other on a thread of its own, which is there while there is something to do."""

    def __init__(self) -> None:
        """Nothing to do."""
        self._work: deque[Callable[[], None]] = deque()
        self._lock = threading.Lock()  # guards both: whoever finds nobody at work begins a thread, and it alone
        self._is_at_work = False

    def do(self, work: Callable[[], None]) -> None:
        """Have it done after all that was given before."""
        with self._lock:
            self._work.append(work)
            if self._is_at_work:
                return
            self._is_at_work = True
        threading.Thread(target=self._run, name="otpy-states", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._work:
                    self._is_at_work = False
                    return
                work = self._work.popleft()
            work()


def carried(one: Snapshot) -> list[object]:
    """A snapshot as it goes over the pipe."""
    return [one.path, list(one.number), one.turn, one.data]


def snapshot_of(child: Child, parts: object) -> Snapshot:
    """What a process has carried here. Raises ValueError or TypeError for what it is none of."""
    match parts:
        case [str(path), list(number), int(turn), bytes(data)]:
            return Snapshot(path=_own(child, path), number=_number(child, number), turn=turn, data=data, ref=child.ref)
    raise TypeError("snapshot")


def hear_state(child: Child, words: list[Any]) -> None:
    """Do what a process asks of its parent's states, in the order in which it is asked, but not on this thread.

    Raises:
        TypeError, ValueError: it has no meaning.
    """
    store = child.ref.system.states
    work: Callable[[], object]
    match words:
        case _ if store is None:
            raise TypeError("states")
        case [int(number), "take", str(path), list(inner)]:
            own, who = _own(child, path), _number(child, inner)
            work = lambda: _given(store.take(own, who))  # noqa: E731 - one a case
        case [int(number), "save", list(parts), bool(is_final)]:
            snapshots = [snapshot_of(child, each) for each in parts]
            work = lambda: _texts(store.save(snapshots, is_final=is_final))  # noqa: E731
        case [int(number), "settle", str(path), list(inner), bool(is_begun), bool(is_excused)]:
            own, who = _own(child, path), _number(child, inner)
            work = lambda: store.settle(own, who, is_begun=is_begun, is_excused=is_excused)  # noqa: E731
        case _:
            raise TypeError("states")
    child.ports.clerk.do(lambda: _answer(child, number, work))


def _answer(child: Child, number: int, work: Callable[[], object]) -> None:
    try:
        value = work()
    except OtpyError as error:
        child.line.say(Say.FAIL, number, *error_parts(error))
    except Exception as error:
        text = f"{child.path}: its state could not be dealt with: {exception_line(error)}"
        child.line.say(Say.FAIL, number, *error_parts(StateError(text)))
    else:
        child.line.say(Say.REPLY, number, value)


def _given(restored: Restored | None) -> object:
    return None if restored is None else [restored.data, restored.saved_at, restored.is_fresh]


def _texts(refused: dict[str, StateError]) -> object:
    return {path: str(error) for path, error in refused.items()}


def _own(child: Child, path: str) -> str:
    """A path of the process; what it sends may be anything."""
    if path != child.path and not path.startswith(f"{child.path}/"):
        raise ValueError(path)
    return path


def _number(child: Child, inner: list[Any]) -> tuple[int, ...]:
    if not all(type(each) is int for each in inner):
        raise TypeError("incarnation")
    return (child.ref.number, *inner)
