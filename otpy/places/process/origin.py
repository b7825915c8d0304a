"""Where the code of a process child comes from: the parent says it, and the child finds the same code there."""

from __future__ import annotations

import os
import runpy
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from otpy.errors import SpecError

if TYPE_CHECKING:
    from otpy.runtime.actor import Actor

__all__ = ["Origin", "Surroundings", "enter", "refuse_to_start_again", "search_path"]


MAIN_MODULES = ("__main__", "__mp_main__")
"""What the main module is called, in the program and in its process children."""

_entered: list[str] = []
"""The main module, while a process child runs it: for its classes and functions, and not to start it again."""


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
    def of(cls, inside: type[Actor], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Origin:
        """That of a class with the arguments of its `init`; called in the parent."""
        function = args[0] if inside.stops_by_signal and args else None
        module = str(getattr(function, "__module__", None) or inside.__module__)
        given = [*args, *kwargs.values()]
        sources = [inside, *given, *(value for one in given if isinstance(one, dict) for value in one.values())]
        is_main = any(getattr(source, "__module__", None) in MAIN_MODULES for source in sources)
        name, path = _main() if is_main else (None, None)
        return cls(module, Surroundings(search_path(), list(sys.argv), _folder(), name, path))


def _main() -> tuple[str | None, str | None]:
    """The main module's name, or the file, folder or archive that is run; neither when it was typed in."""
    main: Any = sys.modules.get("__main__")
    name = getattr(getattr(main, "__spec__", None), "name", None)
    path = getattr(main, "__file__", None)
    if name == "__main__" and path is not None:  # of a folder or an archive
        name, path = None, str(Path(path).parent)
    return name, path if name is None and path is not None and Path(path).exists() else None


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


def refuse_to_start_again(ident: str) -> None:
    """Raise SpecError when a main module that starts its tree unguarded would do so in each of its process children."""
    if _entered:
        raise SpecError(
            ident,
            f"{_entered[0]} starts it also when a process child imports it; put the start under"
            ' `if __name__ == "__main__":`',
        )


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
    _entered.append(name or str(path))
    try:
        if name is not None:
            module.__dict__.update(runpy.run_module(name, run_name="__mp_main__", alter_sys=True))
        elif path is not None:
            module.__dict__.update(runpy.run_path(path, run_name="__mp_main__"))
    finally:
        _entered.clear()
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module
