"""The process a Python contender runs in: a job a line on standard input, its figures a line on standard output."""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING

from benchmarks.model import Job

if TYPE_CHECKING:
    from types import ModuleType


def main(module: str) -> None:
    """Greet, then do jobs until standard input ends. What libraries print goes to standard error, with the reports."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    try:
        side = importlib.import_module(f"benchmarks.{module}")
    except ModuleNotFoundError as error:
        return say(answers, {"missing": f"the package {error.name} is not installed (the extra `bench` has it)"})
    except BaseException as error:  # noqa: BLE001  # whatever a rival does while it is imported
        return say(answers, {"missing": describe(error)})
    say(answers, {"version": side.VERSION})
    for line in sys.stdin:
        say(answers, answer(side, Job(**json.loads(line))))
    sys.stderr.flush()
    os._exit(0)  # some rivals leave threads that would keep the process for minutes


def answer(side: ModuleType, job: Job) -> dict[str, object]:
    """Do one job. An exception of any kind is an answer too: the other rows go on."""
    try:
        return asdict(side.MEASURES[job.experiment](job))
    except BaseException as error:  # noqa: BLE001  # a rival may raise what it likes
        return {"error": describe(error)}


def describe(error: BaseException) -> str:
    """One line; the whole story goes to standard error."""
    traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(frame.filename).name}:{frame.lineno})"


def say(answers: IO[str], message: dict[str, object]) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
