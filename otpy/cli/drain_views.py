"""Views of drains, of rehearsals of them, and of rolls: pure functions from what a program says to rich."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from otpy.cli.columns import hanging
from otpy.cli.formats import counted, duration
from otpy.cli.warily import items, mappings, number, whole
from otpy.core.seconds import in_seconds
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

__all__ = [
    "drain_line",
    "drain_view",
    "ended_view",
    "is_clean",
    "rehearsal_view",
    "roll_view",
    "steps_since",
]

STYLES = {"late": "red", "doubt": "yellow"}
FEW = 5
"""Paths that are shown of those who take part alike."""


def rehearsal_view(name: str, seen: Mapping[str, Any]) -> RenderableType:
    """What would be late, one a line, and who takes part with which hooks."""
    lines: list[RenderableType] = [_late_line(one) for one in mappings(seen.get("late"))]
    within = f"{number(seen.get('within')):g} s"
    levels = [one.get("level") for one in mappings(seen.get("late"))]
    late, doubts = levels.count("late"), levels.count("doubt")
    head = f"{counted(late, 'thing')} would be late" if late else "nothing would be late"
    if doubts:
        head += f" as things stand, and {counted(doubts, 'thing')} may be"
    lines.append(Text(f"{head}, if {visible(name, 500)} were drained now within {within}"))
    if seen.get("left_out"):
        lines.append(Text(f"{whole(seen['left_out'])} more are not shown"))
    lines += _taking_part(mappings(seen.get("hooks")))
    return Group(*lines)


def drain_view(path: str, seen: Mapping[str, Any]) -> RenderableType:
    """How far a drain is: what is left to be done, each on a line."""
    lines = [Text(f"{visible(path, 500)} drains: {visible(str(seen.get('reason')), 500)}", style="bold")]
    lines += [Text(f"  {title:<10}{text}") for title, text in _left_to_do(seen)]
    lines += [Text(f"  {visible(str(one), 2_000)}", style="red") for one in items(seen.get("late"))]
    return Group(*lines)


def drain_line(path: str, seen: Mapping[str, Any]) -> str:
    """The same as a line of a log."""
    return f"{visible(path, 500)}: " + ", ".join(f"{title} {text}" for title, text in _left_to_do(seen))


def ended_view(path: str, seen: Mapping[str, Any]) -> RenderableType:
    """How a drain has ended: how long it took, and who has overrun it, with where it was and what it had."""
    name, took = visible(path, 500), f"{in_seconds(number(seen.get('since')))}"
    lines: list[RenderableType] = [
        hanging(Text(f"{title}  ", style="red"), visible(str(one), 2_000))
        for title, key in (("late", "late"), ("left", "undone"))
        for one in items(seen.get(key))
    ]
    if not seen:
        lines.append(Text(f"{name} has ended, and has not told how"))
    elif seen.get("phase") != "exit":
        lines.append(Text(f"{name} has been seen last in {visible(str(seen.get('phase')), 40)}, after {took}"))
    elif not is_clean(seen):
        lines.append(Text(f"{name} has stopped after {took}, and something was left undone"))
    else:
        overrun = ", with some late, who have given back what they had" if lines else ""
        lines.append(Text(f"{name} has drained and stopped in {took}{overrun}"))
    return Group(*lines)


def is_clean(seen: Mapping[str, Any]) -> bool:
    """Whether it was seen to end, with nothing left undone. Who is late and gives back what it has leaves nothing.

    A program that has gone without a word was killed, and nobody knows what it has left.
    """
    return seen.get("phase") == "exit" and not items(seen.get("undone"))


def _left_to_do(seen: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    left = f", {duration(number(seen.get('left')))} left" if seen.get("left") is not None else ""
    yield "phase", f"{visible(str(seen.get('phase')), 40)}{left}"
    yield "in flight", str(whole(seen.get("in_flight")))
    yield "queue", counted(whole(seen.get("queue")), "message")
    yield "resources", f"{whole(seen.get('resources'))} open"
    waits = [_waited(one) for one in mappings(seen.get("waits_for"))]
    if waits:
        yield "waits for", ", ".join(waits[:FEW]) + (f" and {len(waits) - FEW} more" if len(waits) > FEW else "")


def _waited(one: Mapping[str, Any]) -> str:
    """Who is not done, and what it has."""
    names = ", ".join(visible(str(name), 80) for name in items(one.get("names")))
    what = f"{whole(one.get('count'))} in flight" if one.get("count") else visible(str(one.get("why")), 80)
    return f"{visible(str(one.get('path')), 200)} ({what}{f': {names}' if names else ''})"


ROLLS = {"rolling": "yellow", "stopping": "yellow", "done": "green", "stopped": "red"}


def roll_view(seen: Mapping[str, Any]) -> RenderableType:
    """How far a roll is: its numbers, what it has at hand, and why it was stopped."""
    state = str(seen.get("state"))
    line = Text(visible(state, 20), style=ROLLS.get(state, ""))
    numbers = f"{whole(seen.get('done'))} of {counted(whole(seen.get('units')), 'child')} started again"
    line.append(f"  {visible(str(seen.get('path')), 500)}: {numbers}", style="default")
    lines = [line]
    for one in mappings(seen.get("active")):
        since = duration(number(one.get("since")))
        lines.append(
            Text(f"  {visible(str(one.get('path')), 500)} is {visible(str(one.get('state')), 20)}, for {since}")
        )
    down = seen.get("down")
    if isinstance(down, list) and down:
        lines.append(Text(f"  without service by themselves: {', '.join(visible(str(one), 200) for one in down)}"))
    if seen.get("why") is not None:
        lines.append(Text(f"  {visible(str(seen['why']), 2_000)}"))
    return Group(*lines)


def steps_since(seen: Mapping[str, Any], told: int) -> list[str]:
    """What has happened after so many steps, as far as it was kept."""
    steps, count = seen.get("steps"), whole(seen.get("step_count"))
    new = count - told
    if not isinstance(steps, list) or new <= 0:
        return []
    lost = [f"… {new - len(steps)} more"] if new > len(steps) else []
    return lost + [visible(str(step), 2_000) for step in steps[-new:]]


def _taking_part(hooks: list[Mapping[str, Any]]) -> Iterator[Text]:
    """Who has which hooks: a line for each kind, with the first few of them."""
    kinds: dict[str, list[str]] = {}
    for one in hooks:
        kinds.setdefault(visible(str(one.get("hooks")), 80), []).append(visible(str(one.get("path")), 500))
    for words, paths in kinds.items():
        more = f" and {len(paths) - FEW} more" if len(paths) > FEW else ""
        yield Text(f"with {words}: {', '.join(paths[:FEW])}{more}")


def _late_line(one: Mapping[str, Any]) -> RenderableType:
    level = str(one.get("level"))
    mark = Text(f"{visible(level, 20):<6}", style=STYLES.get(level, ""))
    return hanging(mark, f"{visible(str(one.get('path')), 500)}: {visible(str(one.get('text')), 2_000)}")
