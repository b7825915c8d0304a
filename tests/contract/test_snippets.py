"""The pages tell the truth: their Python parses, and what is marked `runnable` runs."""

from __future__ import annotations

import ast
import sys
from types import ModuleType

import pytest

from support.markdown import Block, blocks, pages
from support.source import ROOT

PYTHON = [block for page in pages() for block in blocks(page) if block.language == "python"]
RUNNABLE = [block for block in PYTHON if "runnable" in block.marks]


def test_python_on_a_page_parses() -> None:
    for block in PYTHON:
        ast.parse(block.code, filename=str(block))


@pytest.mark.parametrize("block", RUNNABLE, ids=str)
def test_runnable_python_on_a_page_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """It runs as an imported module; blocks on one page do not see each other, asserts in them hold."""
    snippet = ModuleType("snippet")
    monkeypatch.setitem(sys.modules, "snippet", snippet)

    exec(compile(block.code, str(block), "exec"), vars(snippet))  # noqa: S102  # the page's own code is the input


def test_python_on_a_page_has_one_mark_that_says_how_it_is_run() -> None:
    marked = {block: [mark.partition("=") for mark in block.marks] for block in PYTHON}
    words = {str(block): [word for word, _, _ in marks] for block, marks in marked.items()}

    assert {block: found for block, found in words.items() if found not in (["runnable"], ["file"], ["excerpt"])} == {}
    excerpts = {block: path for block, [(word, _, path)] in marked.items() if word == "excerpt"}
    assert [
        str(block) for block, path in excerpts.items() if not is_excerpt(block.code, (ROOT / path).read_text())
    ] == []


def is_excerpt(code: str, source: str) -> bool:
    """Whether the lines of code stand in a source in this order; `...` stands for what is left out."""
    lines = iter([line.strip() for line in source.splitlines()])
    return all(line.strip() in lines for line in code.splitlines() if line.strip() not in {"", "..."})


def test_pages_are_not_stubs() -> None:
    short = [str(page) for page in pages() if len(page.read_text().split()) < 30]

    assert short == []
