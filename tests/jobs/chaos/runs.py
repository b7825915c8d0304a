"""Runs on a server, each with one of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.postgres import own_server

from .network import Network
from .partition import RIGHTS, SETTINGS, Partition
from .stage import play
from .storm import Storm
from .troubles import HOSTS

if TYPE_CHECKING:
    from collections import Counter
    from pathlib import Path

__all__ = ["play_partition", "play_storm"]


def play_storm(seed: int, seconds: float, *, keep: Path | None = None) -> tuple[list[str], Counter[str]]:
    """Programs and their server are killed, stopped, cut off, and held up."""
    server = own_server()
    return play(lambda folder: Storm(seed, seconds, folder, server), keep)


def play_partition(seed: int, seconds: float, *, keep: Path | None = None) -> tuple[list[str], Counter[str]]:
    """Hosts are cut off from the server; this process is in its namespace from then on."""
    network = Network(HOSTS)
    server = own_server(SETTINGS, RIGHTS)
    return play(lambda folder: Partition(seed, seconds, folder, server, network), keep)
