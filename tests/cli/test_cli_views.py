"""The views: exact lines from records, on any width, with nothing in them that acts on a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from otpy.cli.formats import counted, duration
from otpy.cli.reach import Seen
from otpy.cli.views import ASCII, info_view, programs_view, tree_view
from otpy.control.errors import ControlError, NoAnswerError
from otpy.control.snapshot import Detail, Snapshot, Summary
from support.fake_system import shop, supervisor, worker

SHOP = Summary(name="shop", pid=7, version="0.1", uptime=120.0, counts={"actors": 6, "threads": 3, "zombies": 0})
if TYPE_CHECKING:
    from rich.console import RenderableType

    from otpy.core.record import ActorRecord

EVIL = "\x1b[31m[red]evil[/red]:smile:\u202e"
HARMLESS = r"\x1b[31m[red]evil[/red]:smile:\u202e"


def printed(view: RenderableType, width: int = 120) -> list[str]:
    """The lines on a screen of that width that shows colours."""
    stream = io.StringIO()
    Console(file=stream, width=width, markup=False, emoji=False, highlight=False).print(view)
    return stream.getvalue().splitlines()


def tree(records: list[ActorRecord], width: int = 120, **changes: object) -> list[str]:
    facts = {"system": SHOP, "records": tuple(records), "zombies": (), "left_out": 0} | changes
    return printed(tree_view(Snapshot(**facts), width=width), width)  # type: ignore[arg-type]


def test_the_tree_of_the_shop() -> None:
    assert tree(shop()) == [
        "shop                Shop               rest_for_one  up 2m                       3 children",
        "├── cache           Cache              idle          up 2m  restarts 0  queue 4",
        "├── feed            poll_feed          running       up 3s  restarts 2  queue 0  busy 0.8s  init",
        "└── sessions        DynamicSupervisor  one_for_one   up 2m                       500 children",
        "    ├── 1           Session            idle          up 2m  restarts 0  queue 0",
        "    ├── 2           Session            idle          up 2m  restarts 0  queue 0",
        "    └── … 498 more",
    ]


def test_the_first_line_of_a_tree_that_drains_says_who_told_it_and_how_long_it_may_take() -> None:
    told = replace(SHOP, draining=f"otpy drain by user 0 {EVIL}", left=12.4)
    assert tree(shop()[1:2], system=told)[0] == f"shop drains: otpy drain by user 0 {HARMLESS}; 12s left"
    seen = Seen("shop", 7, "operate", told)
    assert f"(drains: otpy drain by user 0 {HARMLESS})" in printed(programs_view([seen], width=200), 200)[1]


def test_a_narrow_screen_keeps_names_and_states() -> None:
    assert tree(shop()[:3], 48) == [
        "shop          rest_for_one  3 children",
        "├── cache     idle",
        "├── feed      running       busy 0.8s  init",
        "└── … 1 more",
    ]


def test_what_is_the_matter_with_one_actor_takes_no_column_from_the_others() -> None:
    trouble = "degraded for 4s: ConnectionRefusedError: [Errno 111] Connection refused"
    ill = worker("shop/cache", trouble=trouble, uptime=4.0)

    assert tree([supervisor("shop", 1), ill], 96) == [
        "shop       Supervisor  one_for_one  up 2m                       1 child",
        "└── cache  Cache       idle         up 4s  restarts 0  queue 0  degraded for 4s: ConnectionRefu…",
    ]


def test_a_narrow_screen_keeps_what_an_actor_says_of_itself() -> None:
    """Eighty columns showed neither that a breaker is open nor how much waits in an outbox: both stood by the class."""
    trouble = "degraded for 4s: ConnectionRefusedError: [Errno 111] Connection refused"
    agent = [
        supervisor("a001-of-the-north", 2),
        worker("a001-of-the-north/breaker", kind="Breaker open"),
        worker("a001-of-the-north/outbox", kind="Outbox 3 rows, 27B", trouble=trouble),
    ]

    assert tree(agent, 80) == [
        "a001-of-the-north  one_for_one           2 children",
        "├── breaker        idle         queue 0  open",
        "└── outbox         idle         queue 0  3 rows, 27B  degraded for 4s: Connecti…",
    ]
    assert tree(agent[:2], 80)[1] == "├── breaker        idle         up 2m  restarts 0  queue 0  open"


def test_guides_can_be_plain_ascii() -> None:
    snapshot = Snapshot(system=SHOP, records=tuple(shop()[:2]), zombies=(), left_out=0)

    lines = printed(tree_view(snapshot, width=120, guides=ASCII))

    assert lines[1].startswith("|-- cache")


def test_a_child_that_waits_for_its_restart_says_how_long_and_one_that_was_given_up_that_it_failed() -> None:
    waits = worker("shop/feed", kind="poll_feed", status="restarting", number=0, next_start=12.0)
    failed = worker("shop/mail", kind="Mail", status="failed", number=0)

    lines = [line.split() for line in tree([supervisor("shop", 2), waits, failed])]

    assert lines[1] == [
        "├──",
        "feed",
        "poll_feed",
        "restarting",
        *["restarts", "0", "queue", "0", "starts", "in", "12s"],
    ]
    assert lines[2][:4] == ["└──", "mail", "Mail", "failed"]
    facts = [line.split() for line in printed(info_view(Detail(record=waits, stack=None)))]
    assert ["next", "start", "in", "12s"] in facts


def test_a_silent_process_is_told_of() -> None:
    stopped = worker("shop/x", place="process", trouble="silent for 12 s: it is stopped (T)")
    assert tree([stopped]) == ["x  Cache  idle  up 2m  restarts 0  queue 0  silent for 12 s: it is stopped (T)"]
    facts = [line.split(maxsplit=1) for line in printed(info_view(Detail(record=stopped, stack=None)))]
    assert ["trouble", "silent for 12 s: it is stopped (T)"] in facts


def test_zombies_stand_below_with_their_thread() -> None:
    zombie = worker("shop/old", status="zombie", busy=12.0, current="call get", thread="otpy-3")

    assert tree(shop()[:1], zombies=(zombie,))[1:] == [
        "└── … 3 more",
        "",
        "1 zombie: killed, but the thread has not come back",
        "shop/old  Cache  zombie  busy 12s  call get  on otpy-3",
    ]


def test_what_was_left_out_is_said() -> None:
    assert tree(shop()[1:2], left_out=3)[1:] == ["3 actors left out: name a part of the tree, or lower --limit"]


def test_a_child_without_a_process_has_no_uptime() -> None:
    assert tree([worker("shop/x", status="stopped", number=0)]) == ["x  Cache  stopped  restarts 0  queue 0"]


def test_a_supervisor_that_is_not_at_rest_shows_its_state() -> None:
    assert tree([supervisor("shop", 0, status="stopping", restarts=1, queue=2)]) == [
        "shop  Supervisor  stopping  up 2m  restarts 1  queue 2  0 children"
    ]


def test_an_empty_tree_is_nothing() -> None:
    assert tree([]) in ([], [""])


def test_the_second_incarnation_of_a_path_takes_the_children_that_follow_it() -> None:
    records = [supervisor("a", 2), supervisor("a/b", 0), supervisor("a/b", 1), worker("a/b/c")]

    names = [line.partition("Cache")[0].partition("Supervisor")[0].rstrip() for line in tree(records)]

    assert names == ["a", "├── b", "└── b", "    └── c"]


def test_ids_with_a_slash_find_their_parent() -> None:
    records = [supervisor("a", 1), worker("a/x/y", id="x/y")]

    assert tree(records)[1].startswith("└── x/y")


def test_a_tree_may_be_deeper_than_python_recurses() -> None:
    records = [supervisor("/".join("a" * depth), 1, id="a") for depth in range(1, 1_500)]

    assert all(cell_len(line) <= 60 for line in tree(records, 60))


def evil_record() -> ActorRecord:
    texts = dict.fromkeys(("id", "kind", "status", "place", "name", "current", "thread", "last_exit"), EVIL)
    return worker(f"shop/{EVIL}", **texts, strategy=EVIL, links=(EVIL,), resources=(EVIL,), busy=1.0)


def test_text_of_the_program_never_acts_on_the_terminal() -> None:
    record = evil_record()
    summary = Summary(name=EVIL, pid=1, version=EVIL, command=EVIL, counts={})
    views = [
        tree_view(Snapshot(system=summary, records=(record,), zombies=(record,), left_out=0), width=300),
        info_view(Detail(record=record, stack=f"{EVIL}\n{EVIL}")),
        programs_view([Seen(EVIL, 1, EVIL, summary), Seen(EVIL, error=ControlError(EVIL))], width=300),
    ]

    for view in views:
        text = "\n".join(printed(view, 300))
        assert HARMLESS in text
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("width", [1, 2, 5, 12, 30, 47, 80, 200])
def test_no_line_is_wider_than_the_screen(width: int) -> None:
    wide = worker("shop/漢字漢字漢字", id="漢字漢字漢字", kind="漢" * 50, busy=1.0, current="x" * 90)
    records = [*shop(), wide]
    lines = tree(records, width, zombies=(wide,), left_out=1)
    lines += printed(info_view(Detail(record=wide, stack="x" * 500)), width)
    lines += printed(programs_view([Seen("shop", 7, "read", SHOP)], width=width), width)

    assert max(map(cell_len, lines)) <= width


NAMES = st.text(max_size=6)
RECORDS = st.builds(
    lambda parts, kind, children: worker("/".join(parts), kind=kind, children=children),
    st.lists(NAMES, min_size=1, max_size=4),
    NAMES,
    st.integers(0, 3),
)


@settings(max_examples=40)
@given(st.lists(RECORDS, max_size=8), st.integers(4, 100))
def test_any_records_make_a_view_that_fits(records: list[ActorRecord], width: int) -> None:
    lines = tree(records, width)

    assert all(cell_len(line) <= width and line.isprintable() for line in lines)


def test_of_an_actor_with_several_handlers_it_says_how_many_are_in_flight() -> None:
    record = worker("shop/fetcher", max_concurrency=8, handlers=3, waiting="3 of 8 handlers")

    shown = printed(info_view(Detail(record=record, stack=None)))

    assert "in flight    3 of 8" in shown
    assert not any(line.startswith("waits for") for line in shown)


def test_all_that_is_known_of_an_actor() -> None:
    record = worker("shop/cache", name="cache", links=("shop",), monitors=1, resources=("file", "lock"))

    assert printed(info_view(Detail(record=record, stack=None))) == [
        "path         shop/cache",
        "runs         Cache, a worker on pool",
        "state        idle",
        "name         cache",
        "up           2m, as #7",
        "restarts     0",
        "last exit    none",
        "queue        0 messages",
        "busy         no",
        "message      none",
        "thread       none",
        "traps exits  no",
        "links        shop",
        "monitors     1",
        "resources    file, lock",
        "timers       0",
    ]


def test_of_an_actor_that_persists_it_says_when_that_was() -> None:
    shown = printed(info_view(Detail(record=worker("shop/cache", saved=125.0), stack=None)))

    assert "state saved  2m ago" in shown


def test_a_supervisor_tells_its_strategy_and_a_running_actor_its_stack() -> None:
    lines = printed(info_view(Detail(record=supervisor("shop", 3), stack="one\n  two")))
    words = [line.split() for line in lines]

    assert ["strategy", "one_for_one"] in words
    assert ["children", "3"] in words
    assert lines[-3:] == ["stack", "one", "  two"]


def test_long_lists_are_cut() -> None:
    record = worker("a", links=tuple(f"a/{number}" for number in range(500)))

    line = " ".join(printed(info_view(Detail(record=record, stack=None)), 1_000))

    assert "a/19, …" in line


def test_programs_in_a_table() -> None:
    programs = [Seen("shop", 7, "read", SHOP), Seen("stuck", 8, error=NoAnswerError("stuck", 8, 1.0))]

    lines = printed(programs_view(programs, width=120))

    assert [line.split() for line in lines] == [
        ["name", "pid", "up", "actors", "threads", "zombies", "control", "otpy", "command"],
        ["shop", "7", "2m", "6", "3", "0", "read", "0.1"],
        ["stuck", "8", "does", "not", "answer"],
    ]


def test_a_command_that_is_too_long_loses_its_folder_first() -> None:
    seen = Seen("shop", 7, "read", replace(SHOP, command="/srv/shop/.venv/bin/otpy run shop:Shop"))

    assert printed(programs_view([seen], width=120), 120)[1].endswith("0.1   /srv/shop/.venv/bin/otpy run shop:Shop")
    assert printed(programs_view([seen], width=80), 80)[1].endswith("0.1   otpy run shop:Shop")
    assert printed(programs_view([seen], width=72), 72) == [
        "name  pid  up  actors  threads  zombies  control  command",
        "shop  7    2m  6       3        0        read     otpy run shop:Shop",
    ]


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0.0s"),
        (0.84, "0.8s"),
        (1, "1s"),
        (59.9, "59s"),
        (60, "1m"),
        (3_599, "59m"),
        (3_600, "1h"),
        (12_000, "3h 20m"),
        (86_400, "1d"),
        (1_051_200, "12d 4h"),
        (-1, "?"),
        (float("nan"), "?"),
        (float("inf"), "?"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


def test_numbers_of_things() -> None:
    assert [counted(1, "child"), counted(0, "child"), counted(12_500, "actor")] == [
        "1 child",
        "0 children",
        "12 500 actors",
    ]
