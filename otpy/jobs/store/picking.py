"""Which of the jobs that are ready are given: priority first, then turn by turn among tenants, within all limits.

Pure; each store shows its candidates, and takes what is picked in the same transaction. So limits are exact: nothing is
claimed beside them and given back.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otpy.jobs.model.claim import Ask

__all__ = ["ReadyJob", "pick", "tenant_room"]


@dataclass(frozen=True, slots=True)
class ReadyJob:
    """As much of a job as decides whether it is given."""

    id: int
    kind: str
    tenant: str
    priority: int


def pick(ask: Ask, candidates: Iterable[ReadyJob]) -> list[ReadyJob]:
    """Those that are given, at most one for each owner.

    Args:
        ask: says the limits, and who had the last turn.
        candidates: in the order of their priority, then of time.
    """
    picked: list[ReadyJob] = []
    kinds: Counter[str] = Counter()
    tenants: Counter[str] = Counter()
    for one in _in_turns(candidates, ask):
        if len(picked) == len(ask.owners):
            break
        if _has_room(ask.kind_rooms.get(one.kind), kinds[one.kind]) and _has_room(
            tenant_room(ask, one.tenant), tenants[one.tenant]
        ):
            picked.append(one)
            kinds[one.kind] += 1
            tenants[one.tenant] += 1
    return picked


def tenant_room(ask: Ask, tenant: str) -> int | None:
    """How many more jobs of a tenant may run; None means any number. Those of nobody are not counted."""
    if ask.tenant_limit is None or not tenant:
        return None
    return ask.tenant_limit - ask.tenant_counts.get(tenant, 0)


def _has_room(room: int | None, taken: int) -> bool:
    return room is None or taken < room


def _in_turns(candidates: Iterable[ReadyJob], ask: Ask) -> Iterator[ReadyJob]:
    """Within one priority each tenant has its turn, beginning behind the one that had the last, if that had all."""
    after, unspent = ask.turns.get(ask.queue, ""), ask.unspent
    for _, alike in groupby(candidates, key=lambda one: one.priority):
        lines: dict[str, deque[ReadyJob]] = {}
        for one in alike:
            lines.setdefault(one.tenant, deque()).append(one)
        if after in lines:
            yield from _some(lines[after], unspent)
            unspent = 0
        order = sorted(lines, key=lambda tenant: (tenant <= after, tenant))
        while any(lines.values()):
            for tenant in order:
                yield from _some(lines[tenant], ask.weights.get(tenant, 1))


def _some(line: deque[ReadyJob], number: int) -> Iterator[ReadyJob]:
    for _ in range(min(number, len(line))):
        yield line.popleft()
