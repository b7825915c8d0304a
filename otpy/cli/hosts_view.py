"""What `otpy jobs hosts`, `activate` and `names` show: pure functions from what a program said, warily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from otpy.cli.columns import Layout, Line, rows
from otpy.cli.formats import counted, duration
from otpy.cli.warily import mapping, mappings, shown

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

__all__ = ["hosts_view", "names_view", "switched_view"]

HOSTS = Layout(("version", "agents", "beat", "labels", "note"), ("labels", "agents"), least_name=16)
NAMES = Layout(("host", "epoch", "since"))


def hosts_view(seen: object, width: int) -> RenderableType:
    """Programs, one a line."""
    said = mapping(seen)
    found = mappings(said.get("hosts"))
    active = shown(said.get("active"))
    if not found:
        return Text("no program is known: on a file they are not kept, and the one that leads does the jobs")
    head = Line(
        "host", {"version": "version", "agents": "agents", "beat": "heard of", "labels": "labels"}, style="bold"
    )
    parts: list[RenderableType] = [rows([head, *(_host(one, active) for one in found)], width, HOSTS)]
    if active:
        parts.append(Text(f"version {active} is active"))
    return Group(*parts)


def switched_view(seen: object) -> Text:
    """What is active now, and what was."""
    said = mapping(seen)
    now, before = shown(said.get("active")), shown(said.get("before"))
    active = f"version {now} is active" if now else "programs of any version are active"
    return Text(f"{active}; before, " + (f"version {before} was" if before else "those of any version were"))


def names_view(seen: object, width: int) -> RenderableType:
    """Names that programs share, one a line."""
    found = mappings(seen)
    return rows([_name(one) for one in found], width, NAMES) if found else Text("no name was ever held")


def _host(one: Mapping[str, Any], active: str) -> Line:
    agents, beat_at = one.get("agents"), one.get("beat_at")
    labels = one.get("labels")
    cells = {
        "version": shown(one.get("version")),
        "agents": counted(agents, "agent") if isinstance(agents, int) else "",
        "beat": _past(beat_at, "{} ago"),
        "labels": " ".join(map(shown, labels)) if isinstance(labels, list) else "",
        "note": ", ".join(_notes(one, active)),
    }
    return Line(shown(one.get("name")) or "?", cells, styles={"note": "green" if one.get("is_leading") else "yellow"})


def _name(one: Mapping[str, Any]) -> Line:
    is_held = one.get("is_held") is True
    since = one.get("since" if is_held else "until")
    cells = {
        "host": shown(one.get("host")) if is_held else "nobody",
        "epoch": f"epoch {shown(one.get('epoch'))}",
        "since": _past(since, "for {}"),
    }
    return Line(shown(one.get("name")) or "?", cells, styles={} if is_held else {"host": "yellow"})


def _notes(one: Mapping[str, Any], active: str) -> list[str]:
    if one.get("is_alive") is not True:
        return ["ended"]
    is_idle = bool(active) and shown(one.get("version")) != active
    notes = {
        "leads": one.get("is_leading") is True,
        "stands by": is_idle,
        "drains": one.get("draining_since") is not None,
    }
    return [note for note, holds in notes.items() if holds]


def _past(at: object, words: str) -> str:
    """How long ago that is, in these words; nothing for what is no time."""
    return words.format(duration(max(0.0, -at))) if isinstance(at, int | float) else ""
