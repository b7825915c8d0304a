"""Draws trees, and knows who is in them."""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from .families import FAILING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .families import Family
    from .model import Definition

__all__ = ["Forest"]

DEPTH = 2
"""Levels of supervisors below the top."""


@cache
def below(limit: int) -> st.SearchStrategy[int]:
    """Numbers from 0 on; one for each limit, for to make and check a strategy costs more than to draw from it."""
    return st.integers(0, limit - 1)


class Forest:
    """All definitions of one scenario: those of its tree, and those that its script adds."""

    def __init__(self, draw: Any, family: Family) -> None:
        self._draw = draw
        self.family = family
        self._numbers = count(1)
        self.workers: list[str] = []
        """Static ones, which may be addressed by their ids."""
        self.crowd: list[str] = []
        """Children of dynamic supervisors."""
        self.children: dict[str, list[Definition]] = {}
        """Of each supervisor; those that were added later too."""
        self.dynamic: list[str] = []
        self.of_crowd: dict[str, list[str]] = {}
        self.hanging: set[str] = set()
        """Those that may hang in `terminate`, and then cannot be suspended."""
        self._autos: dict[str, str] = {}
        self._is_grown = False

    def pick(self, items: Sequence[Any]) -> Any:
        """One of these; the first are the simplest."""
        return items[self._draw(below(len(items)))]

    def chance(self, one_in: int) -> bool:
        """Whether something rare happens; it does not in a simple scenario."""
        return bool(self._draw(below(one_in)) == one_in - 1)

    def top(self) -> Definition:
        """A whole tree."""
        tree = self._supervisor("top", "never", DEPTH)
        self._is_grown = True
        return tree

    def new_child(self, auto_shutdown: str, *, ident: str | None = None, depth: int = 0) -> Definition:
        """A child of any kind that a supervisor with this setting may have; a worker when its id is given."""
        if ident is None and depth > 0 and self.chance(4):
            return self._supervisor(self._fresh("s"), auto_shutdown, depth - 1)
        if ident is None and depth > 0 and self.chance(6):
            return self._dynamic(self._fresh("d"), auto_shutdown)
        ident = ident or self._fresh("w")
        if ident not in self.workers:
            self.workers.append(ident)
        worker = self.worker(ident)
        if self.chance(10 if self._is_grown else 150):
            worker["plan"] = self.pick(FAILING)
        return worker | self._kept(auto_shutdown)

    def worker(self, ident: str) -> Definition:
        """What a worker does, apart from how it is kept."""
        family = self.family
        worker: Definition = {
            "kind": "worker",
            "id": ident,
            "plan": self.pick(family.plans),
            "traps": not self.chance(3),
            "ordered": family.ordered,
            "stop": self.pick(family.stops),
            "shutdown": self.pick(family.shutdowns),
        }
        if worker["stop"] == "hang":
            worker["shutdown"] = 20
            self.hanging.add(ident)
        if "c" in worker["plan"]:  # nothing may end it before it goes on
            worker |= {
                "traps": True,
                "shutdown": "infinity" if worker["shutdown"] == "brutal_kill" else worker["shutdown"],
            }
        return worker

    def crowd_worker(self, dynamic: str) -> Definition:
        """One more for a dynamic supervisor."""
        ident = self._fresh("x")
        self.crowd.append(ident)
        self.of_crowd.setdefault(dynamic, []).append(ident)
        worker = self.worker(ident)
        del worker["shutdown"]  # it is the same for all of them
        worker["plan"] = worker["plan"].rstrip("*").replace("c", "")
        if worker["plan"].count("~") and not worker["plan"].startswith("~"):
            worker["plan"] = ""
        worker["stop"] = "ok" if worker["stop"] == "hang" else worker["stop"]
        return worker

    def helper(self) -> Definition:
        """What a worker starts by itself."""
        return self.worker(self._fresh("h")) | {"plan": ""}

    def auto_shutdown_of(self, supervisor: str) -> str:
        """Its setting."""
        return self._autos[supervisor]

    def _fresh(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"

    def _kept(self, auto_shutdown: str) -> Definition:
        restart = self.pick(("permanent", "permanent", "transient", "transient", "temporary"))
        significant = auto_shutdown != "never" and restart != "permanent" and not self.chance(3)
        return {"restart": restart, "significant": significant}

    def _supervisor(self, ident: str, auto_shutdown: str, depth: int) -> Definition:
        family = self.family
        own = self.pick(family.auto_shutdowns)
        self.children[ident] = []
        self._autos[ident] = own
        supervisor: Definition = {
            "kind": "supervisor",
            "id": ident,
            "strategy": self.pick(family.strategies),
            "intensity": self.pick(family.intensities) + (2 if ident == "top" and not self.chance(4) else 0),
            "auto_shutdown": own,
            **self._kept(auto_shutdown),
        }
        for _ in range(self.pick((2, 3, 3, 4, 5) if ident == "top" else (1, 2, 2, 3))):
            child = self.new_child(own, depth=depth)
            if ident != "top" and child["kind"] == "worker":
                child["plan"] = child["plan"].replace("g", "+")
            self.children[ident].append(child)
        return supervisor | {"children": list(self.children[ident])}

    def _dynamic(self, ident: str, auto_shutdown: str) -> Definition:
        family = self.family
        self.dynamic.append(ident)
        return {
            "kind": "dynamic",
            "id": ident,
            "strategy": "simple_one_for_one",
            "intensity": self.pick(family.intensities),
            "auto_shutdown": "never",
            "children": [],
            "child_restart": self.pick(("permanent", "transient", "temporary")),
            "child_shutdown": self.pick(family.shutdowns),
            **self._kept(auto_shutdown),
        }
