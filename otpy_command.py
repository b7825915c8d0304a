"""The command `otpy`, before anything of otpy is read: Ctrl-C at that time is one line too, and no traceback.

It stands beside the package, for Python reads all of `otpy` before any module in it.
"""

from __future__ import annotations

import sys

FAILED = 70
"""As `otpy.core.exit_codes.ExitCode.FAILED`, which may not be there yet."""


def main() -> None:
    """Run the command."""
    try:
        from otpy.cli import main as command  # noqa: PLC0415 - this is what may be interrupted
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted\n")
        raise SystemExit(FAILED) from None
    command(prog_name="otpy")
