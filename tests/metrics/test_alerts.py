"""Alerts and dashboard that come with otpy: a real Prometheus takes them, and they speak of metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from otpy.cli import main
from otpy.metrics import CATALOGUE
from otpy.metrics.catalogue import FLEET
from support.prometheus import promtool

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.any_python

PARTS = re.compile(r"_(bucket|sum|count)$")


def printed(what: str) -> str:
    done = CliRunner().invoke(main, ["metrics", what])
    assert done.exit_code == 0
    return done.output


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yml"
    file.write_text(printed("rules"))
    return file


def asked() -> Iterator[str]:
    """Each expression of the dashboard, as Grafana sends it."""
    for panel in json.loads(printed("dashboard"))["panels"]:
        for target in panel.get("targets", ()):
            yield target["expr"].replace("$__rate_interval", "5m")


def spoken_of(text: str) -> set[str]:
    """The metrics in a text."""
    found = re.findall(r"\botpy_\w+", text)
    return {PARTS.sub("", name) if name not in CATALOGUE else name for name in found}


def test_prometheus_takes_the_rules(rules: Path) -> None:
    assert "SUCCESS" in promtool("check", "rules", rules)


def test_the_alerts_tell_what_they_should_and_nothing_else(rules: Path) -> None:
    cases = rules.with_name("alerts.yml")
    shutil.copy(Path(__file__).with_name("alerts.yml"), cases)

    assert "SUCCESS" in promtool("test", "rules", cases)


def test_prometheus_understands_the_dashboard(tmp_path: Path) -> None:
    file = tmp_path / "asked.yml"
    asks = [{"record": f"r{number}", "expr": expr} for number, expr in enumerate(asked())]
    file.write_text(json.dumps({"groups": [{"name": "asked", "rules": asks}]}))

    assert f"{len(asks)} rules found" in promtool("check", "rules", file)


def test_rules_and_dashboard_speak_of_metrics_that_exist() -> None:
    known = CATALOGUE.keys() | {entry.name for entry in FLEET}

    assert spoken_of(printed("rules")) - known == set()
    assert spoken_of(printed("dashboard")) - known == set()


def test_labels_in_rules_and_dashboard_are_those_that_the_metrics_have() -> None:
    own = {label for entry in CATALOGUE.values() for label in entry.labels}
    used = set(re.findall(r"\bby \(([^)]*)\)", printed("rules") + printed("dashboard")))

    assert {label.strip() for labels in used for label in labels.split(",")} - own <= {"job", "instance", "le"}
