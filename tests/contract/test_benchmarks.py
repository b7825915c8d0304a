"""The benchmark's output has the documented shape; nothing is timed here, the sides are fakes."""

from __future__ import annotations

import json
import signal
import sys
import tomllib
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import compare, jobs, jobs_side, kernel, sides
from benchmarks.fleet import MODULES as FLEET_MODULES
from benchmarks.fleet_plan import FLEET
from benchmarks.jobs import MODULES, PG_MODULES, open_sides
from benchmarks.jobs_plan import JOBS
from benchmarks.lines import LineProcess
from benchmarks.measure import percentile, rate
from benchmarks.model import FLOOR, OTPY, Aim, Experiment, FailedError, Figures, Job, MissingError, Row
from benchmarks.pg_plan import PG_JOBS
from benchmarks.plan import PLAN
from benchmarks.postgres import SERVER
from benchmarks.programs import Program, started
from benchmarks.run import sizes
from benchmarks.sides import PythonSide
from support.postgres import server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

CAST = Row(name="cast", unit="messages/s", what="casts", aims=(Aim(factor=10, against="pykka"),))
PAUSE = Row(name="pause", unit="ms", what="a pause", better="less", aims=(Aim(factor=2, against=FLOOR), Aim(factor=30)))
LONG = Row(name="long", unit="s", what="a long one", better="less")
FAKE_PLAN = [
    Experiment(name="cast", rows=(CAST,), sides=(OTPY, "pykka", "beam"), rounds=(5, 3)),
    Experiment(name="pauses", rows=(PAUSE, LONG), sides=(OTPY, "pykka", FLOOR), fresh=True, rounds=(1, 1)),
]


class FakeSide:
    """Answers each measurement with the next of its figures, or raises it."""

    version = "1.0"

    def __init__(self, answers: Mapping[str, list[Figures | Exception]]) -> None:
        self.answers = {name: iter(figures) for name, figures in answers.items()}
        self.jobs: list[Job] = []
        self.closed = False

    def measure(self, job: Job, timeout: float) -> Figures:
        self.jobs.append(job)
        match next(self.answers[job.experiment]):
            case Exception() as error:
                raise error
            case figures:
                return figures

    def close(self) -> None:
        self.closed = True


def values(**of: float) -> Figures:
    return Figures(values=of, count=7)


def fakes() -> dict[str, FakeSide]:
    """Sides that all answer."""
    return {
        OTPY: FakeSide({"cast": [values(cast=90), values(cast=100), values(cast=500)], "pauses": [PAUSES]}),
        "pykka": FakeSide({"cast": [values(cast=10)] * 3, "pauses": [values(pause=5, long=9)]}),
        "beam": FakeSide({"cast": [Figures(values={"cast": 300, "cast@beam_slow": 200})] * 3}),
        FLOOR: FakeSide({"pauses": [values(pause=4, long=1)]}),
    }


PAUSES = Figures(values={"pause": 6, "long": 2}, notes={"pause": "measured at 10 actors"})


def run(sides: dict[str, FakeSide], *argv: str) -> int:
    """Run the command line over the fake plan."""

    def makers(_: Path) -> dict[str, Callable[[], FakeSide]]:
        return {name: lambda side=side: side for name, side in sides.items()}  # type: ignore[misc]  # not inferred

    return kernel.main(["--quick", *argv], FAKE_PLAN, makers)


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The object on standard output, and nothing beside it."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_a_row_for_each_row_of_the_plan_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fakes(), "--json") == 0
    assert [row["name"] for row in printed(capsys)["rows"]] == ["cast", "pause", "long"]


def test_a_row_has_the_documented_shape(capsys: pytest.CaptureFixture[str]) -> None:
    run(fakes(), "--json")
    cast, pause, _ = printed(capsys)["rows"]
    documented = ("name", "unit", "better", "otpy", "peers", "floor")
    assert {key: cast[key] for key in documented} == {
        "name": "cast",
        "unit": "messages/s",
        "better": "more",
        "otpy": 100,
        "peers": {"pykka": 10, "beam": 300, "beam_slow": 200},
        "floor": None,
    }
    assert {key: pause[key] for key in documented} == {
        "name": "pause",
        "unit": "ms",
        "better": "less",
        "otpy": 6,
        "peers": {"pykka": 5},
        "floor": 4,
    }


def test_a_row_tells_its_rounds_its_note_and_how_its_aims_came_out(capsys: pytest.CaptureFixture[str]) -> None:
    run(fakes(), "--json")
    cast, pause, _ = printed(capsys)["rows"]
    assert cast["rounds"][OTPY] == [90, 100, 500]
    assert cast["aims"] == [{"factor": 10, "against": "pykka", "reached": 10, "met": True}]
    assert [aim["met"] for aim in pause["aims"]] == [True, True]
    assert pause["aims"][1]["reached"] == 6
    assert pause["note"] == "measured at 10 actors"


def test_a_rival_that_is_ahead_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    run(fakes(), "--json")
    assert [row["behind"] for row in printed(capsys)["rows"]] == [[], ["pykka"], []]


def test_the_object_tells_versions_date_and_machine_without_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    run(fakes(), "--json")
    found = printed(capsys)
    assert found.keys() >= {"quick", "date", "python", "otpy", "versions", "skipped"}
    assert found["machine"].keys() == {"system", "processor", "cores", "memory_mib"}
    assert found["versions"] == {OTPY: "1.0", "pykka": "1.0", "beam": "1.0", FLOOR: "1.0"}


def test_a_missing_peer_is_named_once_and_skipped(capsys: pytest.CaptureFixture[str]) -> None:
    sides = fakes()
    sides["pykka"] = FakeSide({"cast": [MissingError("pykka is not installed")]})
    assert run(sides, "--json") == 0
    found = printed(capsys)
    assert found["skipped"] == {"pykka": "pykka is not installed"}
    assert found["rows"][0]["peers"] == {"beam": 300, "beam_slow": 200}
    assert found["rows"][0]["aims"][0]["met"] is None
    assert len(sides["pykka"].jobs) == 1


def test_a_row_that_otpy_breaks_on_is_null_and_the_status_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    sides = fakes()
    sides[OTPY] = FakeSide({"cast": [FailedError("boom")], "pauses": [PAUSES]})
    assert run(sides, "--json") == 1
    found = printed(capsys)
    assert found["rows"][0]["otpy"] is None
    assert found["skipped"] == {"cast of otpy": "boom"}


def test_rows_runs_only_what_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    sides = fakes()
    run(sides, "--json", "--rows", "long")
    assert [row["name"] for row in printed(capsys)["rows"]] == ["long"]
    assert [job.experiment for job in sides[OTPY].jobs] == ["pauses"]


def test_an_unknown_row_is_refused_with_the_names_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        run(fakes(), "--rows", "cats")
    assert exit_.value.code == 2
    assert "no such row: cats; there are cast, long, pause" in capsys.readouterr().err


def test_the_count_found_in_the_first_round_is_used_in_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    sides = fakes()
    run(sides, "--json")
    assert [job.count for job in sides["pykka"].jobs if job.experiment == "cast"] == [None, 7, 7]
    assert all(side.closed for side in sides.values())


def test_the_table_shows_ratios_and_aims(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    run(fakes())
    shown = capsys.readouterr().out
    assert "pykka 10.0 (10×)" in shown
    assert "✓ 10 × pykka (is 10)" in shown
    assert "pause: a pause (measured at 10 actors)" in shown


def test_two_runs_are_compared_row_by_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    run(fakes(), "--json")
    first = printed(capsys)
    second = {**first, "rows": [{**row, "otpy": row["otpy"] * 0.5} for row in first["rows"]]}
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path, found in zip(paths, (first, second), strict=True):
        path.write_text(json.dumps(found), encoding="utf-8")
    assert compare.main([str(path) for path in paths]) == 1
    assert "0.50×" in capsys.readouterr().out
    assert compare.main([str(paths[0]), str(paths[0])]) == 0


def test_every_row_of_the_plan_has_one_name() -> None:
    names = [row.name for experiment in PLAN for row in experiment.rows]
    assert len(names) == len(set(names))


def test_the_plan_has_every_row_of_the_issue() -> None:
    names = {row.name for experiment in PLAN for row in experiment.rows}
    assert names >= {
        *("cast", "call", "call_actor", "ring", "start_child", "start_child_timed", "memory", "memory_used"),
        *("restart_p50_us", "restart_p99_us", "blocking", "blocking_hog", "fair_1_p99_ms", "fair_8_p99_ms"),
        *("blocked_callers", "idle_cpu_percent", "million_mib"),
    }


def test_the_plan_of_jobs_has_every_row_of_its_issue_and_sides_for_it(tmp_path: Path) -> None:
    names = [row.name for experiment in JOBS for row in experiment.rows]
    assert sorted(names) == sorted(
        [
            *("enqueue_16", "enqueue_1", "work", "latency_p50_ms", "rescue_down_ms", "rescue_leases"),
            *("failover_leases", "breaker_1", "breaker_16", "growth", "overhead"),
        ]
    )
    assert (
        {side for experiment in JOBS for side in experiment.sides} == set(open_sides(MODULES, tmp_path)) == set(MODULES)
    )


@pytest.mark.parametrize("experiment", JOBS, ids=lambda one: one.name)
def test_otpy_measures_every_experiment_of_jobs(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what it measures are the rows that are promised; in sizes that prove nothing but this."""
    if experiment.name in ("failover", "growth"):  # seconds, whatever the size
        assert experiment.name in jobs_side.MEASURES
        return
    monkeypatch.chdir(tmp_path)
    jobs = 50 if experiment.name == "overhead" else 3  # in batches; and agents that crash have a back-off
    job = Job(experiment=experiment.name, seconds=0.001, count=16, sizes={**experiment.full, "jobs": jobs, "calls": 2})
    assert set(jobs_side.MEASURES[experiment.name](job).values) == {row.name for row in experiment.rows}


def test_the_plan_of_fleets_has_the_rows_that_there_are_parts_for_and_sides() -> None:
    names = {row.name for experiment in FLEET for row in experiment.rows}
    assert names == {
        "outbox_put_16",
        "outbox_drain",
        "reconnect_calls",
        "reconnect_peak",
        "hub_beats",
        "hub_agent_bytes",
        "idle_fleet_cpu_percent",
        "drain_100_idle_s",
    }
    assert {side for experiment in FLEET for side in experiment.sides} == set(FLEET_MODULES)


@pytest.mark.parametrize("experiment", FLEET, ids=lambda one: one.name)
def test_every_side_measures_its_experiments_of_fleets(
    experiment: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for side in experiment.sides:
        measures = import_module(f"benchmarks.{FLEET_MODULES[side]}").MEASURES
        small = {"rows": 20, "clients": 50, "agents": 20, "idle": 0.05}
        sizes = {**experiment.full, **experiment.per_side.get(side, {}), **small}
        job = Job(experiment=experiment.name, seconds=0.001, count=32, sizes=sizes)
        found = measures[experiment.name](job).values
        assert {name for name in found if "@" not in name} == {row.name for row in experiment.rows}


def test_the_plan_on_postgres_has_every_row_of_its_issue_and_sides_for_it() -> None:
    names = {row.name for experiment in PG_JOBS for row in experiment.rows}
    assert names >= {"pg_work", "pg_enqueue_bulk", "pg_latency_p50_ms", "pg_failover_leases"}
    assert {side for experiment in PG_JOBS for side in experiment.sides} == set(PG_MODULES)


@pytest.mark.any_python
@pytest.mark.parametrize("side", [OTPY, FLOOR])
def test_jobs_are_measured_on_postgres(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes no program of its own; the others are only there."""
    monkeypatch.setenv(SERVER, str(server().folder))
    measures = import_module(f"benchmarks.{PG_MODULES[side]}").MEASURES
    planned = {experiment.name: experiment for experiment in PG_JOBS if side in experiment.sides}
    assert measures.keys() == planned.keys()
    for name in ("pg_enqueue_bulk", "pg_work"):
        job = Job(experiment=name, seconds=0.001, count=100, sizes={"jobs": 100})
        assert set(measures[name](job).values) == {row.name for row in planned[name].rows}


def test_without_a_server_the_jobs_on_postgres_say_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "programs", lambda: None)
    assert jobs.main(["--postgres", "--quick"]) == 1
    assert capsys.readouterr().err.startswith("no PostgreSQL")


def test_a_program_says_when_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from benchmarks.programs import say; say('ready'); say(input(), 7.5); input()"
    monkeypatch.setattr(Program, "command", staticmethod(lambda *_: [sys.executable, "-c", text]))
    with started(("any",)) as (program,):
        program.ask("hello")
        assert program.said("hello") == 7.5
    assert program.process.returncode == -signal.SIGKILL


def test_a_peer_that_does_not_run_on_this_python_is_said_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sides.NEEDS, "oban", (4, 0))
    with pytest.raises(MissingError, match=r"not on this Python: it needs 4\.0"):
        PythonSide("oban", tmp_path / "oban.log", "rivals.oban_side").start()


def test_the_pythons_of_the_peers_are_those_of_the_extra() -> None:
    project = tomllib.loads((sides.ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for line in project["optional-dependencies"]["bench"]:
        name, _, marker = line.partition(";")
        needs = sides.NEEDS.get(name.partition(">")[0])
        assert marker.strip() == ("" if needs is None else f"python_version >= '{needs[0]}.{needs[1]}'")


def test_what_a_side_needs_otherwise_wins_over_the_size_of_a_quick_run() -> None:
    experiment = Experiment(
        name="x",
        rows=(),
        sides=(),
        full={"a": 9, "b": 9},
        quick={"a": 3},
        per_side={"pykka": {"a": 2}},
        per_side_quick={"pykka": {"a": 1}},
    )
    assert sizes(experiment, OTPY, quick=False) == {"a": 9, "b": 9}
    assert sizes(experiment, OTPY, quick=True) == {"a": 3, "b": 9}
    assert sizes(experiment, "pykka", quick=False) == {"a": 2, "b": 9}
    assert sizes(experiment, "pykka", quick=True) == {"a": 1, "b": 9}


def test_a_rate_grows_its_count_until_a_batch_lasts_long_enough() -> None:
    counts: list[int] = []

    def batch(count: int) -> float:
        counts.append(count)
        return count / 10_000

    found = rate(Job(experiment="x", seconds=1.0), batch)
    assert counts == [200, 4_000, 10_000]
    assert found == Figures(values={"x": 10_000}, count=10_000)


def test_a_rate_warms_up_even_when_the_first_batch_is_long_enough() -> None:
    durations = iter([9.0, 2.0])
    assert rate(Job(experiment="x", seconds=1.0), lambda _: next(durations)).values == {"x": 100}


def test_percentiles_are_samples() -> None:
    samples = [float(number) for number in range(200)]
    assert (percentile(samples, 50), percentile(samples, 99), percentile([1.0], 99)) == (100.0, 198.0, 1.0)


def test_a_worker_measures_in_a_process_of_its_own(tmp_path: Path) -> None:
    side = PythonSide(FLOOR, tmp_path / "floor.log")
    figures = side.measure(Job(experiment="call", fresh=True, seconds=0.001), 20.0)
    assert figures.values["call"] > 0
    assert side.version == "raw threads"


def test_a_measurement_that_raises_is_a_failure_with_its_place(tmp_path: Path) -> None:
    side = PythonSide(FLOOR, tmp_path / "floor.log")
    with pytest.raises(FailedError, match=r"KeyError: 'cats' \(worker.py:\d+\)"):
        side.measure(Job(experiment="cats", fresh=True), 20.0)


def test_a_process_that_does_not_answer_in_time_is_given_up(tmp_path: Path) -> None:
    process = LineProcess([sys.executable, "-c", "input(); input()"], tmp_path / "mute.log")
    with pytest.raises(FailedError, match="no answer within 0 s"):
        process.ask("hello", 0.01)
    process.close()
    assert process.process.returncode == -signal.SIGKILL


def test_a_process_that_ended_is_reported_with_its_last_line(tmp_path: Path) -> None:
    process = LineProcess([sys.executable, "-c", "raise SystemExit('no more')"], tmp_path / "dead.log")
    with pytest.raises(FailedError, match="it has ended: no more"):
        process.read(20.0)
    process.close()
