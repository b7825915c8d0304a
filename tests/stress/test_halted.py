"""What has threads halt between two lines."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from otpy.core.text import safe_repr
from otpy.places.process.line import Line
from tests.stress.again import main
from tests.stress.halted import TIMES, Halting

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.version_info < (3, 12), reason="there is no sys.monitoring")

HALTS = """
import time
from otpy.core.text import safe_repr

def test_that_halts():
    took = 0.0
    while took < 0.004:
        began = time.monotonic()
        safe_repr(1)
        took = time.monotonic() - began
"""


def test_whoever_is_at_some_line_halts_there() -> None:
    halts: list[float] = []
    halting = Halting(10, halts.append)

    heard = {halting.line(safe_repr.__code__, 1) for _ in range(10_000)}

    assert heard == {None}
    assert len(halts) >= 10_000 / 19
    assert set(halts) == set(TIMES)


def test_code_of_others_is_left_alone() -> None:
    """And that which leans on nobody's coming between two of its lines."""
    halts: list[float] = []
    halting = Halting(1, halts.append)

    heard = {halting.line(code, 1) for code in (pytest.main.__code__, Line.send.__code__, main.__code__)}

    assert heard == {sys.monitoring.DISABLE}
    assert halts == []


def test_the_command_halts_what_it_plays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pytest.ini").touch()
    (tmp_path / "test_made_up.py").write_text(HALTS)

    assert main(["--runs", "1", "--halted", str(tmp_path), "--", "-p", "no:otpy", "-p", "no:hypothesispytest"]) == 0

    assert "1 runs of 1, 1 clean" in capsys.readouterr().out
