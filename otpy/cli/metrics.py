"""`otpy metrics`: what Prometheus and Grafana are given beside the metrics themselves."""

from __future__ import annotations

from importlib.resources import files

import click

from otpy.cli.lazy import GuessingGroup

__all__ = ["metrics"]


def _shipped(name: str) -> str:
    """A file that comes with otpy; found by its place, for `otpy.metrics` loads all that a program has."""
    return (files("otpy") / "metrics" / "files" / name).read_text(encoding="utf-8")


@click.group(cls=GuessingGroup)
def metrics() -> None:
    """Print what goes with the metrics of otpy: alerts for Prometheus, a dashboard for Grafana."""


@metrics.command
def rules() -> None:
    """Print the alerts, as a file of rules: otpy metrics rules > otpy-rules.yml."""
    click.echo(_shipped("rules.yml"), nl=False)


@metrics.command
def dashboard() -> None:
    """Print the dashboard, to be imported: otpy metrics dashboard > otpy.json."""
    click.echo(_shipped("dashboard.json"), nl=False)
