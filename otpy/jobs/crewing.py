"""Which crew does which kinds: each in a place that can do them, and none left over."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from otpy.errors import SpecError
from otpy.jobs.setup import Crew

if TYPE_CHECKING:
    from otpy.jobs.kind import Kind

__all__ = ["placed_crews"]


def placed_crews(crews: tuple[Crew, ...], kinds: dict[str, Kind[..., Any]], name: str) -> tuple[Crew, ...]:
    """Each with what it can do; each kind must be done by somebody."""
    wanted: dict[str, list[str]] = {}
    for kind in kinds.values():
        wanted.setdefault(_place(kind), []).append(kind.name)
    if not crews:
        crews = tuple(Crew(name=place, place=place) for place in sorted(wanted))  # type: ignore[arg-type]  # `_place`
    placed = [replace(crew, kinds=crew.kinds or tuple(wanted.get(_kind_of_place(crew), ()))) for crew in crews]
    left = set(kinds) - {kind for crew in placed for kind in crew.kinds}
    if left:  # nobody has just their place: whoever is free to choose does them where that can be
        placed = [
            one if crew.kinds else replace(one, kinds=(*one.kinds, *sorted(_able(one, kinds, left))))
            for crew, one in zip(crews, placed, strict=True)
        ]
        left -= {kind for crew in placed for kind in crew.kinds}
    if left:
        raise SpecError(name, f"no crew has the place for {', '.join(sorted(left))}")
    for crew in placed:
        _check_place(crew, [kinds[one] for one in crew.kinds if one in kinds], name)
    return tuple(placed)


def _able(crew: Crew, kinds: dict[str, Kind[..., Any]], names: set[str]) -> set[str]:
    """Those of these kinds that its place can do, though it is made for others."""
    if crew.place == "process":
        return names
    return {name for name in names if not kinds[name].killable and crew.place != "loop"}


def _check_place(crew: Crew, kinds: list[Kind[..., Any]], name: str) -> None:
    """Refuse what a crew's place cannot do."""
    for kind in kinds:
        if crew.place == "loop" and not kind.is_async:
            raise SpecError(name, f"crew {crew.name!r} is on the loop, where {kind.name} would block all others")
        if kind.killable and crew.place != "process":
            raise SpecError(name, f"crew {crew.name!r}: {kind.name} is killable, which needs place='process'")
        if crew.place == "process":
            try:
                pickle.dumps(kind)
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise SpecError(name, f"crew {crew.name!r}: {error}") from None


def _place(kind: Kind[..., Any]) -> str:
    return "process" if kind.killable else "loop" if kind.is_async else "pool"


def _kind_of_place(crew: Crew) -> str:
    return "pool" if crew.place == "thread" else crew.place
