"""Whom a command is about, in one manner for all: PATH, one word, or NAME, where only a whole program will do."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import click

from otpy.cli.lazy import CommandUsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["joined_argument", "name_argument", "path_argument"]

F = TypeVar("F", bound="Callable[..., object]")


def path_argument(*, required: bool = True) -> Callable[[F], F]:
    """The argument PATH, as `shop/feed`, or `shop` for the whole program; a command gets it as `path`."""
    return _words("PATH" if required else "[PATH]", _one_path, required=required)


def joined_argument() -> Callable[[F], F]:
    """The same, of which the program's name may also stand apart: `shop feed` is `shop/feed`."""
    return _words("PATH", _joined_path, required=True)


def name_argument(*, required: bool = True) -> Callable[[F], F]:
    """The argument NAME, a program's; a command gets it as `name`."""
    return click.argument("name", required=required, callback=_whole_program)


def _words(metavar: str, read: Callable[..., str | None], *, required: bool) -> Callable[[F], F]:
    """Takes all words there are: click would call the second one unexpected, and not say what was meant."""
    return click.argument("path", metavar=metavar, nargs=-1, required=required, callback=read)


def _one_path(ctx: click.Context, _argument: click.Parameter, words: tuple[str, ...]) -> str | None:
    match words:
        case ():
            return None
        case (path,):
            return _checked(path)
        case (name, path) if "/" not in name:
            meant = _checked(_joined(name, path))
            raise CommandUsageError(f"a path is one word: did you mean {ctx.command_path} {meant}?")
    raise CommandUsageError(f"one path at a time: {ctx.command_path} {words[0]}")


def _joined_path(ctx: click.Context, argument: click.Parameter, words: tuple[str, ...]) -> str | None:
    match words:
        case (name, path) if "/" not in name:
            return _checked(_joined(name, path))
    return _one_path(ctx, argument, words)


def _joined(name: str, path: str) -> str:
    """The path that is meant, which may begin with the program's name again."""
    return path if path == name or path.startswith(f"{name}/") else f"{name}/{path.strip('/')}"


def _checked(path: str) -> str:
    """A path each part of which names something: `shop/$ID` without an ID must not mean the whole of shop."""
    parts = path.split("/")
    if all(parts):
        return path
    meant = "/".join(filter(None, parts))
    hint = f"did you mean {meant!r}?" if meant else "say whom, as shop/feed"
    raise CommandUsageError(f"a part of the path {path!r} is empty: {hint}")


def _whole_program(ctx: click.Context, _argument: click.Parameter, name: str | None) -> str | None:
    program, slash, _ = (name or "").partition("/")
    if slash:
        meant = f"did you mean {ctx.command_path} {program}?" if program else "say its name"
        raise CommandUsageError(f"{ctx.command_path} is about a whole program, and {name} is a path: {meant}")
    return name
