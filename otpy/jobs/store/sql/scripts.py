"""What leads from one version of a store's tables to the next."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["scripts_of"]


def scripts_of(package: str) -> tuple[str, ...]:
    """The scripts of a store, in their order."""
    found = sorted(files(package).joinpath("schema").iterdir(), key=lambda one: one.name)
    return tuple(one.read_text(encoding="utf-8") for one in found)
