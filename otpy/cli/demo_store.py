"""Where `otpy demo --durable` keeps a run: one file for each folder, which is there as long as a run is not done."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

__all__ = ["prepared", "remove", "store_of"]

BESIDE = ("", "-wal", "-shm", "-open")
"""What is in the place of a store: its file, and those that SQLite and otpy put beside it."""


def store_of(folder: str, without: tuple[str, ...]) -> Path:
    """The usual place for a run on this folder: that of the user for what programs keep."""
    state = os.environ.get("XDG_STATE_HOME")
    home = Path(state) if state else Path.home() / ".local" / "state"
    words = "\0".join([str(Path(folder).resolve()), *without])
    return home / "otpy" / f"demo-{sha256(os.fsencode(words)).hexdigest()[:12]}.db"


def prepared(store: Path) -> bool:
    """Have a folder for it; whether an earlier run has left its file."""
    store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return store.exists()


def remove(store: Path) -> None:
    """Forget a run."""
    for ending in BESIDE:
        Path(f"{store}{ending}").unlink(missing_ok=True)
