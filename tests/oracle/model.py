"""A scenario is plain data: a tree, a script of steps, and the seed of the order in which otpy's actors get turns.

As JSON it is a file of `found/`, as an Erlang term it goes to the node; neither side needs to know the other's form.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Definition", "Report", "Scenario", "Step", "as_erlang"]

Definition = dict[str, Any]
"""A worker, a supervisor or a dynamic supervisor."""
Step = list[Any]
"""A verb and its arguments."""
Report = list[Any]
"""What a step gave: its result, the lanes of events, the deaths, the replies that have come."""


@dataclass(frozen=True)
class Scenario:
    """What both sides play."""

    tree: Definition
    steps: list[Step]
    seed: int = 0

    @staticmethod
    def load(path: Path) -> Scenario:
        """From a file."""
        return Scenario(**json.loads(path.read_text(encoding="utf-8")))

    def as_json(self) -> str:
        """As the text of a file: a line a step."""
        own = asdict(self)
        steps = ",\n    ".join(json.dumps(step) for step in own["steps"])
        return f'{{\n  "tree": {json.dumps(own["tree"])},\n  "steps": [\n    {steps}\n  ],\n  "seed": {self.seed}\n}}\n'

    def as_erlang(self) -> str:
        """As a term on one line; the order of turns is the node's own matter."""
        return as_erlang({"tree": self.tree, "steps": self.steps}) + "."


def as_erlang(value: Any) -> str:
    """Plain data as an Erlang term: texts are atoms."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case str():
            return f"'{value}'"
        case dict():
            return f"#{{{','.join(f'{key}=>{as_erlang(item)}' for key, item in value.items())}}}"
        case list():
            return f"[{','.join(map(as_erlang, value))}]"
    raise TypeError(value)
