"""The cases of OTP's behaviour that otpy answers for: their numbers, and each in a line.

A test names those it proves by the mark `otp_case`; docs/reference/not-as-otp.md tells where otpy goes another way. The
numbers have gaps: they are a selection, and those of parts that do not exist yet (sys, applications, tasks, registries,
process groups, state machines) join with their part.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from support.source import is_called, tests_that_say

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["CASES", "Claim", "claims"]

CASES = {
    # A. Exit signals, links, monitors.
    1: "a process that returns ends with the reason normal",
    2: "an error that escapes is the reason, with its stack",
    4: "kill ends also who traps exits; the reason seen is killed",
    5: "another exit signal is a message to who traps",
    6: "and the end of who does not, with the same reason",
    8: "normal sent to oneself: the end of who does not trap, a message to who does",
    9: "the reason kill of a process that ends itself goes over links as kill, and can be trapped",
    10: "killed goes over links from one to the next, and can be trapped",
    12: "shutdown over a link ends who does not trap",
    13: "one who traps in the middle of a chain is the end of it",
    14: "two links are one, and one unlink takes it away",
    16: "unlink leaves an exit message that has arrived",
    17: "a link to a dead process is answered noproc",
    18: "a link to oneself does nothing, nor does an unlink without a link",
    20: "a monitor of who is dead, or of a name without holder, says noproc once",
    21: "a monitor of oneself never says anything",
    22: "demonitor leaves what has arrived, unless it flushes",
    24: "a monitor by name tells the name, which is free by then",
    25: "what a process sent is seen before its end",
    26: "switching trap_exit off leaves what has arrived",
    28: "one name has one holder, one process one name",
    29: "an address for one reply takes the first and drops the rest",
    30: "one who traps does what came before its parent's exit, and nothing after",
    # B. The start handshake.
    32: "a start returns when init is done, not before",
    33: "and sends the starter nothing else",
    34: "an ignored start ends normal, without a report or a message",
    36: "a stop from init is the failure of the start",
    37: "so is an error from init, which is no crash",
    38: "so is junk from init",
    40: "an init beyond its time is killed, the starter lives and gets nothing else",
    41: "an init that is killed fails its start with killed",
    42: "a taken name fails the start, names the holder and leaves it alone",
    44: "continue from init goes before any message",
    45: "continue from continue does, too",
    46: "one who starts and monitors sees the end",
    # C. gen_server.
    48: "a call to who is not there is noproc; one to oneself is refused",
    49: "a call that times out leaves the server alone and gets no late reply",
    50: "a call without any time times out",
    52: "calls queued behind a crash fail with its reason",
    53: "a stop without reply fails the call with its reason",
    54: "a stop with reply runs terminate, then replies",
    56: "the first of two replies counts",
    57: "junk from a callback reaches terminate and the caller as bad_return_value",
    58: "what a callback throws is its return value",
    60: "shutdown from the parent runs terminate of who traps, and of nobody else",
    61: "shutdown from another is a message to who traps",
    62: "normal from the parent ends who traps",
    64: "a timeout fires once, and not after a message",
    65: "a timeout of nothing gives way to a message that waits",
    66: "a look at the state leaves the timeout as it is",
    68: "a stop that ends otherwise tells its caller how; what terminate throws does not matter",
    69: "a stop that times out goes on",
    70: "a stop waits behind what was sent before",
    72: "of the callbacks a server may lack handle_info and terminate, no others",
    73: "a request without waiting fails for the dead, and can be waited for twice",
    74: "replies of a collection come as they are given, each with its label",
    # D. Supervisors: start, stop, specs.
    76: "children start in order and stop in reverse",
    77: "a failed start stops those before it and tries none after it",
    78: "also when the child that fails is temporary",
    80: "an ignored child keeps its spec, unless it is temporary",
    81: "a supervisor's init may ignore, and junk from it fails the start",
    82: "one id twice fails the start before anything is started",
    84: "each fault of a spec has its error",
    85: "the defaults of a spec",
    86: "a taken name fails the start of a supervisor",
    88: "exit signals of strangers do nothing to a supervisor",
    89: "its parent's exit stops the children, then ends it with that reason",
    90: "a killed supervisor leaves its children to their links",
    92: "a message it does not expect is reported and dropped",
    93: "a call while it stops fails with its exit",
    94: "an init that calls its own supervisor cannot be answered, and does not fail for that",
    96: "requests wait while a child starts",
    # E. Restart types.
    97: "a permanent child is started again whatever its reason",
    98: "a transient one is not after a clean end, and keeps its spec",
    100: "a temporary one is forgotten, its id is free",
    101: "one that was terminated keeps its spec, unless it is temporary",
    102: "one that cut its link is listed, and its end goes unnoticed",
    # F. Strategies.
    104: "rest_for_one: the one that ended, and those after it",
    105: "rest_for_one: the last alone, the first with all",
    106: "one_for_all: all",
    108: "rest_for_one brings back who was stopped after it, and no temporary ones",
    109: "the end of a temporary child never restarts its group",
    110: "nor does the clean end of a transient one",
    112: "restart_child keeps the place, a new child goes to the end",
    113: "ends at the same time count one by one in one_for_one",
    114: "and as one restart in one_for_all",
    116: "a nested supervisor that gives up takes along those after it",
    117: "an end during a group restart is acted on after it",
    118: "a suspended supervisor restarts when it is resumed",
    # G. Restarts that fail.
    120: "each attempt counts; with a limit of 0 there is none",
    121: "one_for_one tries again until it is well, or the limit is reached",
    122: "rest_for_one keeps the others stopped meanwhile",
    124: "a sibling that fails in a group restart is the one tried again",
    125: "a restart that is ignored is done",
    126: "what is answered between two attempts",
    128: "a shutdown between two attempts is obeyed",
    129: "rest_for_one between two attempts: those after it are stopped, those before it run",
    130: "a child that crashes after its init reaches the limit",
    # H. Restart intensity.
    132: "timelines of one restart in 5 s",
    133: "timelines of one restart in 1 s",
    134: "timelines of other limits",
    136: "limits of nested supervisors multiply",
    137: "children share one counter",
    138: "restarts by hand do not count",
    # I. Escalation and auto_shutdown.
    140: "a nested supervisor is restarted until the outer one gives up",
    141: "not when it is transient: it ends with shutdown",
    142: "a restarted tree has its declared children, and no others",
    144: "any_significant: the first that ends by itself ends all",
    145: "all_significant: the last that ends by itself ends all",
    146: "a significant child where it means nothing is refused",
    148: "the shutdown of a significant supervisor goes on upwards",
    149: "a dynamic supervisor has no auto_shutdown",
    # J. Child shutdown.
    150: "a child that is busy beyond its time is killed, its siblings stop well",
    152: "one who traps works off its queue as long as it has time",
    153: "children stop one after another, dynamic ones at the same time",
    154: "hung dynamic children are killed at the same time",
    156: "ends of siblings during a stop change nothing",
    157: "a nested supervisor is waited for without end",
    # K. What a supervisor is asked.
    158: "start_child under an id that runs, or is stopped",
    160: "restart_child of one that is stopped, runs, is unknown or fails",
    161: "delete_child of one that runs, is stopped or unknown",
    162: "start_child that fails keeps nothing and is reported to nobody else",
    164: "a start may return something beside the process",
    165: "start_child whose name is taken elsewhere returns the holder",
    166: "count_children",
    168: "dynamic: nobody at first, arguments of a start come after those declared",
    169: "dynamic: children are known by their process, not by an id",
    170: "dynamic: what fails, ignores or ends well is not kept",
    172: "dynamic: a failing restart counts, and can be given up by the old process",
    173: "dynamic: an ignored restart is forgotten",
    174: "the arguments of a temporary child are not kept",
    176: "which_child",
    # L. Reports.
    177: "each start is reported, in order",
    178: "a crash is reported by the server, then by its supervisor, then the new start",
    180: "what is reported of a failing restart, the limit, and a failing first start",
    181: "a crash report comes for abnormal reasons only, and says who, where and why",
    182: "it names the linked ones that die too",
    # M to P, as far as it exists.
    185: "a suspended server obeys its parent's shutdown",
    200: "DynamicSupervisor: extra arguments come first",
    201: "DynamicSupervisor: max_children counts those between two attempts, too",
    202: "DynamicSupervisor: terminate_child by process, also by the one that ended",
    204: "DynamicSupervisor: an ignored restart is forgotten, a failing one is not",
    205: "DynamicSupervisor: three restarts in five seconds",
    206: "DynamicSupervisor: each child has its own time to stop",
    208: "two dynamic supervisors in one parent need two ids",
    224: "the default spec of a class, and what overrides it",
    # Q. What pykka's users need beside it.
    229: "an exception during a call ends the actor, which is started again",
    230: "SystemExit ends that actor alone",
    231: "a stuck child is killed, replaced, listed and fenced off",
    232: "a thousand callers of an actor that dies all return",
    233: "the interpreter ends although an actor is stuck",
    234: "an end is seen when everything of it is over",
}


@dataclass(frozen=True, slots=True)
class Claim:
    """One number in one test's mark."""

    number: object
    """As written there; a case's number when it is right."""
    place: str
    """The test, as `path::name`."""


@cache
def claims() -> list[Claim]:
    """What the marks of all tests claim, read from their source: what is collected or skipped does not matter."""
    return [
        Claim(number, f"{file}::{test.name}")
        for file, tree in tests_that_say("mark.otp_case")
        for test in ast.walk(tree)
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        for number in _marked(test)
    ]


def _marked(test: ast.FunctionDef) -> Iterator[object]:
    for mark in (node for decorator in test.decorator_list for node in ast.walk(decorator)):
        if isinstance(mark, ast.Call) and is_called(mark.func, "pytest.mark.otp_case"):
            yield from (node.value if isinstance(node, ast.Constant) else ast.unparse(node) for node in mark.args)
