"""A click group whose commands are imported when they are used, and whose errors are one line and an exit status."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from otpy.cli.pipe import ending_with_its_reader, write_wholly
from otpy.control.errors import NoSuchSystemError
from otpy.core.exit_codes import ExitCode
from otpy.core.suggest import did_you_mean
from otpy.core.text import safe_str, visible
from otpy.errors import OtpyError, UnforeseeableError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CommandError", "CommandUsageError", "GuessingGroup", "LazyGroup", "refuse_unknown"]

ERROR_LIMIT = 2_000


class CommandError(click.ClickException):
    """Ends a command with one line on standard error and an exit status."""

    exit_code = int(ExitCode.FAILED)

    def __init__(self, message: str) -> None:
        """Say what went wrong; the text may be anybody's."""
        super().__init__(visible(message, ERROR_LIMIT))


class CommandUsageError(CommandError):
    """The same, for a command line that cannot be used."""

    exit_code = int(ExitCode.USAGE)


def refuse_unknown(group: click.Group, ctx: click.Context, word: str) -> None:
    """End with the command that may be meant, when this is none of a group's. Raises click.UsageError."""
    if not word.startswith("-") and group.get_command(ctx, word) is None:
        ctx.fail(f"no command {visible(word, 80)!r}: {did_you_mean(word, group.list_commands(ctx))}")


class GuessingGroup(click.Group):
    """Answers a word that is no command of it with those there are."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; raises click.UsageError with the one that may be meant."""
        refuse_unknown(self, ctx, args[0])
        return super().resolve_command(ctx, args)


class LazyGroup(GuessingGroup):
    """Finds commands by a table of `name` to `module:attribute`, and what such a command does, in one line."""

    def __init__(
        self, *args: Any, commands_at: Mapping[str, tuple[str, str]], **options: Any
    ) -> None:  # click's own, passed on
        """Take click's arguments, and the table."""
        super().__init__(*args, **options)
        self._commands_at = commands_at

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every name in the table; click leaves out those `get_command` does not find."""
        return sorted({*super().list_commands(ctx), *self._commands_at})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when its module is not there."""
        if cmd_name not in self._commands_at:
            return super().get_command(ctx, cmd_name)
        place, line = self._commands_at[cmd_name]
        module, _, attribute = place.partition(":")
        try:
            command: click.Command = getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            if error.name == module:
                return None
            raise
        command.short_help = line
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by the lines of the table: `--help` imports none of them."""
        listed = dict(self.commands)
        for name, (place, line) in self._commands_at.items():
            if find_spec(place.partition(":")[0]):
                listed[name] = click.Command(name, short_help=line)
        click.Group(commands=listed).format_commands(ctx, formatter)

    def make_context(self, *args: Any, **options: Any) -> click.Context:  # click's own, passed on
        """Read the command line; `--help` prints here."""
        write_wholly()
        with ending_with_its_reader():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; what goes wrong becomes a `CommandError`."""
        try:
            with ending_with_its_reader():
                return super().invoke(ctx)
        except (NoSuchSystemError, UnforeseeableError) as error:
            raise CommandUsageError(str(error)) from error
        except OtpyError as error:
            raise CommandError(safe_str(error, ERROR_LIMIT)) from error
        except OSError as error:
            raise CommandError(safe_str(error, ERROR_LIMIT)) from error
        except KeyboardInterrupt as error:
            raise CommandError("interrupted") from error
