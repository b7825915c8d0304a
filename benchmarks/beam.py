"""Erlang's answers made into figures; `erlang/otpy_bench.erl` is the other half."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import PAGE, percentile, rate, spread
from benchmarks.model import FailedError, Figures

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.model import Job

    Ask = Callable[[str], str]

NS = 1e-9


def command() -> list[str]:
    """The node's command line, run in the folder of the compiled module: crash reports go to a file, as in Python."""
    log = '[{handler,default,logger_std_h,#{config=>#{type=>file,file=>"beam-reports.log"}}}]'
    return ["erl", "-noshell", "-kernel", "logger", log, "-eval", "otpy_bench:main()"]


def measure(ask: Ask, job: Job) -> Figures:
    """Measure one experiment on a node that answers through `ask`."""
    return MEASURES[job.experiment](ask, job)


def numbers(ask: Ask, *words: object) -> dict[str, list[int]]:
    """Ask for one row, and read the answer's words."""
    answer = ask(" ".join(str(word) for word in words))
    pairs = dict(word.split("=", 1) for word in answer.split())
    if "error" in pairs:
        raise FailedError(pairs["error"])
    return {key: [int(number) for number in text.split(",")] for key, text in pairs.items()}


def seconds(ask: Ask, *words: object) -> float:
    """Ask for a row that answers with one time."""
    return numbers(ask, *words)["ns"][0] * NS


def rates(ask: Ask, job: Job) -> Figures:
    most = 50_000 if job.experiment.startswith("start") else 2_000_000
    return rate(job, lambda count: seconds(ask, job.experiment, count), most)


def ring(ask: Ask, job: Job) -> Figures:
    """Round bare processes, and round gen_servers, which is what otpy's actors are."""
    bare = rates(ask, job)
    count = bare.count or 1
    servers = count / seconds(ask, "ring_gen_server", count)
    return Figures(values={**bare.values, "ring@beam_gen_server": servers}, count=count)


def population(ask: Ask, job: Job) -> Figures:
    count, idle = job.size("actors"), job.sizes["idle"]
    found = numbers(ask, "population", count, int(idle * 1_000))
    before = found["before"][0]
    return Figures(
        values={
            "memory": (found["fresh"][0] - before) * PAGE / count,
            "memory_used": (found["used"][0] - before) * PAGE / count,
            "idle_cpu_percent": found["cpu_ms"][0] / 1_000 / idle * 100,
        }
    )


def restart(ask: Ask, job: Job) -> Figures:
    """With crash reports, and (as `beam_quiet`) without them."""
    words = (job.size("actors"), job.size("warm_up"), job.size("crashes"))
    reported = spread("restart", numbers(ask, "restart", *words)["samples"], NS * 1e6, "us")
    quiet = spread("restart", numbers(ask, "restart_quiet", *words)["samples"], NS * 1e6, "us")
    return Figures(values=reported | {f"{row}@beam_quiet": value for row, value in quiet.items()})


def blocking(ask: Ask, job: Job) -> Figures:
    took = seconds(ask, job.experiment, job.size("actors"), int(job.sizes["nap"] * 1_000))
    return Figures(values={job.experiment: took * 1_000})


def fair(ask: Ask, job: Job) -> Figures:
    words = (job.size("hogs"), int(job.sizes["listen"] * 1_000), job.size("most"))
    samples = numbers(ask, "fair", *words)["samples"]
    return Figures(values={f"{job.experiment}_p99_ms": percentile(samples, 99) * NS * 1_000})


def blocked_callers(ask: Ask, job: Job) -> Figures:
    took = seconds(ask, "blocked_callers", job.size("actors"), int(job.sizes["nap"] * 1_000))
    return Figures(values={"blocked_callers": took})


MEASURES: dict[str, Callable[[Ask, Job], Figures]] = {
    "cast": rates,
    "call": rates,
    "call_actor": rates,
    "ring": ring,
    "start_child": rates,
    "start_child_one": rates,
    "start_child_timed": rates,
    "population": population,
    "restart": restart,
    "blocking": blocking,
    "blocking_hog": blocking,
    "fair_1": fair,
    "fair_8": fair,
    "blocked_callers": blocked_callers,
}
