"""What usually helps: against a crash whose text gives it away, and with a path that leads nowhere."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from otpy.core.reason import Crashed, Reason
from otpy.core.suggest import listing, nearest
from otpy.runtime.records import child_record, children_of

if TYPE_CHECKING:
    from otpy.runtime.system import System

__all__ = ["hint_for", "hint_for_path"]

MAX_SIBLINGS = 1_000
"""Children that a misspelt id is compared with."""

THREAD_WORDS = ("same thread", "thread other than", "different thread", "main thread only", "not in main thread")


def hint_for(reason: Reason) -> str | None:
    """A sentence to print below a crash report, or None."""
    if isinstance(reason, Crashed) and any(word in reason.text for word in THREAD_WORDS):
        return 'hint: pool actors change threads between messages; give this one its own with place="thread"'
    return None


def hint_for_path(system: System, path: str) -> str:
    """What was probably meant by a path at which nobody is: a sibling, below the deepest part of it that exists."""
    holder = system.names.get(path)
    if holder is not None:
        return f"{path!r} is a name; its path is {holder.path!r}"
    if path != system.name and not path.startswith(f"{system.name}/"):
        return f"paths here begin with {system.name!r}"
    rest = path[len(system.name) + 1 :].split("/") if path != system.name else []
    parent, depth = system.root, 0
    above = system.name
    for ident in rest[:-1]:
        found = system.find(f"{above}/{ident}")
        if found is None:
            break
        parent, above, depth = found, f"{above}/{ident}", depth + 1
    children = list(islice(children_of(parent), MAX_SIBLINGS)) if parent is not None else []
    for child in children:
        if child.ref is None and rest and child.id == rest[depth]:
            return f"{child.path} is {child_record(system, child).status} and has no process; otpy restart starts it"
    known = [child.id for child in children]
    if depth == 0:
        tops = list(islice(system.tops.items(), MAX_SIBLINGS))
        known += [ident for ident, ref in tops if ref is not system.root]
    named = system.names.get(rest[-1]) if rest else None
    if named is not None:
        return f"{rest[-1]!r} is a name; its path is {named.path!r}"
    near = nearest(rest[depth], known) if rest else None
    if near is not None:
        return f"did you mean {f'{above}/{near}'!r}?"
    return f"{above} has {listing(known)}" if known else f"{above} has no children"
