"""A declared tree in which one thing after another happens, by the pure functions that supervisors use."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from otpy.core.exit_codes import ExitCode
from otpy.core.intensity import Window, admit
from otpy.core.reason import RestartLimit, Shutdown, is_clean
from otpy.core.strategy import affected, ends_supervisor, verdict
from otpy.core.value import value
from otpy.errors import UnforeseeableError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from otpy.core.part import Part
    from otpy.core.reason import Reason

__all__ = ["Node", "Round", "Step", "Story", "exit_code_of", "is_end_of", "limit_of"]

Kind = Literal["ended", "follows", "stopped", "started", "stays", "forgotten", "waits", "given_up", "gives_up", "exit"]
DEATHS: Final = ("ended", "follows", "stopped", "gives_up")


@value
class Step:
    """One thing that happens."""

    kind: Kind
    """`ended` by itself, `follows` a killed supervisor by its link, `stopped` by its supervisor, `started`, `stays`
    without a process, `forgotten` with its spec, `waits` for its back-off, `given_up` by its own limit, `gives_up` as a
    supervisor, or the program's `exit`."""
    path: str
    """Whose."""
    code: int | None = None
    """The program's exit code, of an `exit`."""

    @property
    def mark(self) -> str | None:
        """`-path` for a death, `+path` for a start, nothing for what is no more than a note."""
        sign = "-" if self.kind in DEATHS else "+" if self.kind == "started" else ""
        return f"{sign}{self.path}" if sign else None


@value
class Round:
    """What one end takes along, in order."""

    steps: tuple[Step, ...]
    """From the end itself to the last start."""
    untouched: tuple[str, ...]
    """Who lives before and after, the same incarnation."""


class Node:
    """One part while it lives and dies."""

    def __init__(self, part: Part, above: Node | None) -> None:
        self.part = part
        self.above = above
        self.is_alive = False
        self.is_given_up = False
        self.stamps: list[float] = []  # of the restarts it has made
        self.own: list[float] = []  # of its own restarts, if they count apart
        self.children: list[Node] = []

    def fill(self) -> None:
        """As after its start: the declared children, and nothing counted."""
        self.stamps = []
        self.children = [] if _is_dynamic(self.part) else [Node(child, self) for child in self.part.children]


class Story:
    """A tree in which one thing after another happens; the pure functions say what."""

    def __init__(self, root: Part) -> None:
        self.root = Node(root, None)
        self.steps: list[Step] = []
        self.start(self.root)

    def find(self, path: str, *, grows: bool) -> Node | None:
        """The part at a path, alive or not; None for one that is forgotten.

        With `grows`, a child of a dynamic supervisor that is not there is taken as started by somebody.
        """
        first, *rest = path.split("/")
        node = self.root
        if first != node.part.path:
            raise UnforeseeableError(f"no part {path!r}: paths here begin with {node.part.path!r}")
        for ident in rest:
            found = next((child for child in node.children if _id(child) == ident), None)
            if found is None and grows and _is_dynamic(node.part):
                found = self._grown(node, ident)
            if found is None and not grows:
                return None
            if found is None:
                raise UnforeseeableError(_missing(node.part, ident))
            node = found
        return node

    def _grown(self, node: Node, ident: str) -> Node:
        """A child that somebody has started under a dynamic supervisor."""
        if not node.part.children:
            raise UnforeseeableError(f"what {node.part.path} starts is not declared: otpy.dynamic(Class) would say so")
        child = Node(_placed(node.part.children[0], f"{node.part.path}/{ident}"), node)
        node.children.append(child)
        before, self.steps = self.steps, []
        self.start(child)
        self.steps = before
        return child

    def play(self, node: Node, reason: Reason) -> Round:
        """One end, and all that follows."""
        before = [each.part.path for each in _living(self.root)]
        self.steps = []
        is_asked = node.part.is_supervisor and is_clean(reason)
        if is_asked:
            self.stop_children(node)
        self.note("ended", node)
        node.is_alive = False
        if not is_asked:
            self.follow(node)
        self.act(node, reason)
        touched = {step.path for step in self.steps}
        return Round(tuple(self.steps), tuple(path for path in before if path not in touched))

    def note(self, kind: Kind, node: Node) -> None:
        """Add one step."""
        self.steps.append(Step(kind, node.part.path))

    # What supervisors do.

    def act(self, node: Node, reason: Reason) -> None:
        """A part has ended: its supervisor acts, or, above the root, the program ends."""
        above = node.above
        if above is None:
            self.steps.append(Step("exit", node.part.path, int(exit_code_of(reason))))
            return
        decided = verdict(node.part.options.restart, reason)
        if decided == "restart":
            self.restart(above, node, reason)
            return
        is_kept = decided == "keep" and not _is_dynamic(above.part)
        self.note("stays" if is_kept else "forgotten", node)
        if not is_kept:
            above.children.remove(node)
        self.after_end(above, node)

    def after_end(self, above: Node, node: Node) -> None:
        """The end of a significant child may be that of its supervisor."""
        if node.part.options.significant and is_end_of(above, node):
            self.end_all(above, "ended", Shutdown())

    def restart(self, above: Node, node: Node, reason: Reason) -> None:
        """Start a part again with those it takes along, or give up."""
        waits = node.part.options.backoff is not None
        if waits:
            self.stop_group(above, node)
            self.note("waits", node)
        window, own_gives_up = limit_of(node, above)
        if admit(window, above.stamps if node.part.options.limit is None else node.own, 0.0):
            self.start_group(self.stop_group(above, node))
        elif own_gives_up:
            self.give_up(above, node, others_wait=waits)
        else:
            detail = RestartLimit(above.part.path, node.part.id, window.max_restarts, window.max_seconds, reason)
            self.end_all(above, "gives_up", Shutdown(detail))

    def give_up(self, above: Node, node: Node, *, others_wait: bool) -> None:
        """One part is given up alone."""
        node.is_given_up = True
        self.note("given_up", node)
        if others_wait:
            group = _group(above, node)
            self.start_group([each for each in group if not each.is_alive and not each.is_given_up])
        self.after_end(above, node)

    def stop_group(self, above: Node, node: Node) -> list[Node]:
        """Stop whom a restart takes along; returns who is to be started."""
        group = [each for each in _group(above, node) if not each.is_given_up]
        for each in reversed(group):
            if each is node:
                continue
            self.stop(each)
            if each.part.options.restart == "temporary":
                self.note("forgotten", each)
                above.children.remove(each)
        return [each for each in group if each in above.children]

    def start_group(self, group: list[Node]) -> None:
        """Start parts in their order."""
        for each in group:
            self.start(each)

    def start(self, node: Node) -> None:
        """Start a part: its children first, then it is done itself."""
        node.is_alive, node.is_given_up = True, False
        node.fill()
        self.start_group(list(node.children))
        self.note("started", node)

    def stop(self, node: Node) -> None:
        """Tell a part to stop, if it lives."""
        if node.is_alive:
            self.stop_children(node)
            node.is_alive = False
            self.note("stopped", node)

    def stop_children(self, node: Node) -> None:
        """Stop all below a part in reverse."""
        for child in reversed(node.children):
            self.stop(child)

    def follow(self, node: Node) -> None:
        """A supervisor was killed: its links end those below it, in no order that could be relied upon."""
        for child in reversed(node.children):
            if child.is_alive:
                self.stop_children(child)
                child.is_alive = False
                self.note("follows", child)

    def end_all(self, node: Node, kind: Kind, reason: Reason) -> None:
        """A supervisor stops its children and ends."""
        self.stop_children(node)
        node.is_alive = False
        self.note(kind, node)
        self.act(node, reason)


def limit_of(node: Node, above: Node) -> tuple[Window, bool]:
    """The limit that a restart counts for, and whether passing it gives up the child alone."""
    own = node.part.options.limit
    if own is not None:
        return own, own.then == "give_up"
    flags = above.part.flags
    assert flags is not None  # noqa: S101 - what has known children has known flags
    return Window(flags.max_restarts, flags.max_seconds), False


def _group(above: Node, node: Node) -> list[Node]:
    flags = above.part.flags
    assert flags is not None  # noqa: S101 - what has known children has known flags
    return list(affected(flags.strategy, above.children, above.children.index(node)))


def is_end_of(above: Node, node: Node) -> bool:
    """Whether a supervisor ends when this significant child has."""
    flags = above.part.flags
    left = sum(child.part.options.significant and child.is_alive and child is not node for child in above.children)
    return flags is not None and ends_supervisor(flags.auto_shutdown, significant_left=left)


def exit_code_of(reason: Reason) -> ExitCode:
    """How `otpy run` ends when its root has ended by itself."""
    gave_up = isinstance(reason, Shutdown) and isinstance(reason.detail, RestartLimit)
    return ExitCode.CLEAN if is_clean(reason) and not gave_up else ExitCode.FAILED


def _is_dynamic(part: Part) -> bool:
    return part.flags is not None and part.flags.is_dynamic


def _id(node: Node) -> str:
    return node.part.path.rpartition("/")[2]


def _living(node: Node) -> Iterator[Node]:
    if node.is_alive:
        yield node
        for child in node.children:
            yield from _living(child)


def _placed(part: Part, path: str) -> Part:
    """The same part somewhere else, with all below it."""
    children = tuple(_placed(child, f"{path}/{child.path.rpartition('/')[2]}") for child in part.children)
    return replace(part, path=path, children=children)


def _missing(part: Part, ident: str) -> str:
    if part.unknown is not None:
        return f"what is below {part.path} cannot be known without starting it: {part.unknown}"
    known = [child.path.rpartition("/")[2] for child in part.children]
    below = f"it has {', '.join(known)}" if known else "it has no children"
    return f"{part.path} has no child {ident!r}: {below}"
