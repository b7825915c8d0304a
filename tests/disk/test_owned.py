"""A file that one program has open, while somebody else touches it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from otpy.disk.owned import MOVED
from otpy.errors import StateFileError
from otpy.state.file import States

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("is_replaced", [False, True])
def test_what_would_be_lost_with_a_file_that_was_removed_is_refused(tmp_path: Path, *, is_replaced: bool) -> None:
    """SQLite goes on with the file that nobody will find again, and says that all is written."""
    file = tmp_path / "shop.state"
    states = States(str(file))
    file.rename(tmp_path / "away")
    if is_replaced:
        file.touch()
    for _ in range(2):
        with pytest.raises(StateFileError, match=MOVED), states.transaction() as tables:
            tables.set_aside("shop", 0)

    (tmp_path / "away").replace(file)  # it is brought back
    with states.transaction() as tables:
        assert tables.program() == states.number
    states.close()
