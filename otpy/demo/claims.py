"""Who reads which file: a table of files, holders and claims by token, without actors, threads or clocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.demo.files import File

__all__ = ["Claim", "Claims"]

H = TypeVar("H", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Claim(Generic[H]):
    """One file in the hands of one holder, until the claim is finished or lost."""

    token: int
    """Never used again, not even for the same file and the same holder."""
    file: File
    """What is to be read."""
    holder: H
    """Who reads it."""


class Claims(Generic[H]):
    """Every file is at one place: it waits, or is claimed under one token, or is finished for good.

    Only the token of a current claim finishes a file. So a result that comes late, or twice, or from a holder that was
    given up, finds no claim and counts nothing, although the same path may be in the hands of another holder by then.
    """

    def __init__(self) -> None:
        """Start with no files and no holders."""
        self._waiting: deque[File] = deque()
        self._current: dict[int, Claim[H]] = {}
        self._idle: dict[H, None] = {}  # a set that keeps its order
        self._busy: dict[H, int] = {}
        self._last = 0

    def begin(self, files: Iterable[File]) -> None:
        """Let these files wait, for holders who will come; those of before are gone."""
        self._waiting.extend(files)
        self._idle.clear()

    def ready(self, holder: H) -> None:
        """A holder is new, or done with its last claim, and may get another."""
        token = self._busy.get(holder)
        if token in self._current:
            text = f"{holder} is ready for more, but has neither finished nor lost claim {token}"
            raise ValueError(text)
        self._busy.pop(holder, None)
        self._idle[holder] = None

    def give(self) -> Claim[H] | None:
        """Claim the next file for the next holder under a new token; None when no file waits or no holder is idle."""
        if not self._waiting or not self._idle:
            return None
        self._last += 1
        holder = next(iter(self._idle))
        del self._idle[holder]
        self._busy[holder] = self._last
        claim = self._current[self._last] = Claim(self._last, self._waiting.popleft(), holder)
        return claim

    def finish(self, token: int) -> File | None:
        """End a claim with its result; None when the token is not current, and then the result must be dropped."""
        claim = self._current.pop(token, None)
        return None if claim is None else claim.file

    def lose(self, holder: object) -> None:
        """Forget a holder that died; the file of its claim waits again, and will have a new token."""
        self._idle.pop(holder, None)  # type: ignore[arg-type]  # any object may be asked for
        claim = self._current.pop(self._busy.pop(holder, 0), None)  # type: ignore[arg-type]  # as above
        if claim is not None:
            self._waiting.append(claim.file)

    @property
    def is_done(self) -> bool:
        """Whether all files are finished, and all holders have said so or died: then nothing is on its way any more."""
        return not self._waiting and not self._busy
