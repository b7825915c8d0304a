"""`from_environment`: a script in `OTPY_FAULTS`, for programs that a test starts as processes."""

from __future__ import annotations

import logging
import os
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import otpy.testing.faults.kinds as known
from otpy.core.points import watches
from otpy.core.suggest import did_you_mean
from otpy.testing.errors import FaultError
from otpy.testing.faults.script import Script, arm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from otpy.testing.faults.kinds import Fault

__all__ = ["from_environment", "parse"]

VARIABLE = "OTPY_FAULTS"

_armed: dict[str, Script] = {}  # by what it was made of

FAULT = re.compile(r"(?P<name>\w+)(\((?P<args>[^()]*)\))?(?P<options>([@*%][\w.]+)*)")
OPTION = re.compile(r"([@*%])([\w.]+)")
PLAIN = ("cut", "disk_full", "drop", "fsync_error", "half", "hang", "kill", "kill_actor")
NAMES = {"raise": "raises"} | {name: name for name in (*PLAIN, "jump", "slow")}


def from_environment(environ: Mapping[str, str] | None = None) -> Script | None:
    """Arm what `OTPY_FAULTS` says, until the end of the program; nothing is armed unless a program calls this.

    Call it where the program starts, and only in one that is under test: whoever can set the variable can have it fail.
    A second call arms nothing more. That it is armed is logged as a warning by `otpy.faults`.

    Args:
        environ: where to look; `os.environ` unless given.

    Returns:
        The script that is armed now; None where the variable is not set, or empty.

    Raises:
        FaultError: it does not say what fires where.
    """
    text = (os.environ if environ is None else environ).get(VARIABLE, "").strip()
    if not text:
        return None
    script = _armed.get(text)
    if script in watches():
        return script
    script = _armed[text] = parse(text)
    arm(script)
    logging.getLogger("otpy.faults").warning("faults are armed by %s: %s", VARIABLE, text)
    return script


def parse(text: str) -> Script:
    """The script that a text is: `seed=7;record=/tmp/fired;sender.before=kill@3;NAME.reply=slow(0.5)%0.1*20`."""
    options: dict[str, Any] = {}
    rules: list[tuple[str, Fault, dict[str, Any]]] = []
    for part in filter(None, map(str.strip, text.split(";"))):
        word, is_said, said = (each.strip() for each in part.partition("="))
        if not is_said:
            raise FaultError(f"{VARIABLE}: {part!r}: POINT=FAULT, as in sender.before=kill@3")
        if word == "seed":
            options["seed"] = _number(part, said, int)
        elif word == "record":
            options["record"] = said
        else:
            rules.append((word, *_read(part, said)))
    script = Script(**options)
    for point, fault, how in rules:
        script.at(point, fault, **how)
    return script


def _read(part: str, said: str) -> tuple[Fault, dict[str, Any]]:
    found = FAULT.fullmatch(said)
    if found is None:
        raise FaultError(f"{VARIABLE}: {part!r}: FAULT, FAULT(ARGUMENT), then @FIRST, *TIMES, %CHANCE")
    how: dict[str, Any] = {}
    for sign, value in OPTION.findall(found["options"]):
        if sign == "@":
            how["after"] = _number(part, value, int) - 1
        elif sign == "%":
            how["chance"] = _number(part, value, float)
        else:
            how["times"] = None if value == "all" else _number(part, value, int)
    return _fault(part, found["name"], (found["args"] or "").strip()), how


def _fault(part: str, name: str, argument: str) -> Fault:
    made = getattr(known, NAMES.get(name, ""), None)
    if made is None:
        raise FaultError(f"{VARIABLE}: {part!r}: no fault {name!r}; {did_you_mean(name, NAMES)}")
    if name in ("slow", "jump"):
        fault: Fault = made(_number(part, argument, float))
    elif name == "raise":
        fault = made(_error(part, argument))
    elif argument:
        raise FaultError(f"{VARIABLE}: {part!r}: {name} has no argument")
    else:
        fault = made()
    return fault


def _error(part: str, name: str) -> Any:  # Any: the class of an error
    module, _, word = name.rpartition(".")
    try:
        error = getattr(import_module(module or "builtins"), word)
    except Exception as problem:  # noqa: BLE001 - importing runs whatever is there
        raise FaultError(f"{VARIABLE}: {part!r}: no error {name!r} ({problem})") from None
    if not isinstance(error, type) or not issubclass(error, BaseException):
        raise FaultError(f"{VARIABLE}: {part!r}: {name} is no error")
    try:
        error("a sentence")
    except Exception as problem:  # noqa: BLE001 - it would be raised in its place
        raise FaultError(f"{VARIABLE}: {part!r}: {name} takes more than a sentence ({problem})") from None
    return error


def _number(part: str, text: str, kind: Any) -> Any:  # Any: int or float
    try:
        return kind(text)
    except ValueError:
        raise FaultError(f"{VARIABLE}: {part!r}: {text!r} is no number") from None
