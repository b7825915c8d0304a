"""What `otpy fleet` shows: pure functions from what a program said, read warily."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.text import Text

from otpy.cli.columns import Layout, Line, rows
from otpy.cli.formats import counted, duration
from otpy.cli.warily import mapping, mappings, shown
from otpy.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

__all__ = ["fleet_view"]

NUMBERS = ("alive", "silent", "dead", "never_seen", "draining", "degraded")
GROUPS = Layout((*NUMBERS, "share", "oldest"), ("oldest",), least_name=12)
AGENTS = Layout(("state", "heard", "labels", "why"), ("labels",), least_name=16)
STYLES = {"alive": "green", "silent": "yellow", "dead": "red", "never_seen": "red", "degraded": "yellow"}


def fleet_view(seen: object, width: int, *, by: str | None, wants_agents: bool = False) -> RenderableType:
    """The fleet, a group a line; what is the matter with the hub itself; then the agents, if some were asked for."""
    said = mapping(seen)
    look = mapping(said.get("look"))
    whole = _group(mapping(look.get("whole")), shown(said.get("fleet")) if by is None else "all")
    groups = [_group(one, shown(one.get("value"))) for one in mappings(said.get("groups"))]
    heads = Line(shown(by or "fleet"), {word: word.replace("_", " ") for word in NUMBERS}, style="bold")
    heads.cells["share"] = "share"
    if any(line.cells["oldest"] for line in (*groups, whole)):
        heads.cells["oldest"] = "longest silence"
    parts: list[RenderableType] = [rows([heads, *groups, whole], width, GROUPS)]
    parts += _notes(said, look, by)
    agents = mappings(said.get("agents"))
    if agents:
        parts += [Text(""), rows([_agent(one) for one in agents], width, AGENTS)]
    elif wants_agents:
        parts += [Text(""), Text("no agent is as asked for")]
    if said.get("has_more_agents") is True:
        parts.append(Text("and more: --limit shows them"))
    return Group(*parts)


def _group(one: Mapping[str, Any], name: str) -> Line:
    cells = {word: _number(one.get(word)) for word in NUMBERS}
    share, oldest, is_short = one.get("share"), one.get("oldest_silence"), one.get("is_short") is True
    cells["share"] = f"{share:.0%}" if isinstance(share, int | float) else ""
    cells["oldest"] = _time(oldest)
    styles = {
        word: STYLES[word] for word in ("silent", "dead", "never_seen", "degraded") if cells[word] not in {"", "0"}
    }
    return Line(name or "?", cells, styles=styles | ({"share": "red"} if is_short else {}))


def _agent(one: Mapping[str, Any]) -> Line:
    state, labels = shown(one.get("state")), mapping(one.get("labels"))
    heard = _time(one.get("heard"))
    cells = {
        "state": state.replace("_", " "),
        "heard": f"heard {heard} ago" if heard else "",
        "labels": " ".join(f"{shown(name)}={shown(value)}" for name, value in labels.items()),
        "why": "  ".join(_whys(one)),
    }
    return Line(shown(one.get("name")) or "?", cells, styles={"state": STYLES.get(state, "")})


def _whys(one: Mapping[str, Any]) -> list[str]:
    words = [visible(str(one["why"]), 200)] if one.get("why") else []
    for word, noun in (("restarts", "restart"), ("fenced", "fenced beat")):
        number = one.get(word)
        words += [counted(number, noun)] if isinstance(number, int) and number else []
    return words


def _notes(said: Mapping[str, Any], look: Mapping[str, Any], by: str | None) -> list[RenderableType]:
    """What else somebody should know, a line each."""
    left, grace, labels = said.get("groups_left_out"), look.get("grace"), look.get("labels")
    notes = []
    if isinstance(left, int) and left:
        notes.append(f"and {counted(left, 'other')} with a larger share")
    if look.get("is_deaf") is True:
        notes.append("the hub hears nobody at all: nobody is declared dead")
    if look.get("is_storm") is True:
        notes.append("a storm: more agents come than should")
    if isinstance(grace, int | float) and grace > 0:
        notes.append(f"no share is judged for {duration(grace)} yet: the hub has just begun, or come back")
    odd = [(word, look.get(word)) for word in ("fenced", "late", "malformed", "refused")]
    if any(isinstance(number, int) and number for _, number in odd):
        notes.append("beats passed over: " + ", ".join(f"{_number(number)} {word}" for word, number in odd if number))
    if by is None and isinstance(labels, list) and labels:
        notes.append(f"by label: --by {', '.join(map(shown, labels[:10]))}")
    return [Text(note) for note in notes]


def _number(value: object) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else ""


def _time(seconds: object) -> str:
    return duration(seconds) if isinstance(seconds, int | float) else ""
