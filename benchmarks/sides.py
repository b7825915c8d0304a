"""The contenders as this process sees them: each runs elsewhere, in Python workers or in an Erlang node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import beam
from benchmarks.lines import LineProcess
from benchmarks.model import FLOOR, OTPY, RIVALS, FailedError, Figures, MissingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job, Side

ROOT = Path(__file__).resolve().parent.parent
START = 20.0
"""Seconds a worker may take to start; imports on a busy machine."""

MODULES = {
    OTPY: "otpy_side",
    FLOOR: "floors",
    "pykka": "rivals.pykka_side",
    "lapinbeam": "rivals.lapinbeam_side",
    "everything-is-an-actor": "rivals.everything_side",
    "tapio-py": "rivals.tapio_side",
}


NEEDS = {"everything-is-an-actor": (3, 12), "litequeue": (3, 12), "oban": (3, 12)}
"""The first Python of peers that do not run on all of ours."""


class ProcessSide(ABC):
    """A contender behind line processes: one that stays for the whole run, and one for each fresh job.

    A subclass says how to start a process, which greets with one line, and how to put a job to it.
    """

    def __init__(self) -> None:
        self.version = "?"
        self.staying: LineProcess | None = None

    @abstractmethod
    def start(self) -> LineProcess:
        """Start a process of this contender."""

    @abstractmethod
    def put(self, process: LineProcess, job: Job, timeout: float) -> Figures:
        """Have `process` do the job."""

    def measure(self, job: Job, timeout: float) -> Figures:
        """See `Side`. A process that failed is not used again."""
        if job.fresh:
            process = self.start()
            try:
                return self.put(process, job, timeout)
            finally:
                process.close()
        self.staying = self.staying or self.start()
        try:
            return self.put(self.staying, job, timeout)
        except FailedError:
            self.close()
            raise

    def close(self) -> None:
        """End the process that stayed."""
        if self.staying is not None:
            self.staying.close()
            self.staying = None


class PythonSide(ProcessSide):
    """A contender in Python: jobs and figures travel as JSON lines to `benchmarks.worker`."""

    def __init__(self, name: str, log: Path, module: str | None = None) -> None:
        super().__init__()
        self.log, self.needs = log, NEEDS.get(name, (3, 11))
        self.module = MODULES[name] if module is None else module

    def start(self) -> LineProcess:
        if sys.version_info < self.needs:
            raise MissingError(f"not on this Python: it needs {'.'.join(map(str, self.needs))}")
        path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
        argv = [sys.executable, "-m", "benchmarks.worker", self.module]
        process = LineProcess(argv, self.log, {**os.environ, "PYTHONPATH": path})
        hello = json.loads(process.read(START))
        if "missing" in hello:
            process.close()
            raise MissingError(hello["missing"])
        self.version = hello["version"]
        return process

    def put(self, process: LineProcess, job: Job, timeout: float) -> Figures:
        answer = json.loads(process.ask(json.dumps(asdict(job)), timeout))
        if "error" in answer:
            raise FailedError(answer["error"])
        return Figures(**answer)


class BeamSide(ProcessSide):
    """Erlang: the node does batches and samples, `benchmarks.beam` makes rows of them."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.compiled = folder, False

    def start(self) -> LineProcess:
        if not (shutil.which("erl") and shutil.which("erlc")):
            raise MissingError("erl and erlc are not installed")
        if not self.compiled:
            source = Path(__file__).parent / "erlang" / "otpy_bench.erl"
            subprocess.run(["erlc", "-o", str(self.folder), str(source)], check=True, capture_output=True)
            self.compiled = True
        process = LineProcess(beam.command(), self.folder / "beam.log")
        self.version = process.read(START).partition("=")[2]
        return process

    def put(self, process: LineProcess, job: Job, timeout: float) -> Figures:
        return beam.measure(lambda line: process.ask(line, timeout), job)


def open_sides(folder: Path) -> dict[str, Callable[[], Side]]:
    """Every contender by name, made when first asked for; logs and compiled files go to `folder`."""
    pythons: dict[str, Callable[[], Side]] = {
        name: lambda name=name: PythonSide(name, folder / f"{name}.log")  # type: ignore[misc]  # mypy cannot infer it
        for name in (OTPY, FLOOR, *RIVALS)
    }
    return {**pythons, "beam": lambda: BeamSide(folder)}
