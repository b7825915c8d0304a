"""What is exported: as the catalogue and the reference say, and as a real Prometheus takes it."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest

import otpy
from otpy.metrics import CATALOGUE, Metrics
from otpy.metrics.catalogue import FLEET
from otpy.metrics.engines import Engines
from support.doer import Doer
from support.forked import run
from support.prometheus import figure, promtool
from support.source import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGE = ROOT / "docs/reference/metrics.md"


def test_a_real_prometheus_takes_what_is_exported(system: otpy.System) -> None:
    metrics = Metrics(system)
    system.start(otpy.child(Doer).opts(name="doer")).call(Doer.do, lambda _: None)

    content_type, body = metrics.exposition()

    assert content_type.startswith("text/plain; version=")
    assert promtool("check", "metrics", given=body) == ""


def test_openmetrics_is_given_to_who_asks_for_it(system: otpy.System) -> None:
    content_type, body = Metrics(system).exposition("application/openmetrics-text; version=1.0.0")

    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


@pytest.mark.parametrize("accept", ["application/openmetrics-text; version=abc", ";;,=", "\xff"])
def test_who_asks_for_what_nobody_understands_gets_plain_text(system: otpy.System, accept: str) -> None:
    content_type, body = Metrics(system).exposition(accept)

    assert content_type.startswith("text/plain")
    assert b"otpy_actors 0.0" in body


def test_what_is_exported_is_what_the_catalogue_has(system: otpy.System) -> None:
    _, body = Metrics(system).exposition()

    assert re.findall(r"^# TYPE (\S+) (\S+)", body.decode(), re.MULTILINE) == [
        (entry.name, entry.type) for entry in CATALOGUE.values()
    ]


def test_the_reference_lists_every_metric() -> None:
    rows = re.findall(r"^\| `(otpy_\w+)` \| (\w+) \| (.*?) \|", PAGE.read_text(), re.MULTILINE)

    assert rows == [
        (entry.name, entry.type, ", ".join(f"`{label}`" for label in entry.labels))
        for entry in (*CATALOGUE.values(), *FLEET)
    ]


def test_each_name_begins_alike_and_says_what_it_is() -> None:
    for name, entry in CATALOGUE.items():
        assert name.startswith("otpy_")
        assert name.endswith("_total") == (entry.type == "counter"), name
        assert name.endswith("_seconds") or entry.type != "histogram", name


def test_without_the_extra_it_is_said_how_to_get_it(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["prometheus_client"] = None
import otpy, otpy.metrics
try:
    otpy.metrics.Metrics(otpy.System("t"))
except ImportError as error:
    print(error)
"""
    done = run([sys.executable, "-c", code], text=True, check=True, timeout=60)

    assert "pip install otpy[metrics]" in done.stdout


def test_a_part_that_is_broken_is_told_once_and_takes_no_other_along(
    system: otpy.System, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("broken")

    metrics = Metrics(system)
    monkeypatch.setattr(Engines, "read", broken)
    with caplog.at_level("ERROR", "otpy"):
        for _ in range(2):
            assert figure(metrics, "otpy_actors") == 0

    assert [record.message for record in caplog.records] == ["metrics of t: jobs cannot be read"]
    assert figure(metrics, "otpy_scrape_failures_total", "jobs") == 3  # with this one
