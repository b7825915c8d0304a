"""Links between pages lead somewhere, headings included."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from support.markdown import FENCE, pages
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
LINKS = [(page, found["target"]) for page in pages() for found in LINK.finditer(FENCE.sub("", page.read_text()))]


@cache
def anchors(page: Path) -> set[str]:
    """What a link may name after `#`, as renderers make it from a heading."""
    texts = [found["text"].lower() for found in HEADING.finditer(FENCE.sub("", page.read_text()))]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


def is_dead(page: Path, target: str) -> bool:
    """Whether a link within the docs leads to no file, or to no heading of it."""
    if target.startswith(("https://", "http://")):
        return False
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    return not there.exists() or bool(anchor and anchor not in anchors(there))


def test_a_link_leads_to_a_page_and_a_heading_of_it() -> None:
    assert [f"{page.relative_to(ROOT)}: {target}" for page, target in LINKS if is_dead(page, target)] == []
