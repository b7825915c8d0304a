"""Families of scenarios: what may stand together. `generator` says what each is for."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FAMILIES", "GATES", "GROUPS", "KILLS", "LIMITS", "LINKS", "Family"]

ALL = ("rest_for_one", "one_for_all", "one_for_one")
FEW = (2, 1, 3, 5, 0)
ENDLESS = (1_000,)
TIMES = (5000, 5000, "infinity", "brutal_kill")
USUAL = ("", "", "", "", "", "", "", "+!", "+!!", "+?", "+s!", "+~", "~")
FAILING = ("!", "!", "?", "s", "~", "!!+!")
FOR_EVER = ("+!*", "++!*")
DEEDS = ("end", "end", "end", "crash", "exit", "signal", "kill", "kill", "kill", "call")
REQUESTS = (
    "which_children",
    "count_children",
    "get_childspec",
    "start_child",
    "start_child",
    "terminate_child",
    "terminate_child",
    "restart_child",
    "restart_child",
    "delete_child",
)
RARE = ("leave", "junk", "signal_supervisor")
DYNAMIC = ("start_dynamic", "start_dynamic", "terminate_dynamic", "which_dynamic", "count_dynamic")


@dataclass(frozen=True)
class Family:
    """What a scenario is drawn from; what stands twice in a tuple is drawn more often."""

    name: str
    verbs: tuple[str, ...]
    strategies: tuple[str, ...] = ALL
    intensities: tuple[int, ...] = FEW
    plans: tuple[str, ...] = USUAL
    shutdowns: tuple[int | str, ...] = TIMES
    stops: tuple[str, ...] = ("ok", "ok", "ok", "ok", "boom", "error")
    ordered: bool = True
    auto_shutdowns: tuple[str, ...] = ("never", "never", "any_significant", "all_significant", "all_significant")


LIMITS = Family(
    "limits",
    (*DEEDS, *REQUESTS, *DYNAMIC, *RARE, *5 * ("together",), *3 * ("queue",)),
    plans=(*USUAL, *FOR_EVER, "c"),
    stops=("ok", "ok", "ok", "ok", "ok", "boom", "error", "hang"),
)
GROUPS = Family(
    "groups",
    (*DEEDS, *REQUESTS, *DYNAMIC, *RARE, *5 * ("together",), *3 * ("queue",)),
    intensities=ENDLESS,
    plans=(*USUAL, "c*"),
)
GATES = Family(
    "gates",
    # No terminate_dynamic: who waits for a gate may be dead by the time it is heard.
    (
        *DEEDS,
        *REQUESTS,
        "start_dynamic",
        "start_dynamic",
        "which_dynamic",
        "hold",
        "hold",
        "hold",
        "open",
        "open",
        "junk",
    ),
    intensities=(0, 1, 2, 1_000),
    plans=(*USUAL, "+g", "+g", "g", "+g!", "+!g"),
    shutdowns=("infinity", "infinity", "brutal_kill"),
)
LINKS = Family(
    "links",
    (
        *DEEDS,
        *REQUESTS,
        *DYNAMIC,
        *3 * ("link", "link", "monitor", "unlink", "trap", "demonitor", "send_exit", "spawn_link"),
    ),
    strategies=("one_for_one",),
    intensities=ENDLESS,
    plans=(*USUAL, "+x", "+xx", "+x!"),
    ordered=False,
    auto_shutdowns=("never",),
)
KILLS = Family(
    "kills",
    (*DEEDS, *REQUESTS, *DYNAMIC, "kill_supervisor", "kill_supervisor", "kill_supervisor", "signal_supervisor"),
    ordered=False,
)
FAMILIES = (LIMITS, GROUPS, GATES, LINKS, KILLS, LIMITS, GROUPS)
