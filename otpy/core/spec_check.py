"""Looking child specs over before anything starts: an error names the child's path, what was found and the mend."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, get_args

from otpy.core.backoff import Backoff
from otpy.core.intensity import Limit
from otpy.core.number import is_number
from otpy.core.spec import BRUTAL_KILL, DEFAULT, ChildSpec, OnStuck, Overflow, Place
from otpy.core.strategy import Restart
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_repr, safe_str
from otpy.errors import SpecError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from otpy.core.spec import Options
    from otpy.core.strategy import AutoShutdown

__all__ = ["check_spec", "check_specs"]

_CHOICES: Final = {
    "restart": get_args(Restart),
    "place": (*get_args(Place), None),
    "overflow": get_args(Overflow),
    "on_stuck": (*get_args(OnStuck), None),
}

LEAST_MEMORY: Final = 64 * 1024 * 1024
"""Bytes that a child with otpy's own modules holds, twice over."""
MOST_CPU: Final = 2.0**31
NICEST: Final = 19


def check_specs(
    path: str, specs: object, *, auto_shutdown: AutoShutdown = "never", taken: Iterable[str] = ()
) -> list[ChildSpec]:
    """All specs of one supervisor, checked before anything starts.

    Raises:
        SpecError: names the child's path, what was found and how to mend it.
    """
    if not isinstance(specs, list | tuple):
        found = type(specs).__name__
        raise SpecError(path, f"children() must return a list of child specs, got {found}; write [otpy.child(…), …]")
    seen = set(taken)
    for spec in specs:
        check_spec(path, spec, auto_shutdown=auto_shutdown)
        if spec.id in seen:
            raise SpecError(f"{path}/{safe_str(spec.id)}", "two children have this id; give one of them .opts(id=…)")
        seen.add(spec.id)
    return list(specs)


def check_spec(path: str, spec: object, *, auto_shutdown: AutoShutdown = "never") -> ChildSpec:
    """One spec, checked. Raises SpecError as `check_specs` does."""
    if not isinstance(spec, ChildSpec):
        raise SpecError(path, f"expected a child spec, got {_what(spec)}; write otpy.child(…)")
    if not isinstance(spec.id, str) or not spec.id or "/" in spec.id:
        raise SpecError(f"{path}/{safe_str(spec.id)}", "an id is a text without '/' (ids joined by '/' make the path)")
    if not callable(spec.start):
        mend = "give the class itself, with its init arguments after it"
        raise SpecError(
            f"{path}/{safe_str(spec.id)}",
            f"start must be an actor class or a function, got {_what(spec.start)}; {mend}",
        )
    if spec.name is not None and (not isinstance(spec.name, str) or not spec.name):
        raise SpecError(
            f"{path}/{safe_str(spec.id)}",
            f"name={safe_repr(spec.name)}: a text, or what otpy.name(Class, text) returns",
        )
    if spec.options is not DEFAULT:
        _check_options(f"{path}/{safe_str(spec.id)}", spec.options, auto_shutdown)
    return spec


def _what(value: object) -> str:
    """What was found where something else belongs."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    word = type(value).__name__
    return f"{'an' if word[0] in 'aeiouAEIOU' else 'a'} {word}"


def _check_options(where: str, options: Options, auto_shutdown: AutoShutdown) -> None:
    for option, choices in _CHOICES.items():
        value = getattr(options, option)
        if value not in choices:
            words = [choice for choice in choices if choice is not None]
            raise SpecError(where, f"{option}={safe_repr(value)}: {did_you_mean(safe_str(value), words)}")
    _check_loop(where, options)
    _check_times(where, options)
    _check_queue(where, options)
    _check_limits(where, options)
    _check_gentle(where, options)
    if not isinstance(options.significant, bool):
        raise SpecError(where, f"significant={safe_repr(options.significant)}: True or False")
    if options.significant and (options.restart == "permanent" or auto_shutdown == "never"):
        mend = "a significant child is transient or temporary, under a supervisor whose auto_shutdown is not 'never'"
        raise SpecError(where, f"significant=True with restart={safe_repr(options.restart)}, {auto_shutdown=}: {mend}")


def _check_loop(where: str, options: Options) -> None:
    name = options.loop
    if name is not None and not (isinstance(name, str) and name.isprintable() and name.strip()):
        raise SpecError(where, f"loop={safe_repr(name)}: a name for an event loop, or None for the system's first one")


def _check_times(where: str, options: Options) -> None:
    shutdown, timeout = options.shutdown, options.start_timeout
    if shutdown is not None and shutdown != BRUTAL_KILL and not (is_number(shutdown) and shutdown >= 0):
        raise SpecError(where, f"shutdown={safe_repr(shutdown)}: seconds >= 0, otpy.INFINITY or otpy.BRUTAL_KILL")
    if timeout is not None and not (is_number(timeout) and 0 < timeout < math.inf):
        raise SpecError(where, f"start_timeout={safe_repr(timeout)}: seconds > 0, or None to wait for ever")
    silence = options.silence
    if silence is not None and not (is_number(silence) and 0 < silence < math.inf):
        raise SpecError(where, f"silence={safe_repr(silence)}: seconds > 0, or None to report it and no more")
    if options.on_stuck is not None and options.restart == "temporary":
        raise SpecError(where, "on_stuck with restart='temporary': it is never started again")


def _check_queue(where: str, options: Options) -> None:
    limit = options.max_queue
    if limit is not None and not (type(limit) is int and limit > 0):
        raise SpecError(where, f"max_queue={safe_repr(limit)}: a whole number > 0, or None for no limit")
    if limit is None and options.overflow != "drop_new":
        raise SpecError(
            where, f"overflow={safe_repr(options.overflow)} without max_queue: without limit it never overflows"
        )


def _check_limits(where: str, options: Options) -> None:
    memory, cpu, nice = options.max_memory_bytes, options.max_cpu, options.nice
    if memory is not None and not (type(memory) is int and memory >= LEAST_MEMORY):
        least = f"a whole number of bytes >= {LEAST_MEMORY} (a Python process needs that much), or None for no limit"
        raise SpecError(where, f"max_memory_bytes={safe_repr(memory)}: {least}")
    if cpu is not None and not (is_number(cpu) and 0 < cpu < MOST_CPU):
        raise SpecError(where, f"max_cpu={safe_repr(cpu)}: seconds > 0, or None for no limit")
    if nice is not None and not (type(nice) is int and 1 <= nice <= NICEST):
        raise SpecError(where, f"nice={safe_repr(nice)}: a whole number from 1 to {NICEST}, or None")


def _check_gentle(where: str, options: Options) -> None:
    for option, kind in (("backoff", Backoff), ("limit", Limit)):
        value = getattr(options, option)
        if value is None:
            continue
        problem = value.problem() if isinstance(value, kind) else f"{safe_repr(value)}: otpy.{kind.__name__}(…) or None"
        if problem is not None:
            raise SpecError(where, f"{option}: {problem}")
        if options.restart == "temporary":
            raise SpecError(where, f"{option} with restart='temporary': it is never started again")
