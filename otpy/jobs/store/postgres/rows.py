"""Many rows of values as a table in a statement: each column is sent as one list, or once where all rows share it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Columns"]


class Columns(NamedTuple):
    """What such a table has: names, and the types of the database beside them."""

    names: tuple[str, ...]
    types: tuple[str, ...]

    def of(self, rows: Sequence[Sequence[Any]]) -> tuple[str, list[Any]]:
        """These rows, of which there is one at least, as a table in SQL and its values; it has a `place`, too.

        What is in a list costs a conversion for each row, here and there, and most jobs of one call are alike.
        """
        columns = [*zip(*rows, strict=True)]
        lists = tuple(not number or column.count(column[0]) < len(rows) for number, column in enumerate(columns))
        once = [column[0] for column, is_list in zip(columns, lists, strict=True) if not is_list]
        return _table(self, lists), [
            *once,
            *([*column] for column, is_list in zip(columns, lists, strict=True) if is_list),
        ]


@lru_cache(maxsize=1_000)
def _table(columns: Columns, lists: tuple[bool, ...]) -> str:
    """With these columns as lists."""
    named = [*zip(*columns, lists, strict=True)]
    once = "".join(f", cast(? as {of}) as {name}" for name, of, is_list in named if not is_list)
    arrays = ", ".join(f"cast(? as {of}[])" for _, of, is_list in named if is_list)
    names = ", ".join(name for name, _, is_list in named if is_list)
    return f"(select *{once} from unnest({arrays}) with ordinality as listed ({names}, place))"  # noqa: S608 - our own text
