"""`otpy jobs` beside a real program, and its views with whatever a program may say."""

from __future__ import annotations

import json
import os
import re
import socket
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy import jobs
from otpy.cli.jobs_views import job_view, jobs_view, overview_view, replayed_view
from otpy.testing import Gate
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result
    from rich.console import RenderableType

__all__ = ["quiet"]

GATES: list[Gate] = []


@jobs.job(queue="mail", retry=jobs.Retry(errors=1))
def send_mail(to: str, password: str = "") -> str:
    if "@" not in to:
        text = f"{to} is no address"
        raise ValueError(text)
    return to.upper()


@jobs.job(timeout=None)
def hold() -> None:
    GATES[-1].wait()


class Till(library.GenServer):
    pass


@contextmanager
def shop(folder: Path, directory: Path, **options: Any) -> Iterator[library.System]:
    """A program with an engine, in which one job each is done, dead, and scheduled."""

    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [jobs.engine(folder / "jobs.db", [send_mail, hold], profile="fast")]

    with library.run(Shop, name="shop", control_directory=directory, **options) as system:
        client = jobs.of(system)
        client.enqueue_all([send_mail.new("a@b", "hunter2"), send_mail.new("\x1b[31mnobody")])
        client.enqueue(send_mail.new("c@d").opts(delay=3_600.0))
        system.wait_idle(timeout=20.0)
        yield system
        system.wait_idle(timeout=20.0)


@pytest.fixture
def system(tmp_path: Path, directory: Path, quiet: None) -> Iterator[library.System]:
    """Such a program."""
    with shop(tmp_path, directory) as system:
        yield system


@pytest.fixture
def client(system: library.System) -> jobs.Client:
    """That of the program."""
    return jobs.of(system)


@pytest.mark.parametrize("command", ["list", "dead"])
def test_where_one_program_runs_its_name_may_be_left_out(
    client: jobs.Client, otpy: Callable[..., Result], command: str
) -> None:
    by_name, alone = otpy("jobs", command, "shop"), otpy("jobs", command)
    assert (by_name.exit_code, alone.exit_code) == (0, 0)
    assert len(alone.output.splitlines()) == len(by_name.output.splitlines()) > 0


def test_queues_are_shown_and_crews(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    by_name, alone = otpy("jobs", "shop"), otpy("jobs")
    assert by_name.output == alone.output
    assert [line.split() for line in by_name.output.splitlines()] == [
        ["queue", "scheduled", "done", "dead", "oldest"],
        ["mail", "1", "1", "1"],
        [],
        ["crew", "place", "agents"],
        ["pool", "pool", "5", "of", "5"],
    ]
    seen = json.loads(otpy("jobs", "shop", "--json").output)
    assert seen["queues"] == [
        {"name": "mail", "numbers": {"dead": 1, "done": 1, "scheduled": 1}, "oldest": None, "paused": None}
    ]


def test_jobs_are_listed_the_newest_first_and_page_by_page(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    words = [line.split()[:2] for line in otpy("jobs", "list", "shop").output.splitlines()]
    assert words == [["3", "scheduled"], ["2", "dead"], ["1", "done"]]
    page = otpy("jobs", "list", "shop", "--limit", "1", "--before", "3").output.splitlines()
    assert [page[0].split()[0], page[1]] == ["2", "perhaps more: --before 2"]
    assert otpy("jobs", "dead", "shop").output.startswith("2  dead")
    assert otpy("jobs", "list", "shop", "--queue", "other").output == "no such job\n"
    misspelt = otpy("jobs", "list", "shop", "--state", "ded")
    assert (misspelt.exit_code, misspelt.output) == (70, "Error: no state 'ded': did you mean 'dead'?\n")


def test_a_job_is_shown_without_its_secrets_and_as_text(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    done, dead = otpy("jobs", "show", "shop", "1").output, otpy("jobs", "show", "shop", "2").output
    assert "to='a@b'" in done
    assert "password=<hidden>" in done
    assert "hunter2" not in done + otpy("jobs", "show", "shop", "1", "--json").output
    assert "result     'A@B'" in done
    assert "state      dead: errors" in dead
    assert "ValueError: \\x1b[31mnobody is no address" in dead
    assert "\x1b" not in dead
    assert "where the last of them was raised" in dead
    assert "raise ValueError(text)" in dead
    missing = otpy("jobs", "show", "shop", "99")
    assert (missing.exit_code, missing.output) == (70, "Error: there is no job 99, or it is forgotten\n")


def test_what_waits_begins_now_or_is_cancelled(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    client.enqueue(send_mail.new("e@f").opts(delay=3_600.0))
    assert otpy("jobs", "retry", "shop", "4").output.startswith("4  ready")
    assert "not wanted" in otpy("jobs", "cancel", "shop", "3", "--reason", "not wanted").output
    missing = otpy("jobs", "cancel", "shop", "3", "98")
    assert (missing.exit_code, missing.output) == (70, "Error: there is no job 98, or it is forgotten\n")


def test_dead_jobs_are_replayed_after_a_look(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    assert otpy("jobs", "replay", "shop", "--all", "--dry-run").output == "2  in mail\n1 job would be replayed\n"
    assert otpy("jobs", "replay", "shop", "2").output == "2 is job 4 now\n1 job replayed\n"
    again = otpy("jobs", "replay", "shop", "2")
    assert again.exit_code == 70
    assert again.output.startswith("2 is not replayed: it was replayed before; --force does it again\n")
    assert otpy("jobs", "replay", "shop", "2", "--force").exit_code == 0


def test_a_dead_job_is_replayed_with_an_argument_changed(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    assert otpy("jobs", "replay", "shop", "2", "--set", "to=nobody@b", "--set", "password=7").exit_code == 0
    done = client.wait(4, timeout=20.0)
    assert (done.result_value, done.replay_of) == ("NOBODY@B", 2)
    assert done.arguments[1] | dict(zip(["to", "password"], done.arguments[0], strict=False)) == {
        "to": "nobody@b",
        "password": 7,
    }
    assert "nobody" in otpy("jobs", "show", "shop", "2").output
    client.enqueue(send_mail.new("e"))
    client.wait(5, timeout=20.0)
    wrong = otpy("jobs", "replay", "shop", "5", "--set", "too=x@y")
    assert wrong.exit_code == 70
    assert wrong.output == f"Error: {send_mail.name}: no argument 'too': did you mean 'to'?\n"
    assert otpy("jobs", "replay", "shop", "99", "--set", "to=x@y").exit_code == 70


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("2", "--all"),
        ("2", "--dry-run"),
        ("2", "--kind", "k"),
        ("--all", "--force"),
        ("--all", "--set", "to=a@b"),
        ("2", "3", "--set", "to=a@b"),
        ("2", "--set", "to"),
    ],
)
def test_a_replay_that_may_mean_two_things_is_refused(
    client: jobs.Client, otpy: Callable[..., Result], words: tuple[str, ...]
) -> None:
    assert otpy("jobs", "replay", "shop", *words).exit_code == 2


def test_a_queue_is_paused_until_it_is_resumed(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    assert otpy("jobs", "pause", "shop", "mail").output == "mail is paused; otpy jobs resume shop mail lets it go on\n"
    made = client.enqueue(send_mail.new("e@f"))
    assert re.search(r"paused \d", otpy("jobs", "shop").output)
    assert otpy("jobs", "list", "shop", "--limit", "1").output.split()[:2] == [str(made.id), "ready"]
    assert otpy("jobs", "resume", "shop", "mail").output == "mail goes on\n"
    assert "paused" not in otpy("jobs", "shop").output


def test_a_queue_that_nobody_knows_is_paused_and_said_to_be_unknown(
    client: jobs.Client, otpy: Callable[..., Result]
) -> None:
    paused = otpy("jobs", "pause", "shop", "mial")
    assert paused.exit_code == 0
    assert paused.output.splitlines()[1] == "but no job of a queue 'mial' is known: did you mean 'mail'?"
    assert "known" not in otpy("jobs", "resume", "shop", "mial").output, "it was paused"
    assert "did you mean 'mail'?" in otpy("jobs", "resume", "shop", "mial").output
    assert client.pause("mial", "mail", "default") == ["mial"]
    assert client.resume("mial", "other") == ["other"]


def test_of_what_has_ended_it_is_said_that_nothing_was_done(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    late = otpy("jobs", "cancel", "shop", "1", "3")
    assert (late.exit_code, late.output.splitlines()[-1]) == (70, "Error: nothing was done about 1: it is done")
    assert "cancelled by hand" in late.output
    assert "3: it is cancelled" in otpy("jobs", "cancel", "shop", "3").output
    dead = otpy("jobs", "retry", "shop", "2")
    hint = "otpy jobs replay shop 2 runs again what is dead"
    assert (dead.exit_code, dead.output.splitlines()[-1]) == (
        70,
        f"Error: nothing was done about 2: it is dead; {hint}",
    )


def test_schedules_are_listed_paused_and_forgotten(
    tmp_path: Path, directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            weekly = jobs.cron("0 8 * * 1", send_mail.new("a@b"), id="weekly", tz="Europe/Berlin")
            return [jobs.engine(tmp_path / "jobs.db", [send_mail], cron=[weekly])]

    with library.run(Shop, name="shop", control_directory=directory) as system:
        system.wait_idle(timeout=20.0)
        before = otpy("jobs", "schedules", "shop").output
        assert "weekly  0 8 * * 1 Europe/Berlin" in before
        assert " in " in before
        paused = otpy("jobs", "pause", "shop", "weekly", "--schedule").output
        assert paused == "weekly is paused; otpy jobs resume shop weekly --schedule lets it go on\n"
        assert otpy("jobs", "schedules", "shop").output.rstrip().endswith("paused")
        assert otpy("jobs", "resume", "shop", "weekly", "--schedule").output == "weekly goes on\n"
        assert json.loads(otpy("jobs", "schedules", "shop", "--json").output)[0]["paused"] is False
        assert otpy("jobs", "unschedule", "shop", "weekly").output == "weekly is forgotten\n"
        assert otpy("jobs", "schedules", "shop").output == "no schedule is declared\n"
        again = otpy("jobs", "unschedule", "shop", "weekly")
        system.wait_idle(timeout=20.0)
    assert (again.exit_code, again.output) == (70, "Error: there is no schedule 'weekly'\n")


def test_names_that_programs_share_are_listed_with_who_holds_them(
    tmp_path: Path, directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    class Shop(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [jobs.engine(tmp_path / "jobs.db", [send_mail])]

    with library.run(Shop, name="shop", control_directory=directory) as system:
        assert otpy("jobs", "names", "shop").output == "no name was ever held\n"
        names = [system.start(jobs.singleton(name, library.child(Till))) for name in ("till", "\x1b[31mred")]
        system.wait_idle(timeout=20.0)
        names[0].stop()
        red, till = json.loads(otpy("jobs", "names", "shop", "--json").output)
        shown = otpy("jobs", "names", "shop").output
        system.wait_idle(timeout=20.0)
    host = f"{socket.gethostname()}:{os.getpid()}"
    assert (red["name"], red["host"], red["epoch"], red["is_held"]) == ("\x1b[31mred", host, 1, True)
    assert red["since"] <= 0 < red["until"]
    assert (till["name"], till["is_held"]) == ("till", False)
    assert "\\x1b[31mred  " + host in shown.replace("\n", " ")
    assert "till" in shown
    assert "nobody" in shown


def test_a_running_job_says_at_which_agent_it_is(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    GATES.append(Gate())
    client.enqueue(hold.new())
    GATES[-1].reached()
    listed = otpy("jobs", "list", "shop", "--state", "running").output
    GATES[-1].open()
    assert "attempt 1" in listed
    assert "at shop/jobs/duties/1/pool/" in listed


def test_the_tree_shows_the_job_of_an_agent(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    GATES.append(Gate())
    made = client.enqueue(hold.new())
    GATES[-1].reached()
    tree, info = otpy("tree", "shop").output, otpy("info", otpy_agent(client, made.id)).output
    GATES[-1].open()
    what = f"Agent at job {made.id}, {hold.name}, attempt 1"
    assert what in tree
    assert what in info


def otpy_agent(client: jobs.Client, id: int) -> str:
    """The path of the agent that has a job."""
    job = client.get(id)
    assert job is not None
    return job.owner


def test_a_crew_is_scaled(system: library.System, otpy: Callable[..., Result]) -> None:
    assert otpy("jobs", "scale", "shop", "pool", "6", "--spare", "2").output.split()[-3:] == ["8", "of", "8"]
    assert "8 of 8" in otpy("jobs", "shop").output
    assert otpy("jobs", "scale", "shop", "pool", "1").output.split()[-1] == "3", "how many are left by now is open"
    system.wait_idle(timeout=20.0)
    assert "3 of 3" in otpy("jobs", "shop").output
    wrong = otpy("jobs", "scale", "shop", "pol", "6")
    assert (wrong.exit_code, wrong.output) == (70, "Error: no crew 'pol': did you mean 'pool'?\n")


def test_a_store_is_copied_and_no_file_overwritten(
    client: jobs.Client, otpy: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done, again = (otpy("jobs", "backup", "shop", "copy.db") for _ in range(2))
    assert done.output == f"copy.db has all of it, {(tmp_path / 'copy.db').stat().st_size} bytes\n"
    assert again.exit_code == 70
    assert "no backup: there is a file of that name" in again.output.replace("\n", " ")


def test_who_may_only_read_mends_nothing(
    tmp_path: Path, directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    with shop(tmp_path, directory, control="read"):
        refused = otpy("jobs", "cancel", "shop", "3")
        assert otpy("jobs", "show", "shop", "3").exit_code == 0
    assert (refused.exit_code, "needs the right 'operate'" in refused.output) == (70, True)


def test_a_program_without_an_engine_says_so(directory: Path, otpy: Callable[..., Result], quiet: None) -> None:
    class Empty(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return []

    with library.run(Empty, name="empty", control_directory=directory):
        seen = otpy("jobs", "empty")
    assert (seen.exit_code, seen.output) == (70, "Error: no engine for jobs runs in empty\n")


@jobs.job(queue="pictures", needs={"gpu"})
def paint() -> None: ...


def test_jobs_that_no_agent_can_take_are_told(
    tmp_path: Path, directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    class Studio(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [jobs.engine(tmp_path / "jobs.db", [paint, hold])]

    with library.run(Studio, name="studio", control_directory=directory) as system:
        jobs.of(system).enqueue_all([paint.new(), paint.new()])
        system.wait_idle(timeout=20.0)
        seen = otpy("jobs", "studio")
        assert json.loads(otpy("jobs", "studio", "--json").output)["queues"][0]["unroutable"] == 2
    assert "no agent can take 2 jobs" in seen.output


@pytest.mark.parametrize(
    ("words", "end"),
    [
        (("job",), "Error: no command 'job': did you mean 'jobs'?\n"),
        (("jobs", "pasue", "hooks", "x"), "Error: no command 'pasue': did you mean 'pause'?\n"),
        (("jobs", "lst"), "or did you mean otpy jobs list?\n"),
        (("jobs", "zzz"), ": otpy run starts one\n"),
    ],
)
def test_a_misspelt_command_names_the_one_that_may_be_meant(
    otpy: Callable[..., Result], words: tuple[str, ...], end: str
) -> None:
    result = otpy(*words)
    assert (result.exit_code, result.output.endswith(end)) == (2, True), result.output


def test_several_engines_are_told_apart(
    tmp_path: Path, directory: Path, otpy: Callable[..., Result], quiet: None
) -> None:
    class Two(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [jobs.engine(tmp_path / f"{one}.db", [hold], name=one) for one in ("a", "b")]

    with library.run(Two, name="two", control_directory=directory) as system:
        system.wait_idle(timeout=20.0)
        unclear, named = otpy("jobs", "two"), otpy("jobs", "two", "--engine", "b")
        wrong = otpy("jobs", "two", "--engine", "c")
    assert unclear.output == "Error: several engines run, name one: a, b\n"
    assert named.output.startswith("no job was ever enqueued\n")
    assert wrong.output.startswith("Error: no engine 'c'")


def test_a_store_that_does_not_answer_is_told_in_time(client: jobs.Client, otpy: Callable[..., Result]) -> None:
    library_writer = "shop/jobs/writer"
    assert otpy("suspend", library_writer).exit_code == 0
    stuck, seen = otpy("jobs", "pause", "shop", "mail"), otpy("jobs", "shop")
    assert otpy("resume", library_writer).exit_code == 0
    assert stuck.exit_code == 70
    assert "writer" in stuck.output
    assert seen.exit_code == 0, "a look asks nothing of the writer"


def drawn(view: RenderableType) -> str:
    """As on a screen of 80 columns."""
    screen = Console(width=80, markup=False, emoji=False, highlight=False, color_system=None)
    with screen.capture() as capture:
        screen.print(view)
    return capture.get()


@pytest.mark.parametrize("seen", [None, 7, [], [1, None], {}, [{"id": "\x1b[2J", "state": [1], "run_at": "x"}]])
def test_views_bear_whatever_a_program_says(seen: Any) -> None:
    whole = (
        seen if isinstance(seen, dict) else dict.fromkeys(("queues", "crews", "attempts", "arguments", "store"), seen)
    )
    text = drawn(jobs_view(seen, 80)) + drawn(replayed_view(seen, is_dry=True))
    assert "\x1b" not in text + drawn(overview_view(whole, 80)) + drawn(job_view(whole))


def test_of_a_job_that_is_done_before_it_runs_no_attempts_are_promised() -> None:
    shown = drawn(job_view({"id": 1, "attempt": 1, "errors": 0, "max_errors": 5, "early_ack": True}))
    assert "1 begun; done before it runs (early_ack), so once at most" in shown
    assert "of 5" not in shown


def test_failures_that_are_no_longer_kept_are_counted() -> None:
    earlier = [{"failure": "error", "number": 104, "first_at": -7_200.0, "last_at": -60.0}]
    attempts = [{"number": 125, "failure": "error", "at": -3.0, "text": "boom"}]
    shown = drawn(job_view({"id": 1, "attempts": attempts, "earlier": earlier})).splitlines()
    assert shown[-2:] == ["  104 more before: error, from 2h ago to 1m ago", "  125  error  3s ago  boom"]


def test_trouble_with_the_store_is_told_above_its_queues() -> None:
    store = {"path": "/srv/jobs.db", "problem": "the disk is full", "since": 75.0, "stale": 2}
    shown = drawn(overview_view({"queues": [], "is_leading": True, "store": store}, 80)).splitlines()
    assert shown[0] == "nothing is kept, for 1m now: /srv/jobs.db: the disk is full"
    assert shown[1] == "2 late words of attempts that were over refused since the start"
    assert "kept" not in drawn(overview_view({"queues": [], "store": {**store, "problem": None, "stale": 0}}, 80))


def test_a_program_that_does_not_lead_says_so() -> None:
    assert "another program has the lead" in drawn(overview_view({"queues": [], "is_leading": False}, 80))
