"""Faults that a variable of the environment says, for programs that a test starts."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from otpy.core.points import watches
from otpy.testing import faults
from otpy.testing.faults import FaultError, Script, armed
from otpy.testing.faults.environment import parse
from support import forked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("said", "options", "expected"),
    [
        ("p=raise(ValueError)@3", {}, [3]),
        ("p=raise(ValueError)@2*3", {}, [2, 3, 4]),
        ("seed=7; p=raise(builtins.ValueError)%0.2*all", {"seed": 7, "chance": 0.2, "times": None}, None),
    ],
)
def test_a_text_says_the_same_as_a_script(said: str, options: dict[str, int], expected: list[int] | None) -> None:
    def raised(script: Script) -> list[int]:
        found = []
        with armed(script):
            for number in range(1, 41):
                try:
                    faults.point("p")
                except ValueError:
                    found.append(number)
        return found

    if expected is None:
        script = Script(options.pop("seed"))
        expected = raised(script.at("p", faults.raises(ValueError), **options))
    assert raised(parse(said)) == expected


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ("p", "POINT=FAULT"),
        ("p=kil", "did you mean 'kill'"),
        ("p=kill(", "FAULT, FAULT"),
        ("p=kill(9)", "no argument"),
        ("p=slow(fast)", "no number"),
        ("p=kill@first", "no number"),
        ("p=raise(Oops)", "no error 'Oops'"),
        ("p=raise(os.path)", "is no error"),
        ("p=raise(.x.Y)", "no error '.x.Y'"),
        ("p=raise(UnicodeDecodeError)", "more than a sentence"),
        ("record=;p=kill", "record=''"),
        ("record=/no/such/folder/record;p=kill", "folder that is there"),
    ],
)
def test_a_text_that_says_nothing_is_refused(said: str, problem: str) -> None:
    with pytest.raises(FaultError, match=problem):
        parse(said)


PROGRAM = """
import sys
from otpy.testing import faults
print("armed" if faults.from_environment() else "not armed", flush=True)
for number in range(5):
    faults.point("step")
    print(number, flush=True)
"""


def run(environ: dict[str, str]) -> tuple[int, list[str], str]:
    done = forked.run([sys.executable, "-c", PROGRAM], env=os.environ | environ, text=True, timeout=60)
    return done.returncode, done.stdout.split("\n")[:-1], done.stderr


def test_a_program_that_asks_for_it_kills_itself_and_what_did_it_is_on_record(tmp_path: Path) -> None:
    record = tmp_path / "fired"
    code, said, told = run({"OTPY_FAULTS": f"record={record};step=kill@3"})

    assert (code, said) == (-signal.SIGKILL, ["armed", "0", "1"])
    assert "faults are armed by OTPY_FAULTS" in told
    [firing] = faults.fired_in(record)
    assert (firing.point, firing.fault, firing.number) == ("step", "kill", 3)
    assert faults.fired_in(tmp_path / "none") == []


def test_nothing_is_armed_without_the_variable_or_without_being_asked_for() -> None:
    assert faults.from_environment({}) is None
    assert faults.from_environment({"OTPY_FAULTS": " "}) is None
    assert watches() == ()


def test_a_second_call_arms_nothing_more() -> None:
    environ = {"OTPY_FAULTS": "p=raise(ValueError)@2"}
    script = faults.from_environment(environ)
    assert script is not None
    try:
        assert faults.from_environment(environ) is script
        faults.point("p")
        with pytest.raises(ValueError, match="a fault at p"):
            faults.point("p")
        faults.point("p")
        assert script.passed("p") == 3
    finally:
        script._disarm()
    assert watches() == ()
