"""Messages: what stands in a mailbox, and what it is called in reports.

A message is a flat tuple `(function, *arguments)`, called with the actor first, or a `Caller` that waits for a reply.
Flat, for a flood of messages costs the garbage collector as much as it costs the sender. What users send is always
inside of one, so no user message can pass for a `Down`, an exit signal or a request. What the runtime itself puts is
handed over by a function of its own called `deliver_…`: by that name reports and bounded mailboxes know it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from otpy.core.masking import hide
from otpy.core.text import safe_repr

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.core.masking import Show
    from otpy.runtime.caller import Caller

    Message: TypeAlias = tuple[Any, ...] | Caller

__all__ = ["describe", "head_of", "message_word", "own_word", "payload", "request_word", "with_keywords"]


def with_keywords(actor: object, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
    """Call a function that was given keywords, which few are."""
    return function(actor, *args, **kwargs)


def describe(message: object, show: Show = hide) -> str:
    """A message as text for reports: `cast put`, `call get`, `info <value>`; bounded, never fails, shows no secret."""
    word = message_word(message)
    if not isinstance(message, tuple) or len(message) == 1 or not own_word(message):
        return word
    return f"{word} {safe_repr(message[1], name='message', show=show)}"


def payload(message: object) -> tuple[Any, tuple[Any, ...], dict[str, Any]] | None:
    """The function that handles a message, and its arguments; None for what is no call or cast of a user's method."""
    flat = message if isinstance(message, tuple) else getattr(message, "message", None)
    if not isinstance(flat, tuple) or (own_word(flat) and flat is message):
        return None
    return flat[1:] if flat[0] is with_keywords else (flat[0], flat[1:], {})


def head_of(message: object) -> tuple[Any, ...] | str:
    """As little of a message as `message_word` needs: which function handles it, and nothing of what it holds."""
    if isinstance(message, tuple):
        return message[:2] if message[0] is with_keywords else message[:1]
    return message_word(message)


def message_word(message: object) -> str:
    """What kind of message it is, without anything of what it holds: `cast put`, `call get`, `info`, `exit`."""
    if message is None or isinstance(message, str):
        return message or ""
    if not isinstance(message, tuple):
        return f"call {message.request}" if hasattr(message, "request") else "?"
    word = own_word(message)
    if not word:
        return f"cast {_function_name(message)}"
    return "info" if word == "tick" else word  # to its actor it is a message like any other


def request_word(message: tuple[Any, ...]) -> str:
    """The name of what a caller asks for."""
    return own_word(message) or _function_name(message)


def _function_name(message: tuple[Any, ...]) -> str:
    function = message[1] if message[0] is with_keywords else message[0]
    return str(getattr(function, "__name__", "?"))


def own_word(message: Message) -> str:
    """Which of the runtime's own messages it is; empty for a call or cast of a user's method, whatever its name."""
    function = (message if isinstance(message, tuple) else message.message)[0]
    name = str(getattr(function, "__name__", ""))
    own = name.startswith("deliver_") and str(getattr(function, "__module__", "")).startswith("otpy.")
    return name.removeprefix("deliver_") if own else ""
