"""The page `from-one-machine-to-three` as written: its roles and rights, its program three times, its figures."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import otpy
from otpy import jobs
from otpy.cli import main
from otpy.control.doctor import look_over
from support.markdown import blocks
from support.postgres import server
from support.source import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.any_python

PAGE = blocks(ROOT / "docs/how-to/from-one-machine-to-three.md")


def code(language: str, mark: str) -> str:
    (block,) = [one for one in PAGE if one.language == language and mark in one.marks]
    return block.code


def address(user: str) -> str:
    return f"postgresql://{user}@/shop?host={server().folder}"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What the page defines, with a database as it says."""
    import psycopg  # noqa: PLC0415 - an extra

    server().sql(code("sql", "create"))
    with psycopg.connect(address("otpy")) as db:
        db.execute(code("sql", "setup"))
    module = ModuleType("three_machines")
    monkeypatch.setitem(sys.modules, "three_machines", module)
    monkeypatch.setenv("SHOP_STORE", address("shop"))
    source = code("python", "runnable").partition("with otpy.run(")[0]
    exec(compile(source, "page", "exec"), vars(module))  # noqa: S102 - our own page
    yield module
    server().sql("drop database shop with (force)")
    server().sql("drop role shop; drop role shop_owner")


def test_three_machines_work_as_the_page_says(shop: Any) -> None:
    made = CliRunner().invoke(main, ["jobs", "migrate", address("shop_owner")])
    there = re.escape(address("shop_owner"))
    assert re.fullmatch(rf"the tables at {there} are brought to version \d+; there were none\n", made.stdout), (
        made.output
    )
    machines = [otpy.System(name) for name in "abc"]
    for one in machines:
        one.start(otpy.child(shop.Shop).opts(id="shop"))
    clients = [jobs.of(one) for one in machines]
    letters = [client.enqueue(shop.send.new(f"letter {number}")).id for number, client in enumerate(clients * 10)]
    assert {client.wait(one, 30.0).state for client in clients for one in letters} == {"done"}
    assert [shop.probe(one) for one in machines] == [(200, "ready")] * 3
    assert shop.figures(machines[0]).keys() == {"ready", "oldest_transaction", "dead_rows"}
    assert [one.is_alive for one in clients[0].hosts()] == [True] * 3
    assert [finding for one in machines for finding in look_over(one)] == []  # type: ignore[arg-type]  # `Inspected`
    assert machines[0].stop(timeout=10.0) == []
    assert clients[1].wait(clients[2].enqueue(shop.send.new("last")).id, 30.0).result_value == "last is sent"
    assert sum(one.is_alive for one in clients[1].hosts()) == 2
    for one in machines[1:]:
        assert one.stop(timeout=10.0) == []
