"""What pages show in a terminal is what happens: their files are written, their commands run, their output compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.markdown import Block, blocks, pages
from support.session import Session, alike, commands_in

if TYPE_CHECKING:
    from pathlib import Path

STORIES = [page for page in pages() if any({"first", "second"} & {*block.marks} for block in blocks(page))]


@pytest.mark.any_python
@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", STORIES, ids=lambda page: page.stem)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    with Session(tmp_path) as session:
        for block in blocks(page):
            session.play(block)


def test_there_is_a_tutorial_that_is_played() -> None:
    assert "first-tree" in [page.stem for page in STORIES]


def test_a_program_that_prints_less_than_its_page_shows_is_not_waited_for_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = '$ python -c "import signal; signal.pause()"\nnever\n'
    with Session(tmp_path) as session, monkeypatch.context() as patch:
        patch.setattr("support.session.PATIENCE", 0.2)  # not for the end of the session, too
        with pytest.raises(AssertionError, match="'never' is not printed, but"):
            session.play(Block("page", 1, "console", ("first",), code))


def test_figures_and_dots_may_differ_and_words_may_not() -> None:
    assert alike(["up 3s  restarts 0", "…", "a … c"], ["up 41s restarts 2", "x", "y", "a b c"])
    assert alike(["one", "…"], ["one"])
    assert not alike(["one"], ["two"])
    assert not alike(["one"], ["one", "two"])


def test_commands_are_told_from_what_they_print() -> None:
    assert list(commands_in("said before\n$ a b\nx\ny\n$ c\n^C\nbye\n")) == [
        ("", ["said before"]),
        ("a b", ["x", "y"]),
        ("c", []),
        ("^C", ["bye"]),
    ]
