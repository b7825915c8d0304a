"""Reads pages: the code blocks of a Markdown file, with their marks and their lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, the marks behind it, its text."""

    page: str
    line: int
    language: str
    marks: tuple[str, ...]
    code: str

    def __str__(self) -> str:
        """Name it for a test's id."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """The README and everything under `docs/`."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of one page, in order."""
    text = page.read_text()
    return [_block(str(page.relative_to(ROOT)), text, found) for found in FENCE.finditer(text)]


def _block(page: str, text: str, found: re.Match[str]) -> Block:
    language, *marks = found["info"].split() or [""]
    return Block(page, text.count("\n", 0, found.start()) + 1, language, tuple(marks), found["code"])
