"""What is remembered of an exit, as pure functions: how paths are related, and which frame is the user's own."""

from __future__ import annotations

import threading

import pytest

import otpy
from otpy.core.exits import relation
from otpy.core.frames import Frame, user_frame


@pytest.mark.parametrize(
    ("ended", "related"),
    [("s/a", "own"), ("s/a/1", "below"), ("s", "above"), ("s/ab", None), ("s/b", None), ("s/a1", None)],
)
def test_relation_of_paths(ended: str, related: str | None) -> None:
    assert relation("s/a", ended) == related


def test_the_users_own_frame_is_preferred() -> None:
    own, package, library = "/srv/shop.py", "/usr/lib/python3/site-packages/x.py", threading.__file__

    def where(*files: str) -> str | None:
        return user_frame(tuple(Frame(file, 1, "f") for file in files))

    assert where(own, package, library) == f"{own}:1 in f"
    assert where(package, library) == f"{package}:1 in f"
    assert where(own, otpy.__file__) == f"{own}:1 in f"
    assert where(library) == f"{library}:1 in f"
    assert where() is None
