"""asyncio, imported when something of it is first used: a program whose actors are no coroutines starts without it.

It brings sockets, subprocesses and TLS, a fifth of what it took to have otpy at hand. What runs in a coroutine, or
makes a loop, says `from otpy.core.late import asyncio` and finds everything as ever; what runs for all actors asks
`is_cancelled` and `is_on_a_loop`, which import nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio
else:

    class _Late:
        def __init__(self, name):  # noqa: ANN001, ANN204 - to a type checker it is the module
            self.__name__ = name

        def __getattr__(self, name):  # noqa: ANN001, ANN204 - as above
            from importlib import import_module  # noqa: PLC0415 - once for each name

            found = vars(self)[name] = getattr(import_module(self.__name__), name)
            return found

    asyncio = _Late("asyncio")

__all__ = ["asyncio", "is_cancelled", "is_on_a_loop"]


def is_cancelled(error: BaseException) -> bool:
    """Whether it is the cancellation of a task; there is none before somebody imports asyncio."""
    known = sys.modules.get("asyncio.exceptions")
    return known is not None and isinstance(error, known.CancelledError)


def is_on_a_loop() -> bool:
    """Whether an event loop runs on this thread."""
    known = sys.modules.get("asyncio.events")
    return known is not None and known._get_running_loop() is not None  # noqa: SLF001 - public: docs.python.org/3/library/asyncio-extending.html
