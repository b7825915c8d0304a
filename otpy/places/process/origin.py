"""Where the code of a process child comes from: the parent says it, and the child finds the same code there."""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from otpy.runtime.actor import Actor

__all__ = ["Origin", "Surroundings", "enter", "search_path"]


class Surroundings(NamedTuple):
    """What a process must have of its parent's to import the same; goes over the pipe as it stands."""

    sys_path: list[str]
    argv: list[str]
    folder: str | None
    """The current folder; None when somebody has removed it."""
    main_name: str | None
    """The main module's name, or its file, when the code is in it; at most one of the two."""
    main_path: str | None


class Origin(NamedTuple):
    """Where the class of a child, or its function, is found."""

    module: str
    """What a spare process imports before it is needed."""
    surroundings: Surroundings

    @classmethod
    def of(cls, inside: type[Actor], args: tuple[Any, ...]) -> Origin:
        """That of a class with the arguments of its `init`; called in the parent."""
        function = args[0] if inside.stops_by_signal and args else None
        module = str(getattr(function, "__module__", None) or inside.__module__)
        main: Any = sys.modules.get("__main__")
        is_main = inside.__module__ == "__main__" or any(getattr(arg, "__module__", "") == "__main__" for arg in args)
        name = getattr(getattr(main, "__spec__", None), "name", None) if is_main else None
        path = getattr(main, "__file__", None) if is_main and name is None else None
        return cls(module, Surroundings(search_path(), list(sys.argv), _folder(), name, path))


def search_path() -> list[str]:
    """Where modules are looked for, as it is to be understood in any folder.

    What is no text there, as a `Path`, is passed over by Python's own search, too.
    """
    folder = _folder()
    entries = [str(entry) for entry in sys.path if isinstance(entry, str)]
    if folder is None:
        return [entry for entry in entries if Path(entry).is_absolute()]
    return [entry if Path(entry).is_absolute() else str(Path(folder, entry)) for entry in entries]


def _folder() -> str | None:
    try:
        return str(Path.cwd())
    except OSError:
        return None


def enter(surroundings: Surroundings) -> None:
    """Find the same code as the parent does; called in the child, whose code it may run."""
    sys.path[:] = surroundings.sys_path
    sys.argv[:] = surroundings.argv
    if surroundings.folder is not None:
        with suppress(OSError):
            os.chdir(surroundings.folder)
    name, path = surroundings.main_name, surroundings.main_path
    if (name is None and path is None) or "__mp_main__" in sys.modules:
        return
    # As multiprocessing does it: the program's main module is run under another name, so that it starts nothing.
    module = ModuleType("__mp_main__")
    if name is not None:
        module.__dict__.update(runpy.run_module(name, run_name="__mp_main__", alter_sys=True))
    elif path is not None:
        module.__dict__.update(runpy.run_path(path, run_name="__mp_main__"))
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
