"""`otpy doctor`, beside a program that is well and one that is not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from otpy.cli.jobs_views import overview_view
from otpy.control import doctor
from support.fake_system import FakeSystem, worker

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from otpy.control.server import ControlServer

    Otpy = Callable[..., Result]


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What other floors look for needs a real system."""
    monkeypatch.setattr(doctor, "_EXAMINERS", [doctor.actors])


def test_a_program_that_is_well_ends_it_with_0(otpy: Otpy, serve: Callable[..., ControlServer]) -> None:
    serve(FakeSystem([worker("shop")]))
    result = otpy("doctor")
    assert (result.exit_code, result.stdout) == (0, "nothing is wrong with shop, as far as it can tell\n")
    assert otpy("doctor", "shop", "--json").stdout == "[]\n"


def test_what_is_wrong_is_told_with_its_mend_errors_first(otpy: Otpy, serve: Callable[..., ControlServer]) -> None:
    late, lost = worker("shop/a", queue=5_000), worker("shop/b\x1b", status="failed", last_exit="error")
    serve(FakeSystem([late, lost]))
    result = otpy("doctor", "shop")
    assert result.exit_code == 70
    first, second = result.stdout.replace("\n ", "").splitlines()[:1], result.stdout
    assert first[0].startswith(r"error   shop/b\x1b: it was given up: error; otpy why tells more")
    assert "warning shop/a: 5000 messages wait for it" in second
    assert result.stderr == "1 error\n"
    found = json.loads(otpy("doctor", "shop", "--json").stdout)
    assert [one["level"] for one in found] == ["error", "warning"]


def test_a_warning_alone_is_no_failure(otpy: Otpy, serve: Callable[..., ControlServer]) -> None:
    serve(FakeSystem([worker("shop/a", queue=5_000)]))
    assert otpy("doctor", "shop").exit_code == 0


@pytest.mark.parametrize(
    ("server", "age"),
    [
        ({"oldest": 90.0, "is_held_up": True}, ", where a transaction has been open for 1m"),
        ({"oldest": None, "is_held_up": True}, ""),
        ({"oldest": 90.0, "is_held_up": False}, None),
        ("rubbish", None),
    ],
)
def test_a_server_that_is_held_up_is_hinted_at_beside_the_queues(server: object, age: str | None) -> None:
    console = Console(width=200)
    with console.capture() as seen:
        console.print(overview_view({"server": server, "is_leading": True}, 200))
    hints = [line for line in seen.get().splitlines() if "otpy doctor" in line]
    assert [hint.rstrip() for hint in hints] == (
        [] if age is None else [f"the server is held up{age}: otpy doctor says by whom"]
    )
