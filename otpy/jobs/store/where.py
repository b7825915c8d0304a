"""Addresses of servers: which texts are some, and how they are shown."""

from __future__ import annotations

import re

__all__ = ["is_server", "shown"]

SERVER = re.compile(r"postgres(ql)?://")
PASSWORD = re.compile(r"(?<=://)([^/@:]*):[^/@]*@|((?:^|[?&\s])(?:ssl)?password=)('[^']*'|[^&\s]*)")


def is_server(path: str) -> bool:
    """Whether it is the address of a server, and no file."""
    return SERVER.match(path) is not None


def shown(url: str) -> str:
    """An address without its password: it stands in errors, and in what people see of an engine."""
    return PASSWORD.sub(lambda found: f"{found[2]}***" if found[2] else f"{found[1]}:***@", url)
