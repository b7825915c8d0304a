"""I8: who leads, and who holds a name; and what they write."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from .steps import id_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .steps import History, Known, Step

__all__ = ["UNDER", "led_by_one"]

LEADER = "jobs"
"""The name that the leader of an engine holds."""
UNDER = "under "
"""With what the tenant of a job begins that is written under the epoch of a name: the name and the epoch follow."""


def led_by_one(steps: History, _: Known) -> Iterator[str]:
    """I8: of two leaders the second is elected when the first one's time is over, and the first writes nothing then.

    So with any other name that one program of all holds.
    """
    terms: defaultdict[str, Term] = defaultdict(Term)
    hosts = Hosts()
    for step in steps:
        if step.what in ("term", "beat") and step.new is not None:
            yield from terms[step.new["name"]].see(step, step.new)
        hosts.see(step)
        epoch = terms[LEADER].epoch
        if _is_leaders(step, hosts) and (step.epoch != epoch or _pid(step.leader) != step.pid):
            yield f"I8: {step.who} wrote as a leader while {step.leader} led with epoch {epoch}: {_told(step)}"
        elif step.is_claim and hosts.are_told and not hosts.has(step):
            yield f"I8: {step.who} was given job {id_of(step)}, and is no living host"
        if step.what == "job" and step.was is None and step.new and step.new["tenant"].startswith(UNDER):
            name, written = step.new["tenant"].removeprefix(UNDER).rsplit(" ", 1)
            if int(written) != terms[name].epoch or _pid(terms[name].owner) != step.pid:
                yield f"I8: {step.who} wrote under epoch {written} of {name}, which has {terms[name].epoch}"


class Term:
    """Who holds a name."""

    def __init__(self) -> None:
        self.epoch, self.owner, self.until = 0, "", 0

    def see(self, step: Step, new: dict[str, Any]) -> Iterator[str]:
        """What this changes of it."""
        epoch = new.get("epoch", 0)
        if step.what == "term" and epoch != (step.old or {}).get("epoch", 0):
            if epoch != self.epoch + 1:
                yield f"I8: epoch {epoch} after {self.epoch} of {new['name']}"
            if self.until > step.at and self.owner != new["owner"]:
                yield f"I8: epoch {epoch} of {new['name']} was elected while {self.epoch} had {self.until - step.at} ms"
            self.epoch, self.owner = epoch, new["owner"]
        self.until = new.get("expires_at", self.until)


class Hosts:
    """Programs that may be given jobs, where all of them may."""

    def __init__(self) -> None:
        self.until: dict[str, int] = {}
        self.claimed: dict[int, str] = {}

    @property
    def are_told(self) -> bool:
        """Whether the store knows of any; where it does not, the leader alone has agents."""
        return bool(self.until)

    def see(self, step: Step) -> None:
        """What this changes of them."""
        if step.what == "host":
            row = step.new or {**(step.old or {}), "until": 0}
            self.until[_pid(f"{row['name']}:")] = row["until"]
        elif step.is_claim:
            self.claimed[id_of(step)] = step.pid

    def has(self, step: Step) -> bool:
        """Whether the program of this step is one that lives."""
        return self.until.get(step.pid, 0) > step.began


def _is_leaders(step: Step, hosts: Hosts) -> bool:
    """Whether it is something that leaders do."""
    match step.what:
        case "schedule":
            return bool(step.old and step.new and step.old["fired_at"] != step.new["fired_at"])
        case "job" if step.is_claim:
            return not hosts.are_told
        case "job" if step.is_end:
            return step.pid != hosts.claimed.get(id_of(step))
        case _:
            return step.what == "job" and step.moves("scheduled", "ready")


def _pid(owner: str) -> str:
    return owner.split(":")[-2] if ":" in owner else ""


def _told(step: Step) -> str:
    return f"{step.what} {(step.new or step.old or {}).get('id')}, {step.was if step.what == 'job' else ''} -> " + (
        str(step.state) if step.what == "job" else ""
    )
