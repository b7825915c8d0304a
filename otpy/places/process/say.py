"""What is said over the pipe between a process child and its parent: the first item of each message, and what follows.

A number is that of a call, by which its answer finds who waits; each side counts its own. An actor is named by its
number on its own side, the child's own actor by 0. `refs` says what a ref looks like, `codec` what a value does.
"""

from __future__ import annotations

__all__ = ["Born", "Say"]


class Say:
    """The first item of each message; what follows it stands beside it, as it is sent."""

    # To an actor, from either side. `Child` tells these from all others by their being the lowest.
    CAST = 1
    """actor, place of the request in its class, *arguments"""
    CALL = 2
    """actor, place of the request in its class, number, *arguments"""
    INFO = 3
    """actor, message"""
    ASK = 4
    """actor, number, message"""
    STOP = 5
    """actor, reason"""
    EXIT = 6
    """actor, sender (None: the actor's parent), reason, whether the sender is dead: an exit by a link"""
    KILL = 7
    """actor"""
    CAST_WORDS = 8
    """actor, place of the request, arguments, keywords"""
    CALL_WORDS = 9
    """actor, place of the request, number, arguments, keywords"""

    # From either side.
    REPLY = 10
    """number, value"""
    FAIL = 11
    """number, and the error as `codec.error_parts` has it"""
    GONE = 16
    """the number of an actor of the sender's side that the other one knows, its exit reason"""

    # From the parent. The second item of none of these may be 0 unless it says nothing: see `Inside.read`.
    PREPARE = 12
    """path, path of its parent, `Origin.surroundings`"""
    START = 13
    """class, arguments, keywords, terms (a dict, see `port`)"""
    PRELOAD = 18
    """module, `Origin.surroundings`; to a spare process"""
    PING = 20
    """0; answered by PONG"""
    LOOK = 22
    """number, what, arguments; `answers` lists what may be asked"""
    DROP = 23
    """number of a call that is not to be handled any more"""
    UNLINKED = 32
    """actor: the answer to UNLINK, after which no exit by that link comes"""
    NAMED = 37
    """a name that was awaited and is taken now"""

    # From the child.
    BORN = 14
    """one of `Born`, reason"""
    ENDED = 15
    """the exit reason of its own actor: its last word"""
    WHEREIS = 17
    """number, name"""
    DEPTH = 19
    """how many messages have reached its bounded mailbox, how many wait there"""
    PONG = 21
    """nothing"""
    LINK = 30
    """actor, 0 for its own parent"""
    UNLINK = 31
    """actor"""
    REGISTER = 33
    """number, name"""
    EVENT = 34
    """name of the event's class, its facts"""
    STATE = 38
    """number, `take`, `settle` or `save`, path, incarnation, and what `states` puts there; a settle has no answer"""
    AWAIT = 36
    """name, whether it is awaited from now on, or no longer"""


class Born:
    """How the start of a child's own actor has ended."""

    STARTED = 0
    """`init` is done."""
    IGNORED = 1
    """`init` has said that there is nothing to do."""
    FAILED = 2
    """It has crashed, or could not begin; with the reason."""
    DECLINED = 3
    """`init` has returned a `Fail`: nothing crashed; with the reason."""
