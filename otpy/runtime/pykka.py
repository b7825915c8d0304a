"""The only import of pykka: what otpy's actors and refs are to pykka's users, and where pykka's own ways are not taken.

pykka's `__init__` (2.6 KiB an actor), its `start` (a global list with slow removal) and its loop (one SystemExit stops
every actor of the program) are never used.
"""

from __future__ import annotations

from typing import Any

from pykka import Actor as PykkaActor
from pykka import ActorRef as PykkaRef
from pykka import ThreadingActor, ThreadingFuture
from pykka import ThreadingFuture as Future
from pykka import messages as _messages
from pykka._introspection import get_attr_directly

__all__ = ["Future", "PykkaActor", "PykkaRef", "ThreadingActor", "ThreadingFuture", "is_stop", "is_wrapped", "unwrap"]

_PROXY = (_messages.ProxyCall, _messages.ProxyGetAttr, _messages.ProxySetAttr)


def is_stop(message: object) -> bool:
    """Whether it is what pykka's `stop` sends."""
    return isinstance(message, _messages._ActorStop)  # noqa: SLF001 - pykka has no public name for it


def is_wrapped(message: object) -> bool:
    """Whether it is what a pykka proxy sends."""
    return isinstance(message, _PROXY)


def unwrap(actor: object, message: object) -> Any:  # Any: whatever the attribute holds
    """Do what a pykka proxy asks for."""
    match message:
        case _messages.ProxyCall():
            return get_attr_directly(actor, message.attr_path)(*message.args, **message.kwargs)
        case _messages.ProxyGetAttr():
            return get_attr_directly(actor, message.attr_path)
        case _messages.ProxySetAttr():
            owner = get_attr_directly(actor, message.attr_path[:-1]) if message.attr_path[:-1] else actor
            return setattr(owner, message.attr_path[-1], message.value)
    raise TypeError(message)
