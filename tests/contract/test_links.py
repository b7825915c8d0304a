"""Links between pages lead somewhere, headings included."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.markdown import FENCE, pages
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#+ (?P<text>.+)$", re.MULTILINE)
LINKS = [(page, found["target"]) for page in pages() for found in LINK.finditer(FENCE.sub("", page.read_text()))]


def anchors(page: Path) -> set[str]:
    """What a link may name after `#`, as renderers make it from a heading."""
    texts = [found["text"].lower() for found in HEADING.finditer(FENCE.sub("", page.read_text()))]
    return {re.sub(r"[^\w\- ]", "", text).replace(" ", "-") for text in texts}


@pytest.mark.parametrize(("page", "target"), LINKS, ids=lambda value: str(value).removeprefix(f"{ROOT}/"))
def test_a_link_leads_to_a_page_and_a_heading_of_it(page: Path, target: str) -> None:
    if target.startswith(("https://", "http://")):
        return
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page

    assert there.exists()
    assert not anchor or anchor in anchors(there)
