"""What the command's tests share: a socket directory of their own, programs in it, and a way to run the command."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from otpy.cli import main
from otpy.control.server import ControlServer
from support.served import directory, system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.fake_system import FakeSystem

__all__ = ["directory", "here", "otpy", "serve", "system"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A current directory with the test file's SOURCE in it as `otpy_test_shop`, which is forgotten at the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "otpy_test_shop.py").write_text(request.module.SOURCE)
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("otpy_test_")]:
        del sys.modules[name]


@pytest.fixture
def serve(directory: Path, system: FakeSystem) -> Iterator[Callable[..., ControlServer]]:
    """Starts programs, and ends them."""
    with ExitStack() as stack:

        def start(served: FakeSystem = system, **options: object) -> ControlServer:
            server = ControlServer(served, directory=directory, **options)  # type: ignore[arg-type]
            server.start()
            stack.callback(server.close)
            return server

        yield start


@pytest.fixture
def otpy(directory: Path) -> Callable[..., Result]:
    """Runs the command with these words, as from a terminal without a screen."""

    def run(*words: str) -> Result:
        return CliRunner(env={"OTPY_RUNTIME_DIR": str(directory)}).invoke(main, words, prog_name="otpy")

    return run
