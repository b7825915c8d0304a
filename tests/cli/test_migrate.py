"""`otpy jobs migrate`: tables on a server before a program needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.postgres import fresh_url, server

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    Otpy = Callable[..., Result]

pytestmark = pytest.mark.any_python


def test_it_makes_the_tables_and_says_what_there_was(otpy: Otpy) -> None:
    url = fresh_url()
    first, second = otpy("jobs", "migrate", url), otpy("jobs", "migrate", url)
    assert first.stdout == f"the tables at {url} are brought to version 1; there were none\n"
    assert second.stdout == f"the tables at {url} are up to date\n"
    server().sql("insert into otpy_schema values (99)", url.rpartition("%3D")[2])
    refused = otpy("jobs", "migrate", url)
    assert refused.exit_code == 70
    assert refused.stderr == f"Error: {url} has version 99 of the schema, and this otpy knows 1: run a newer one\n"


def test_it_is_for_servers(otpy: Otpy) -> None:
    assert otpy("jobs", "migrate", "jobs.db").exit_code == 2
    gone = otpy("jobs", "migrate", "postgresql://me:hidden@/nowhere?host=/nowhere")
    assert gone.exit_code == 70
    assert "me:***@" in gone.stderr
    assert "hidden" not in gone.stderr
