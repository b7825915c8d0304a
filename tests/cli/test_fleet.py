"""`otpy fleet`: a hub's agents by label from another terminal, and the view with whatever a program may say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console

import otpy as library
from otpy.cli.fleet_view import fleet_view
from otpy.fleet import FleetView
from otpy.testing import VirtualClock
from support.systems import quiet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from click.testing import Result
    from rich.console import RenderableType

    Otpy = Callable[..., Result]

__all__ = ["quiet"]


def drawn(view: RenderableType, width: int = 100) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(view)
    return capture.get()


def hub(*views: FleetView) -> type[library.Supervisor]:
    class Hub(library.Supervisor):
        def children(self) -> list[library.ChildSpec]:
            return [view.child() for view in views]

    return Hub


@pytest.fixture
def fleet(directory: Path, quiet: None) -> Iterator[FleetView]:
    view = FleetView("boilers")
    clock = VirtualClock()  # it stands: who was heard just now was heard no time ago
    with library.run(hub(view), name="hub", control_directory=directory, clock=clock):
        view.expect(["e"], labels={"region": "us"})
        for number, name in enumerate("abcd"):
            view.beat(name, labels={"region": "eu" if number < 3 else "us", "version": "1"}, incarnation=name)
        view.beat("b", state="degraded", why="its disk is slow", incarnation="b2")
        view.beat("c", state="gone", why="drained", incarnation="c")
        yield view


def test_the_fleet_is_shown_by_label(fleet: FleetView, otpy: Otpy) -> None:
    whole = otpy("fleet", "hub").output.splitlines()
    regions = otpy("fleet", "--by", "region").output.splitlines()
    assert whole[0].split() == ["fleet", "alive", "silent", "dead", "never", "seen", "draining", "degraded", "share"]
    assert whole[1].split() == ["boilers", "3", "0", "1", "1", "0", "1", "75%"]
    assert whole[-1] == "by label: --by region, version"
    assert [line.split() for line in regions[1:4]] == [
        ["us", "1", "0", "0", "1", "0", "0", "50%"],
        ["eu", "2", "0", "1", "0", "0", "1", "100%"],
        ["all", "3", "0", "1", "1", "0", "1", "75%"],
    ]
    assert "no share is judged for 1m yet" in regions[-1]


def test_agents_are_listed_by_state_and_label(fleet: FleetView, otpy: Otpy) -> None:
    dead = otpy("fleet", "hub", "--state", "dead").output.splitlines()[-1]
    eu = otpy("fleet", "hub", "--label", "region=eu", "--limit", "2").output.splitlines()
    assert dead.split() == ["c", "dead", "heard", "0.0s", "ago", "region=eu", "version=1", "drained"]
    assert [line.split()[0] for line in eu[-3:]] == ["a", "b", "and"]
    assert eu[-2].endswith("its disk is slow  1 restart")


def test_for_programs_it_is_json(fleet: FleetView, otpy: Otpy, monkeypatch: pytest.MonkeyPatch) -> None:
    said = json.loads(otpy("fleet", "hub", "--by", "region", "--state", "never_seen", "--json").output)
    monkeypatch.setattr("otpy.cli.fleet.ticks", lambda _: iter([None, None]))
    lines = otpy("fleet", "hub", "--watch", "--json").output.splitlines()
    shown = otpy("fleet", "hub", "--watch").output
    assert (said["fleet"], said["look"]["whole"]["alive"]) == ("boilers", 3)
    assert [(group["value"], group["share"]) for group in said["groups"]] == [("us", 0.5), ("eu", 1.0)]
    assert [(one["name"], one["heard"]) for one in said["agents"]] == [("e", None)]
    assert [json.loads(line)["fleet"] for line in lines] == ["boilers", "boilers"]
    assert shown.count("boilers") == 2


def test_what_is_misspelt_is_said(fleet: FleetView, otpy: Otpy) -> None:
    said = [
        otpy("fleet", "hub", *words)
        for words in (("--by", "regoin"), ("--fleet", "boiler"), ("--label", "region"), ("--state", "well"))
    ]
    assert [one.exit_code for one in said] == [70, 70, 2, 2]
    assert "no label 'regoin': did you mean 'region'?" in said[0].output
    assert "no fleet 'boiler': did you mean 'boilers'?" in said[1].output
    assert "--label region: say NAME=VALUE" in said[2].output


def test_of_several_fleets_one_is_named(directory: Path, otpy: Otpy, quiet: None) -> None:
    one, two = FleetView("one"), FleetView("two")
    with library.run(hub(one, two), name="hub", control_directory=directory):
        two.beat("a")
        which = otpy("fleet", "hub")
        said = otpy("fleet", "hub", "--fleet", "two").output.splitlines()[1].split()
    assert (which.exit_code, "name one: one, two" in which.output, said[:2]) == (70, True, ["two", "1"])


def test_a_program_without_a_fleet_says_so(directory: Path, otpy: Otpy, quiet: None) -> None:
    with library.run(hub(), name="shop", control_directory=directory):
        said = otpy("fleet", "shop")
    assert (said.exit_code, said.output) == (70, "Error: no fleet is seen from shop\n")


def test_ten_thousand_groups_and_agents_are_shown_in_a_few_lines(fleet: FleetView, otpy: Otpy) -> None:
    for number in range(3_000):
        fleet.beat(f"x{number}", labels={"id": str(number)})
    said = otpy("fleet", "hub", "--by", "id", "--state", "alive")
    lines = said.output.splitlines()
    assert (said.exit_code, len(lines) < 120) == (0, True)
    assert "and 2 950 others with a larger share" in lines
    assert lines[-1] == "and more: --limit shows them"


def test_what_comes_from_afar_is_shown_as_text(fleet: FleetView, otpy: Otpy) -> None:
    nasty = "\x1b[2J[red]\u202e\n"
    fleet.beat(nasty, labels={nasty: nasty}, state="degraded", why=nasty, figures={nasty: 1})
    said = otpy("fleet", "hub", "--state", "degraded").output + otpy("fleet", "hub", "--by", nasty).output
    assert not {"\x1b", "\u202e"} & {*said}
    assert "\\x1b[2J[red]\\u202e\\n" in said
    assert all(len(line) <= 160 for line in said.splitlines())


@pytest.mark.parametrize(
    "seen",
    [
        None,
        {},
        {"look": 3, "groups": 4, "agents": "x"},
        {"look": {"whole": [], "labels": {}, "grace": "long"}, "groups": [None, {}], "agents": [1, {}]},
        {"groups": [{"value": 3, "share": "all", "alive": "many", "oldest_silence": -1}], "groups_left_out": "some"},
        {"agents": [{"name": [], "labels": [1], "heard": "now", "restarts": "two", "why": 5}], "has_more_agents": 1},
    ],
)
@pytest.mark.parametrize("width", [20, 100])
def test_the_view_bears_whatever_a_program_says(seen: Any, width: int) -> None:
    assert all(len(line) <= width for line in drawn(fleet_view(seen, width, by="region"), width).splitlines())


def test_what_the_matter_is_with_the_hub_itself_is_noted() -> None:
    look = {"is_deaf": True, "is_storm": True, "fenced": 3, "late": 0, "malformed": 1, "refused": 0, "grace": 0}
    said = drawn(fleet_view({"look": look}, 100, by=None))
    assert "the hub hears nobody at all" in said
    assert "a storm" in said
    assert "beats passed over: 3 fenced, 1 malformed" in said


def test_agents_that_were_asked_for_and_are_not_there_are_no_silence() -> None:
    assert drawn(fleet_view({}, 100, by=None, wants_agents=True)).endswith("\nno agent is as asked for\n")
    assert "asked for" not in drawn(fleet_view({}, 100, by=None))
