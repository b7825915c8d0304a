"""The table: what is measured, at which sizes, against whom, and what otpy has to reach."""

from __future__ import annotations

from benchmarks.model import FLOOR, OTPY, RIVALS, Aim, Experiment, Row

PYTHONS = (OTPY, *RIVALS)
EVERYBODY = (*PYTHONS, "beam")
ON_ASYNCIO = RIVALS[1:]
THREADED = (OTPY, "pykka", "beam", FLOOR)
"""Who can compute and answer at once. A rival on asyncio answers nobody while one of its actors computes."""


def at_least(factor: float, against: str) -> Aim:
    """For rows where more is better."""
    return Aim(factor=factor, against=against)


def at_most(factor: float, against: str | None = None) -> Aim:
    """For rows where less is better."""
    return Aim(factor=factor, against=against)


def messages() -> list[Experiment]:
    """What a message costs."""
    cast = Row(
        name="cast",
        unit="messages/s",
        what="casts from one outside thread to one GenServer's @cast method, until the last is handled",
        aims=(at_least(10, "pykka"), at_least(0.3, "beam")),
    )
    call = Row(
        name="call",
        unit="calls/s",
        what="calls one after another, with the default timeout, from an outside thread",
        aims=(at_least(1.8, "pykka"), at_least(0.7, FLOOR)),
    )
    call_actor = Row(
        name="call_actor",
        unit="calls/s",
        what="the same from one pool actor to another",
        aims=(at_least(0.65, FLOOR),),
    )
    ring = Row(
        name="ring",
        unit="hops/s",
        what="one message round 1 000 actors, many laps",
        aims=(at_least(0.3, "beam"), at_least(0.5, "beam_gen_server")),
    )
    return [
        Experiment(name="cast", rows=(cast,), sides=EVERYBODY),
        Experiment(name="call", rows=(call,), sides=(*EVERYBODY, FLOOR)),
        Experiment(name="call_actor", rows=(call_actor,), sides=(*EVERYBODY, FLOOR)),
        Experiment(name="ring", rows=(ring,), sides=EVERYBODY, full={"actors": 1_000}),
    ]


def starts() -> list[Experiment]:
    """What a supervised child costs to start."""
    start_child = Row(
        name="start_child",
        unit="starts/s",
        what="supervised starts under a DynamicSupervisor, init done; start_children with 1 000 ready specs a message",
        aims=(at_least(12, "pykka"), at_least(0.7, "beam")),
    )
    start_child_one = Row(
        name="start_child_one",
        unit="starts/s",
        what="the same by single start_child calls from an outside thread, each making its spec",
    )
    start_child_timed = Row(
        name="start_child_timed",
        unit="starts/s",
        what="as start_child, with a finite start_timeout",
        aims=(at_least(4, "pykka"), at_least(0.25, "beam")),
    )
    return [
        Experiment(name="start_child", rows=(start_child,), sides=EVERYBODY),
        Experiment(name="start_child_one", rows=(start_child_one,), sides=EVERYBODY),
        Experiment(name="start_child_timed", rows=(start_child_timed,), sides=(OTPY, "pykka", "beam")),
    ]


def crowd() -> list[Experiment]:
    """What many idle actors cost, and a crash among them."""
    memory = Row(
        name="memory",
        unit="bytes/actor",
        what="RSS per idle supervised child, never messaged",
        better="less",
        aims=(at_most(0.35, "beam"),),
    )
    memory_used = Row(
        name="memory_used",
        unit="bytes/actor",
        what="the same after one call to each",
        better="less",
        aims=(at_most(0.65, "beam"),),
    )
    idle = Row(
        name="idle_cpu_percent",
        unit="% of a core",
        what="the same system, left alone",
        better="less",
        aims=(at_most(0.1),),
    )
    return [
        Experiment(
            name="population",
            rows=(memory, memory_used, idle),
            sides=EVERYBODY,
            fresh=True,
            rounds=(1, 1),
            full={"actors": 100_000, "idle": 5.0},
            quick={"actors": 20_000, "idle": 0.7},
            per_side={
                "pykka": {"actors": 1_000, "idle": 1.0},
                **{rival: {"actors": 20_000, "idle": 1.0} for rival in ON_ASYNCIO},
            },
            per_side_quick={
                "pykka": {"actors": 500, "idle": 0.2},
                **{rival: {"actors": 3_000, "idle": 0.2} for rival in ON_ASYNCIO},
            },
            slow=frozenset({"tapio-py"}),
        ),
        restart(),
    ]


def restart() -> Experiment:
    """Crash to the replacement's init done."""
    rows = (
        Row(
            name="restart_p50_us",
            unit="µs",
            what="crash sent to the replacement's init done, 100 000 actors alive, crash reports logged to a file",
            better="less",
            aims=(at_most(200),),
        ),
        Row(
            name="restart_p99_us",
            unit="µs",
            what="the same, 99th percentile",
            better="less",
            aims=(at_most(5_000),),
        ),
    )
    return Experiment(
        name="restart",
        rows=rows,
        sides=(OTPY, "everything-is-an-actor", "tapio-py", "lapinbeam", "beam"),
        fresh=True,
        rounds=(2, 1),
        full={"actors": 100_000, "crashes": 1_000, "warm_up": 10},
        quick={"actors": 20_000, "crashes": 200},
        per_side={
            "everything-is-an-actor": {"actors": 20_000},
            "tapio-py": {"actors": 20_000},
            "lapinbeam": {"actors": 1_000, "crashes": 5, "warm_up": 0},  # it waits up to a second before each restart
        },
        slow=frozenset({"lapinbeam", "tapio-py"}),
    )


def waiting() -> list[Experiment]:
    """Actors that block, compute, or wait for others."""
    blocking = Row(
        name="blocking",
        unit="ms",
        what="200 pool actors each in time.sleep(0.1); the rivals on asyncio use their own helper for blocking code",
        better="less",
        aims=(at_most(2, FLOOR),),
    )
    blocking_hog = Row(
        name="blocking_hog",
        unit="ms",
        what="the same beside one actor that computes; floor: raw threads beside one that computes",
        better="less",
        aims=(at_most(5, FLOOR), at_most(5, "threads_alone")),
    )
    callers = (
        Row(
            name="blocked_callers",
            unit="s",
            what="10 000 pool actors call one server that first naps for 1 s; until all are answered",
            better="less",
        ),
        Row(name="blocked_callers_threads", unit="threads", what="the threads this used at most", better="less"),
    )
    nap: dict[str, int | float] = {"actors": 200, "nap": 0.1}
    return [
        Experiment(
            name="blocking",
            rows=(blocking,),
            sides=(*EVERYBODY, FLOOR),
            fresh=True,
            rounds=(1, 1),
            full=nap,
            slow=frozenset(ON_ASYNCIO),
        ),
        Experiment(name="blocking_hog", rows=(blocking_hog,), sides=THREADED, fresh=True, rounds=(3, 1), full=nap),
        fair(1, 0.0, at_most(30)),
        fair(1, 0.001),
        fair(8, 0.0),
        fair(8, 0.001),
        Experiment(
            name="blocked_callers",
            rows=callers,
            sides=(*EVERYBODY, FLOOR),
            fresh=True,
            rounds=(1, 1),
            full={"actors": 10_000, "nap": 1.0},
            quick={"actors": 1_000, "nap": 0.2},
            per_side={"pykka": {"actors": 2_000}},
            per_side_quick={"pykka": {"actors": 1_000}},
            slow=frozenset({"lapinbeam", "tapio-py"}),
        ),
    ]


def fair(hogs: int, switch: float, *aims: Aim) -> Experiment:
    """Calls to an idle actor beside actors that compute in pure Python; `switch` 0.0 leaves the default interval."""
    name = f"fair_{hogs}_fast" if switch else f"fair_{hogs}"
    with_switch = ", with `otpy run`'s switch interval of 1 ms" if switch else ""
    row = Row(
        name=f"{name}_p99_ms",
        unit="ms",
        what=f"calls to an idle actor beside {hogs} computing in pure Python{with_switch}, 99th percentile",
        better="less",
        aims=aims,
    )
    return Experiment(
        name=name,
        rows=(row,),
        sides=(OTPY, FLOOR) if switch else THREADED,
        fresh=True,
        rounds=(2, 1),
        full={"hogs": hogs, "switch": switch, "listen": 3.0, "most": 2_000},
        quick={"listen": 0.6},
    )


def million() -> Experiment:
    """How far it goes."""
    shown = [
        ("million_start_s", "s", "time to start them"),
        ("million_count_ms", "ms", "time to count them"),
        ("million_stop_s", "s", "time to stop the system"),
        ("million_gc_ms", "ms", "longest pause of the garbage collector while they started"),
        ("million_gc_full_ms", "ms", "a full collection when all are up"),
        ("million_bytes_at_1_percent", "bytes/actor", "RSS per actor when the first hundredth is up"),
        ("million_bytes_at_10_percent", "bytes/actor", "RSS per actor when the first tenth is up"),
    ]
    mib = Row(
        name="million_mib",
        unit="MiB",
        what="1 000 000 idle supervised actors: RSS",
        better="less",
        aims=(at_most(1_024),),
    )
    linear = Row(
        name="million_bytes",
        unit="bytes/actor",
        what="RSS per actor when all are up; linear growth keeps it alike",
        better="less",
        aims=(at_most(1.15, "at_1_percent"),),
    )
    others = [Row(name=name, unit=unit, what=what, better="less") for name, unit, what in shown]
    return Experiment(
        name="million",
        rows=(mib, *others, linear),
        sides=(OTPY,),
        fresh=True,
        rounds=(1, 1),
        full={"actors": 1_000_000},
        quick={"actors": 100_000},
    )


def loops() -> list[Experiment]:
    """Actors on the event loop; the floor is bare asyncio, on its own loop and without uvloop, as otpy's side."""
    call_async = Row(
        name="call_async",
        unit="calls/s",
        what="awaited calls one after another, with the default timeout, from one loop actor to another",
        aims=(at_least(0.7, FLOOR), at_least(4, "pykka")),
    )
    ring_async = Row(
        name="ring_async",
        unit="hops/s",
        what="one message round 1 000 loop actors, many laps",
        aims=(at_least(0.5, FLOOR),),
    )
    memory = Row(
        name="loop_memory",
        unit="bytes/actor",
        what="RSS per idle supervised loop actor, never messaged",
        better="less",
        aims=(at_most(1_536),),
    )
    return [
        Experiment(name="call_async", rows=(call_async,), sides=(OTPY, "pykka", FLOOR)),
        Experiment(name="ring_async", rows=(ring_async,), sides=(OTPY, FLOOR), full={"actors": 1_000}),
        Experiment(
            name="loop_memory",
            rows=(memory,),
            sides=(OTPY,),
            fresh=True,
            rounds=(1, 1),
            full={"actors": 100_000},
            quick={"actors": 20_000},
        ),
    ]


def prices() -> list[Experiment]:
    """What otpy's own comforts cost: its peers here are otpy itself without them."""
    links = Row(
        name="price_links",
        unit="lives/s",
        what="an actor starts another, links to it, stops it and hears of its end; `without`: it does not link",
    )
    inspector = Row(
        name="price_inspector",
        unit="messages/s",
        what="casts beside 1 000 actors while another process asks for the tree 10 times a second; "
        "`unwatched`: nobody asks; `off`: no control socket",
    )
    events = Row(
        name="price_events",
        unit="starts/s",
        what="start_child with one listener to all events; `without`: with the log alone",
    )
    return [Experiment(name=row.name, rows=(row,), sides=(OTPY,), rounds=(3, 1)) for row in (links, inspector, events)]


def processes() -> list[Experiment]:
    """What children in processes of their own cost; the floor is `multiprocessing` by itself."""
    start = Row(
        name="process_start_ms",
        unit="ms",
        what="starts of process children one right after the other, init done; floor: a forkserver process says hello",
        better="less",
        aims=(at_most(1.3, FLOOR),),
    )
    warm = Row(
        name="process_start_warm_ms",
        unit="ms",
        what="the same when a spare process is ready, as it is a moment after each start",
        better="less",
        aims=(at_most(10),),
    )
    call = Row(
        name="process_call",
        unit="calls/s",
        what="calls one after another to a process child; floor: an echo over a bare multiprocessing Pipe",
        aims=(at_least(0.6, FLOOR),),
    )
    cast = Row(
        name="process_cast",
        unit="messages/s",
        what="casts to a process child, until the last is handled; floor: multiprocessing Queue, one by one",
        aims=(at_least(3, FLOOR),),
    )
    kill = Row(
        name="process_kill_p99_ms",
        unit="ms",
        what="kill of a process child to its replacement's init done, a spare process ready, 99th percentile",
        better="less",
        aims=(at_most(50),),
    )
    parallel = Row(
        name="parallel",
        unit="times",
        what="work in pure Python on two process children ÷ on one; floor: the same on two forkserver processes",
        aims=(Aim(factor=1.8),),
    )
    sizes: dict[str, int | float] = {"starts": 30}
    few: dict[str, int | float] = {"starts": 10}
    return [
        Experiment(name="process_start", rows=(start,), sides=(OTPY, FLOOR), rounds=(3, 1), full=sizes, quick=few),
        Experiment(name="process_start_warm", rows=(warm,), sides=(OTPY,), rounds=(3, 1), full=sizes, quick=few),
        Experiment(name="process_call", rows=(call,), sides=(OTPY, FLOOR)),
        Experiment(name="process_cast", rows=(cast,), sides=(OTPY, FLOOR)),
        Experiment(
            name="process_kill", rows=(kill,), sides=(OTPY,), rounds=(2, 1), full={"kills": 100}, quick={"kills": 10}
        ),
        Experiment(
            name="parallel",
            rows=(parallel,),
            sides=(OTPY, FLOOR),
            rounds=(3, 1),
            full={"rounds": 20_000_000, "tries": 3},
            quick={"rounds": 2_000_000, "tries": 3},
        ),
    ]


def imports() -> list[Experiment]:
    """What every program that has otpy in it pays before its first line, and every command that looks at one."""
    program = Row(
        name="import_ms",
        unit="ms",
        what="processor time of a program that imports otpy and ends; floor: one that imports asyncio",
        better="less",
        aims=(at_most(2.5, FLOOR),),
    )
    command = Row(
        name="look_ms",
        unit="ms",
        what="the same of one that imports the command `otpy tree`; floor: one that imports click and rich",
        better="less",
        aims=(at_most(2, FLOOR),),
    )
    return [
        Experiment(
            name=name, rows=(row,), sides=(OTPY, FLOOR), rounds=(3, 1), full={"programs": 10}, quick={"programs": 3}
        )
        for name, row in (("import", program), ("look", command))
    ]


def places() -> list[Experiment]:
    """What an actor costs in each place, for the table that helps to choose one."""
    sizes: dict[str, dict[str, int | float]] = {
        "pool": {"crowd": 10_000, "lives": 300, "calls": 5_000, "casts": 50_000},
        "thread": {"crowd": 300, "lives": 100, "calls": 3_000, "casts": 30_000},
        "loop": {"crowd": 10_000, "lives": 300, "calls": 3_000, "casts": 30_000},
        "process": {"crowd": 10, "lives": 20, "calls": 3_000, "casts": 30_000},
    }
    return [
        Experiment(
            name=f"place_{place}",
            rows=tuple(
                Row(name=f"{place}_{name}", unit=unit, what=f"place {place}: {what}", better="less")
                for name, unit, what in PLACE_ROWS
            ),
            sides=(OTPY,),
            fresh=True,
            rounds=(3, 1),
            full=full,
            quick={"crowd": 3 if place == "process" else 100, "lives": 3, "calls": 300, "casts": 3_000},
        )
        for place, full in sizes.items()
    ]


PLACE_ROWS = (
    ("start_us", "µs", "start of one child of a supervisor, median"),
    ("call_us", "µs", "one of many calls from an outside thread"),
    ("cast_us", "µs", "one of many casts, until the last is handled"),
    ("kib", "KiB", "memory of an idle actor that has answered once; of a process what no other shares"),
    ("kill_us", "µs", "kill of an actor to its Down message, median"),
)

PLAN = [
    *messages(),
    *starts(),
    *crowd(),
    *waiting(),
    *loops(),
    million(),
    *prices(),
    *processes(),
    *imports(),
    *places(),
]
