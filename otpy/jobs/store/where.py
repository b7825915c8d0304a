"""Addresses of servers: which texts are some, and how they are shown."""

from __future__ import annotations

import re

__all__ = ["is_server", "lacking", "shown", "without_secrets"]

SERVER = re.compile(r"postgres(ql)?://")
PASSWORD = re.compile(r"(?<=://)([^/@:]*):(.*)@|((?:^|[?&\s])\w*(?:pas+w\w*|pwd)=)('[^']*'|[^&\s]*)")
"""Up to the last @: one with an @ or a / in it, which should stand there as %40 or %2F, is hidden whole."""
QUOTED = re.compile('"(.+?)"')


def is_server(path: str) -> bool:
    """Whether it is the address of a server, and no file."""
    return SERVER.match(path) is not None


def shown(url: str) -> str:
    """An address without its password: it stands in errors, and in what people see of an engine."""
    return PASSWORD.sub(lambda found: f"{found[3]}***" if found[3] else f"{found[1]}:***@", url)


def lacking(error: ImportError) -> str:
    """What is to be installed for a server; psycopg says in several lines which libraries it has not found."""
    return f"it needs otpy[postgres], and psycopg[binary] where libpq is not there: {' '.join(str(error).split())}"


def without_secrets(text: str, url: str) -> str:
    """What is said of an address that is not understood, where it repeats a part of the password in it."""
    secrets = [found[2] or found[4] or "" for found in PASSWORD.finditer(url)]
    for secret in filter(None, secrets):
        text = text.replace(f'"{secret}"', '"***"')

    def hidden(found: re.Match[str]) -> str:
        return '"***"' if any(found[1] in secret for secret in secrets) else found[0]

    return QUOTED.sub(hidden, shown(text))
