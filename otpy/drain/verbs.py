"""What a program may be asked over its control socket: to drain, to rehearse it, to roll, and how far these are.

What few programs are ever asked is loaded when one is: it would cost each more at its start than all else here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from otpy.control.verbs import ASKER, register, seconds_of, text_of
from otpy.core.text import visible
from otpy.drain.begin import begin
from otpy.drain.course import budget_of
from otpy.drain.look import look_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.control.snapshot import Inspected
    from otpy.drain.course import Course
    from otpy.runtime.system import System

    Params = Mapping[str, object]

__all__ = ["drain", "drain_look", "rehearse_drain", "roll", "roll_look", "roll_stop"]

LAST = 5.0
"""Seconds beyond its time for which the end of a drain is waited for: what keeps a program from its end is slow."""


@register("drain", right="operate")
def drain(system: Inspected, params: Params) -> object:
    """Have the program, or the part at `path`, drain and stop `within` so many seconds; answered at once.

    With `wait` it is answered when all has stopped, or should have by then; with `release` false a part is not stopped,
    for whoever asks has it started again, and that is the end of its drain.
    """
    whole = cast("System", system)
    path = text_of(params, "path")
    within = seconds_of(params, "within", None) or budget_of(whole)
    reason = f"{visible(text_of(params, 'reason') or 'otpy drain', 200)} by {text_of(params, ASKER) or 'somebody'}"
    if path is None or path == system.name:
        system.request_stop(reason, within=within)
    has_release = params.get("release") is not False
    course = begin(whole, reason, within, path=path, has_release=has_release)
    if params.get("wait") is True and has_release:
        course.over.wait(course.remaining() + LAST)
    elif params.get("wait") is True:
        course.wait(within)
    return look_at(whole, course)


@register("drain_look", right="read", inline=True)
def drain_look(system: Inspected, params: Params) -> object:
    """How far the drain of the program, or of the part at `path`, is; `phase` is `running` when there is none."""
    whole = cast("System", system)
    path = text_of(params, "path")
    top = None if path is None or path == system.name else whole.find(path)
    if top is None and path not in {None, system.name}:
        raise whole.missing(str(path))
    course: Course | None = whole.drains.courses.get(top)
    return look_at(whole, course)


@register("rehearse_drain", right="read")
def rehearse_drain(system: Inspected, params: Params) -> object:
    """What would be late if the program, or the part below `path`, were drained `within` so many seconds."""
    from otpy.drain import rehearsal  # noqa: PLC0415 - as said above

    return rehearsal.rehearse_drain(system, params)


@register("roll", right="operate")
def roll(system: Inspected, params: Params) -> object:
    """Begin to start the children of `path` again, one after the other; answered at once."""
    from otpy.drain import roll_desk  # noqa: PLC0415 - as said above

    return roll_desk.roll(system, params)


@register("roll_look", right="read")
def roll_look(system: Inspected, params: Params) -> object:
    """How far the roll of `path` is, or how it ended; nothing when there was none."""
    from otpy.drain import roll_desk  # noqa: PLC0415 - as said above

    return roll_desk.roll_look(system, params)


@register("roll_stop", right="operate")
def roll_stop(system: Inspected, params: Params) -> object:
    """Have the roll of `path` begin nothing more."""
    from otpy.drain import roll_desk  # noqa: PLC0415 - as said above

    return roll_desk.roll_stop(system, params)
