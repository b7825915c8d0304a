"""What `otpy jobs` shows: pure functions from what a program said to rich. Nothing of it is trusted."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from otpy.cli.columns import GAP, Layout, Line, Ragged, rows
from otpy.cli.formats import counted, duration
from otpy.cli.warily import items, mapping, mappings, shown
from otpy.core.text import visible, visible_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

__all__ = ["crews_view", "job_view", "jobs_view", "overview_view", "replayed_view", "schedules_view"]

STATES = ("ready", "running", "scheduled", "done", "dead", "cancelled", "replayed")
STYLES = {"running": "green", "dead": "red", "scheduled": "cyan"}
QUEUES = Layout((*STATES, "oldest", "note"), ("replayed", "cancelled", "done", "scheduled"), least_name=16)
CREWS = Layout(("place", "agents", "note"))
JOBS = Layout(("state", "kind", "queue", "attempt", "when", "note"), ("queue", "attempt"))
SCHEDULES = Layout(("times", "kind", "next", "note"), ("kind",))

SAID = {
    "missing": "there is none, or it is forgotten",
    "not_dead": "it was not given up",
    "replayed": "it was replayed before; --force does it again",
    "taken": "job {new} has its unique key now",
}
"""Why a job was not replayed."""


def overview_view(seen: Mapping[str, Any], width: int) -> RenderableType:
    """Queues, one a line, and the crews of this program."""
    queues = mappings(seen.get("queues"))
    parts: list[RenderableType] = []
    if queues:
        columns = tuple(one for one in STATES if any(_numbers(queue).get(one) for queue in queues))
        head = Line("queue", {one: one for one in (*columns, "oldest")}, style="bold")
        parts.append(rows([head, *(_queue(queue, columns) for queue in queues)], width, QUEUES))
    else:
        parts.append(Text("no job was ever enqueued"))
    is_working = seen.get("is_working", seen.get("is_leading"))
    if not is_working:
        parts.append(Text("another program has the lead, or nobody yet: none of these jobs is done in this one"))
    if items(seen.get("crews")) and is_working:
        parts += [Text(""), crews_view(seen.get("crews"), width)]
    return Group(*_store(seen.get("store")), *_server(seen.get("server")), *parts)


def crews_view(seen: object, width: int) -> RenderableType:
    """Crews, one a line: how many agents are there of those that there should be."""
    crews = mappings(seen)
    head = Line("crew", {"place": "place", "agents": "agents"}, style="bold")
    return rows([head, *map(_crew, crews)], width, CREWS)


def jobs_view(seen: object, width: int, *, limit: int | None = None) -> RenderableType:
    """Jobs, one a line; a full page says how to get the next one."""
    found = mappings(seen)
    if not found:
        return Text("no such job")
    parts: list[RenderableType] = [rows([_job(one) for one in found], width, JOBS)]
    if limit is not None and len(found) >= limit:
        parts.append(Text(f"perhaps more: --before {visible(str(found[-1].get('id')), 20)}", style="dim"))
    return Group(*parts)


def job_view(seen: Mapping[str, Any]) -> RenderableType:
    """All of one job."""
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in _facts(seen):
        table.add_row(Text(name, style="bold"), Text(value))
    attempts = mappings(seen.get("attempts"))
    if not attempts:
        return Ragged(table)
    before = [Text(_earlier(one), style="dim") for one in mappings(seen.get("earlier"))]
    lines = [Text("attempts that failed", style="bold"), *before, *map(_attempt, attempts)]
    trace = visible_lines(str(attempts[-1].get("trace") or ""), 4_000)
    if trace:
        lines += [Text(""), Text("where the last of them was raised", style="bold"), Text(indent(trace, "  "))]
    return Group(Ragged(table), Text(""), *lines)


def schedules_view(seen: object, width: int) -> RenderableType:
    """Schedules, one a line."""
    found = mappings(seen)
    return rows([_schedule(one) for one in found], width, SCHEDULES) if found else Text("no schedule is declared")


def replayed_view(seen: object, *, is_dry: bool) -> RenderableType:
    """What became of each."""
    found = mappings(seen)
    if not found:
        return Text("no dead job fits")
    lines = [Text(_replayed(one, is_dry=is_dry)) for one in found]
    made = counted(sum(one.get("how") == "new" for one in found), "job")
    return Group(*lines, Text(f"{made} would be replayed" if is_dry else f"{made} replayed", style="bold"))


def _queue(queue: Mapping[str, Any], columns: Sequence[str]) -> Line:
    numbers = _numbers(queue)
    cells = {one: f"{numbers.get(one, 0):,}".replace(",", " ") for one in columns}
    oldest, paused = _seconds(queue.get("oldest")), _seconds(queue.get("paused"))
    cells["oldest"] = "" if oldest is None else duration(oldest)
    lost = queue.get("unroutable")
    notes = [] if paused is None else [f"paused {duration(paused)}"]
    cells["note"] = "  ".join([*notes, f"no agent can take {counted(lost, 'job')}"] if isinstance(lost, int) else notes)
    styles = {"note": "yellow"} | ({"dead": "red"} if numbers.get("dead") else {})
    return Line(shown(queue.get("name"), 60) or "?", cells, styles=styles)


def _crew(crew: Mapping[str, Any]) -> Line:
    ready, desired = crew.get("ready"), crew.get("desired")
    text = f"{shown(ready, 20)} of {shown(desired, 20)}"
    is_short = isinstance(ready, int) and isinstance(desired, int) and ready < desired
    cells = {"place": shown(crew.get("place"), 20), "agents": text, "note": shown(crew.get("problem"), 200)}
    return Line(shown(crew.get("name"), 60) or "?", cells, styles={"agents": "yellow"} if is_short else {})


def _job(job: Mapping[str, Any]) -> Line:
    state = shown(job.get("state"), 20)
    cells = {
        "state": state,
        "kind": shown(job.get("kind"), 60),
        "queue": shown(job.get("queue"), 30),
        "attempt": f"attempt {shown(job.get('attempt'), 20)}" if job.get("attempt") else "",
        "when": _when(job),
        "note": _note(job),
    }
    return Line(shown(job.get("id"), 20), cells, styles={"state": STYLES.get(state, "")})


def _schedule(one: Mapping[str, Any]) -> Line:
    next_at = _seconds(one.get("next_at"))
    cells = {
        "times": f"{shown(one.get('expr'), 80)} {shown(one.get('tz'), 40)}",
        "kind": shown(one.get("kind"), 60),
        "next": "" if next_at is None else f"in {duration(max(0.0, next_at))}",
        "note": "paused" if one.get("paused") is True else shown(one.get("problem"), 200),
    }
    return Line(shown(one.get("id"), 60) or "?", cells, styles={"note": "yellow"})


def _when(job: Mapping[str, Any]) -> str:
    match job.get("state"):
        case "scheduled":
            run_at = _seconds(job.get("run_at"))
            return "" if run_at is None else f"in {duration(max(0.0, run_at))}"
        case "ready" | "running":
            created = _seconds(job.get("created_at"))
            return "" if created is None else f"enqueued {_ago(created)}"
    finished = _seconds(job.get("finished_at"))
    return "" if finished is None else _ago(finished)


def _note(job: Mapping[str, Any]) -> str:
    if job.get("owner"):
        return f"at {shown(job['owner'], 80)}"
    old = job.get("replay_of")
    return "  ".join(
        part for part in (shown(job.get("reason"), 80), f"replay of {shown(old, 20)}" if old else "") if part
    )


def _facts(job: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "job", shown(job.get("id"), 20)
    yield "kind", shown(job.get("kind"), 200)
    yield "queue", shown(job.get("queue"), 200)
    state, reason = shown(job.get("state"), 20), shown(job.get("reason"), 500)
    yield "state", f"{state}: {reason}" if reason else state
    if job.get("owner"):
        yield "agent", shown(job["owner"], 200)
    for name in ("run_at", "created_at", "finished_at", "lease_until", "deadline_at", "start_by"):
        at = _seconds(job.get(name))
        if at is not None:
            yield name.removesuffix("_at").replace("_", " "), _ago(at) if at <= 0 else f"in {duration(at)}"
    yield "attempts", _spent(job)
    timeout = _seconds(job.get("timeout"))
    yield "timeout", "none" if timeout is None else duration(timeout)
    for name in ("priority", "tenant", "version", "needs", "key", "unique_key", "replay_of", "progress", "result"):
        if job.get(name) not in (None, "", 0):
            yield name.replace("_", " "), shown(job[name], 500)
    arguments = [shown(one, 500) for one in items(job.get("arguments"))]
    yield "arguments", "\n".join(arguments) or "none"


def _spent(job: Mapping[str, Any]) -> str:
    begun, errors, most, crashes, costly = (
        shown(job.get(word), 20) for word in ("attempt", "errors", "max_errors", "crashes", "max_crashes")
    )
    if job.get("early_ack") is True:
        return f"{begun} begun; done before it runs (early_ack), so once at most"
    return f"{begun} begun; {errors} of {most} failed, {crashes} of {costly} crashed"


def _attempt(one: Mapping[str, Any]) -> Text:
    at = _seconds(one.get("at"))
    head = f"  {shown(one.get('number'), 20)}  {shown(one.get('failure'), 20)}  {'' if at is None else _ago(at)}  "
    return Text(head + shown(one.get("text"), 2_000))


def _store(seen: object) -> Iterator[Text]:
    """What is to be said of the store, if anything is."""
    store = mapping(seen)
    stale = store.get("stale")
    if store.get("problem"):
        since = _seconds(store.get("since")) or 0.0
        path, problem = shown(store.get("path"), 200), shown(store.get("problem"), 300)
        tries = store.get("tries")
        tried = f", in {counted(tries, 'try')}" if isinstance(tries, int) and tries > 1 else ""
        yield Text(f"nothing is kept, for {duration(max(0.0, since))} now{tried}: {path}: {problem}", style="red")
    if isinstance(stale, int) and stale > 0:
        yield Text(f"{counted(stale, 'late word')} of attempts that were over refused since the start", style="dim")


def _server(seen: object) -> Iterator[Text]:
    """What is to be said of its server, if anything is: who it is, the doctor tells."""
    server = mapping(seen)
    if server.get("is_held_up") is True:
        oldest = _seconds(server.get("oldest"))
        age = "" if oldest is None else f", where a transaction has been open for {duration(max(0.0, oldest))}"
        yield Text(f"the server is held up{age}: otpy doctor says by whom", style="yellow")


def _earlier(one: Mapping[str, Any]) -> str:
    first, last = _seconds(one.get("first_at")), _seconds(one.get("last_at"))
    when = "" if first is None or last is None else f", from {_ago(first)} to {_ago(last)}"
    return f"  {shown(one.get('number'), 20)} more before: {shown(one.get('failure'), 20)}{when}"


def _replayed(one: Mapping[str, Any], *, is_dry: bool) -> str:
    old, new, how = (shown(one.get(word), 20) for word in ("id", "new", "how"))
    if how == "new":
        return f"{old}  in {shown(one.get('queue'), 60)}" if is_dry else f"{old} is job {new} now"
    return f"{old} is not replayed: {SAID.get(how, how).format(new=new)}"


def _ago(at: float) -> str:
    return f"{duration(max(0.0, -at))} ago"


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _numbers(queue: Mapping[str, Any]) -> dict[str, int]:
    found = queue.get("numbers")
    return {} if not isinstance(found, dict) else {str(k): v for k, v in found.items() if isinstance(v, int)}
