"""What docs/contributing.md lists is what there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from contract.test_layers import FLOORS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "contributing.md").read_text()
UNNAMED = {"", "__main__"}
"""The front door and its back, which the page calls by other names."""


def test_the_table_of_floors_has_each_piece_of_the_house_where_it_lives() -> None:
    rows = re.findall(r"^\| (\d) \| (.*) \|$", PAGE, re.MULTILINE)

    listed = {word: int(floor) for floor, text in rows for word in re.findall(r"`(\w+)`", text) if word in FLOORS}

    assert listed == {piece: floor for piece, floor in FLOORS.items() if piece not in UNNAMED}


def test_it_lists_the_folders_of_which_each_python_plays_a_part() -> None:
    names = re.search(r"stands on the kernel \((.*?)\)", PAGE)
    assert names is not None

    listed = {word.removeprefix("tests/") for word in re.findall(r"`([\w/]+)`", names[1])}

    assert listed == shared()


def shared() -> set[str]:
    """As tests/conftest.py has it, which no test imports."""
    for node in ast.parse((ROOT / "tests" / "conftest.py").read_text()).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "SHARED":
            found: set[str] = ast.literal_eval(node.value)
            return found
    raise AssertionError("tests/conftest.py has no SHARED")
