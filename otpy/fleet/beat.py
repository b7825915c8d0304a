"""`Beat`: what an agent says of itself every so often; read warily, for it comes from afar."""

from __future__ import annotations

import math
from dataclasses import field, fields
from typing import Any, Literal, get_args

from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.core.value import value
from otpy.fleet.errors import BeatError

__all__ = [
    "MAX_WHY",
    "Beat",
    "BeatState",
    "check_figures",
    "check_labels",
    "check_name",
    "check_numbers",
    "check_rest",
    "fields_of",
]

BeatState = Literal["normal", "degraded", "draining", "gone"]
STATES = frozenset(get_args(BeatState))

MAX_NAME = 200
"""Characters of an agent's name, of an incarnation, and of a label's value."""
MAX_LABELS, MAX_LABEL = 16, 60
"""How many labels an agent may have, and characters of the name of one, or of a figure."""
MAX_FIGURES = 32
LARGE = 1 << 63
WHOLE = "a whole number"
MAX_WHY = 200
"""Characters that are kept of why; a longer one is cut."""


@value(kw_only=True)
class Beat:
    """A heartbeat: what `Heartbeat` hands to the function that sends it. `plain()` is for the wire."""

    agent: str
    """Who it is; one name in the whole fleet, and the same after a restart."""
    labels: dict[str, str] = field(default_factory=dict)
    """What it belongs to: `{"region": "eu", "version": "7"}`."""
    state: BeatState = "normal"
    """What it says of itself; `gone` is its goodbye."""
    why: str | None = None
    """Why that is so."""
    figures: dict[str, float] = field(default_factory=dict)
    """Some numbers, as of what waits in its outbox."""
    incarnation: str | None = None
    """Another text in each of its lives."""
    sequence: int | None = None
    """Grows with each beat of one incarnation; so a beat that is late is known as such."""
    period: float | None = None
    """Seconds from one beat to the next, on the average: by this it is missed."""
    at: int | None = None
    """When it was made: milliseconds since 1970 on the agent's clock, which may be wrong."""
    started: int | None = None
    """When this incarnation began, as `at`."""

    def plain(self) -> dict[str, object]:
        """It as plain data, for JSON or msgpack; what has its default is left out."""
        given = {name: getattr(self, name) for name in FIELDS}
        return {name: one for name, one in given.items() if one not in (None, {}, "normal") or name == "agent"}

    @classmethod
    def read(cls, plain: object) -> Beat:
        """What `plain` made; fields that this otpy does not know are passed over. Raises BeatError."""
        if not isinstance(plain, dict):
            raise BeatError(f"a heartbeat is a map, got {safe_repr(plain)}")
        given: dict[str, Any] = {name: plain[name] for name in FIELDS if plain.get(name) is not None}
        given.setdefault("agent", None)
        beat = cls(**given)
        check_name(beat.agent)
        check_labels(beat.labels)
        check_figures(beat.figures)
        check_rest(beat.state, beat.why, beat.incarnation, beat.sequence, beat.period, beat.at, beat.started)
        return beat


FIELDS = tuple(each.name for each in fields(Beat))


def fields_of(one: object) -> tuple[object, ...]:
    """What a beat, or a plain one, says, in the order of `FleetView.beat`; nothing is looked over yet.

    Raises BeatError for what has no fields.
    """
    if isinstance(one, dict):
        get = one.get
        said = tuple([get(name) for name in FIELDS])
    elif isinstance(one, Beat):
        said = tuple([getattr(one, name) for name in FIELDS])
    else:
        raise BeatError(f"a heartbeat is a map, or a Beat, got {safe_repr(one)}")
    return (*said[:2], "normal" if said[2] is None else said[2], *said[3:])


def check_name(name: object) -> None:
    """Raise BeatError for what is no agent's name."""
    if not _is_text(name, MAX_NAME) or not name:
        raise BeatError(f"agent={safe_repr(name)}: a text of up to {MAX_NAME} characters")


def check_labels(labels: object) -> None:
    """Raise BeatError for what are no labels."""
    if not isinstance(labels, dict) or len(labels) > MAX_LABELS:
        raise BeatError(f"labels={safe_repr(labels)}: a map of up to {MAX_LABELS} texts")
    for name, one in labels.items():
        if not (_is_text(name, MAX_LABEL) and name and _is_text(one, MAX_NAME)):
            wanted = f"up to {MAX_LABEL} characters, and its value up to {MAX_NAME}"
            raise BeatError(f"label {safe_repr(name)}={safe_repr(one)}: a text of {wanted}")


def check_figures(figures: object) -> None:
    """Raise BeatError for what are no figures."""
    if not isinstance(figures, dict) or len(figures) > MAX_FIGURES:
        raise BeatError(f"figures={safe_repr(figures)}: a map of up to {MAX_FIGURES} numbers")
    for name in figures:
        if not _is_text(name, MAX_LABEL):
            raise BeatError(f"figure {safe_repr(name)}: a text of up to {MAX_LABEL} characters")
    check_numbers(figures)


def check_numbers(figures: dict[str, float]) -> None:
    """Raise BeatError for figures that are no finite numbers."""
    for name, one in figures.items():
        is_float, is_int = one.__class__ is float, one.__class__ is int
        if not (is_float and one - one == 0) and not (is_int and -LARGE < one < LARGE):
            raise BeatError(f"figure {safe_repr(name)}={safe_repr(one)}: a finite number")


def check_rest(
    state: object, why: object, incarnation: object, sequence: object, period: object, at: object, started: object
) -> None:
    """Raise BeatError for any of them that a beat cannot have; None is none. Written out, for each beat comes by."""
    if state.__class__ is not str or state not in STATES:
        raise BeatError(f"state={safe_repr(state)}: {', '.join(sorted(STATES))}")
    if why is not None and why.__class__ is not str:
        raise BeatError(f"why={safe_repr(why)}: a text")
    if incarnation is not None and (incarnation.__class__ is not str or not 0 < len(incarnation) <= MAX_NAME):
        raise BeatError(f"incarnation={safe_repr(incarnation)}: a text of up to {MAX_NAME} characters")
    if not (period is None or (period.__class__ is float and 0 < period < math.inf) or _is_seconds(period)):
        raise BeatError(f"period={safe_repr(period)}: seconds > 0")
    if sequence is not None and not (sequence.__class__ is int and -LARGE < sequence < LARGE):
        raise BeatError(f"sequence={safe_repr(sequence)}: {WHOLE}")
    if at is not None and not (at.__class__ is int and -LARGE < at < LARGE):
        raise BeatError(f"at={safe_repr(at)}: {WHOLE}")
    if started is not None and not (started.__class__ is int and -LARGE < started < LARGE):
        raise BeatError(f"started={safe_repr(started)}: {WHOLE}")


def _is_text(text: object, most: int) -> bool:
    return text.__class__ is str and len(text) <= most


def _is_seconds(period: object) -> bool:
    return is_number(period) and 0 < period < math.inf
