"""The map of the package, in its docstring: whatever it names is there."""

from __future__ import annotations

import re
from pathlib import Path

from otpy import jobs


def test_what_the_map_names_is_there() -> None:
    assert jobs.__doc__ is not None
    folder = Path(jobs.__file__).parent
    named = set(re.findall(r"`([a-z_/]+)`", jobs.__doc__)) - {"__all__"}
    assert len(named) > 20
    assert [one for one in sorted(named) if not (folder / one).is_dir() and not (folder / f"{one}.py").exists()] == []
