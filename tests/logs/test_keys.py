"""A line says who has written it: on any thread, task and process, in a job, with any logger."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import structlog

import otpy
from otpy import jobs, logs
from support.forked import run

if TYPE_CHECKING:
    from pathlib import Path

    from otpy.testing import VirtualSystem

    from .conftest import Log

log_ = logging.getLogger("app")


class Plain(otpy.GenServer):
    @otpy.call
    def say(self) -> int:
        log_.info("said %s", "it")
        structlog.get_logger("app").info("said it", count=2)
        return self.ref.number


class OnAThread(Plain):
    place = "thread"


class Awaiting(otpy.GenServer):
    @otpy.call
    async def say(self) -> int:
        log_.info("said it")
        await asyncio.create_task(self.later())
        await asyncio.to_thread(log_.info, "said it in a thread")
        return self.ref.number

    async def later(self) -> None:
        log_.info("said it in a task")


@pytest.mark.parametrize("kind", [Plain, OnAThread])
def test_a_line_names_its_actor_whatever_logger_wrote_it(log: Log, virtual_system: VirtualSystem, kind: Any) -> None:
    log.configure()
    one = virtual_system.start(kind)
    number = one.call(kind.say)
    by_logging, by_structlog = log.of("app")
    assert (by_logging["event"], by_structlog["event"], by_structlog["count"]) == ("said it", "said it", 2)
    for line in (by_logging, by_structlog):
        assert (line["system"], line["path"], line["incarnation"]) == ("test", one.path, number)
        assert line["level"] == "info"


def test_tasks_of_an_actor_and_threads_that_it_awaits_are_its_own(log: Log, virtual_system: VirtualSystem) -> None:
    log.configure()
    one = virtual_system.start(Awaiting)
    number = one.call(Awaiting.say)
    assert [line["event"] for line in log.of("app")] == ["said it", "said it in a task", "said it in a thread"]
    assert {(line["path"], line["incarnation"]) for line in log.of("app")} == {(one.path, number)}


def test_a_line_from_elsewhere_names_nobody(log: Log) -> None:
    log.configure()
    log_.info("outside")
    thread = threading.Thread(target=log_.info, args=("elsewhere",))
    thread.start()
    thread.join()
    assert [sorted(line) for line in log.lines] == [["event", "level", "logger", "time"]] * 2


@jobs.job(name="send", queue="mail")
def send() -> str:
    log_.info("sent")
    raise ValueError("no")


def test_a_line_from_a_job_names_the_job_and_the_attempt(
    log: Log, virtual_system: VirtualSystem, tmp_path: Path
) -> None:
    log.configure()
    virtual_system.start(jobs.engine(tmp_path / "jobs.db", [send]))
    job = jobs.of(virtual_system).enqueue(send.new())
    virtual_system.clock.advance(600.0)
    sent = log.of("app")
    assert [line["attempt"] for line in sent][:2] == [1, 2]
    assert {(line["job"], line["kind"], line["queue"]) for line in sent} == {(job.id, "send", "mail")}
    [failed, *_] = [line for line in log.of("otpy") if line["otpy"] == "JobFailed"]
    assert (failed["job"], failed["kind"], failed["queue"], failed["attempt"]) == (job.id, "send", "mail", 1)
    virtual_system.stop()


class Child(otpy.GenServer):
    @otpy.call
    def say(self) -> None:
        sys.stdout.write("printed\n")

    @otpy.call
    def say_in_lines(self) -> None:
        logs.configure("logfmt", level="INFO")
        logging.getLogger("app").warning("said in\nthe process", extra={"count": 3})


def test_what_a_process_child_says_has_its_path_as_its_parent_sees_it(log: Log, otpy_system: otpy.System) -> None:
    log.configure()
    one = otpy_system.start(otpy.child(Child).opts(place="process"))
    one.call(Child.say)
    one.call(Child.say_in_lines)
    otpy_system.stop()
    [printed, said] = [line for line in log.lines if line.get("path") == one.path and "otpy" not in line]
    assert (printed["logger"], printed["event"], printed["system"]) == ("otpy.child", "printed", "test")
    assert (said["logger"], said["level"], said["count"]) == ("app", "warning", 3)
    assert said["event"] == "said in\nthe process"


def test_a_setup_of_your_own_has_the_keys_too(
    virtual_system: VirtualSystem, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(path)s|%(job)s|%(message)s"))
    handler.addFilter(logs.ActorKeys())
    log_.addHandler(handler)
    structlog.configure(processors=[logs.actor_keys, structlog.processors.KeyValueRenderer(sort_keys=True)])
    try:
        one = virtual_system.start(Plain)
        log_.warning("outside")
        level, log_.level = log_.level, logging.INFO
        number = one.call(Plain.say)
        log_.level = level
    finally:
        log_.removeHandler(handler)
        structlog.reset_defaults()
    said = capsys.readouterr()
    assert said.err.splitlines() == ["||outside", f"{one.path}||said it"]
    assert said.out == f"count=2 event='said it' incarnation={number} path='{one.path}' system='test'\n"


def test_nothing_changes_before_it_is_called() -> None:
    code = """if 1:
        import logging, sys
        import otpy, otpy.jobs
        from otpy import GenServer, logs
        assert "structlog" not in sys.modules
        assert logging.getLogger().handlers == [] and logging.getLogger().level == logging.WARNING
        logs.configure()
        assert len(logging.getLogger().handlers) == 1
        logs.configure("console")
        assert len(logging.getLogger().handlers) == 1
    """
    run([sys.executable, "-c", code], check=True, timeout=60)


def test_without_structlog_all_is_as_with_it(tmp_path: Path) -> None:
    code = """if 1:
        import importlib.util, logging
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda name, *args: None if name == "structlog" else found(name, *args)
        from otpy import logs
        logs.configure("logfmt")
        logging.getLogger("app").info("said %s", "it", extra={"count": 2})
    """
    done = run([sys.executable, "-c", code], check=True, timeout=60, text=True)
    assert done.stderr.split(" ", 1)[1] == 'level=info logger=app event="said it" count=2\n'
