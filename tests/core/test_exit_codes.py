"""The exit codes: one table, in the code and on its page."""

from __future__ import annotations

import re

from otpy.core.exit_codes import ExitCode
from support.source import ROOT


def test_the_page_lists_exactly_the_codes_there_are() -> None:
    page = (ROOT / "docs/reference/exit-codes.md").read_text()

    rows = re.findall(r"^\| (\d+) \| ([\w ]+) \|", page, flags=re.MULTILINE)

    assert rows == [(str(code.value), code.name.lower().replace("_", " ")) for code in ExitCode]


def test_the_codes_are_what_scripts_know() -> None:
    assert [int(code) for code in ExitCode] == [0, 2, 70, 75, 137, 141]
