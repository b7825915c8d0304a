"""What holds for every test of the control floor: no descriptor and no file is left behind."""

from __future__ import annotations

import gc
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from otpy.control.server import ControlServer
from support.control import PATIENT
from support.served import directory, system

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from support.fake_system import FakeSystem

__all__ = ["descriptors", "directory", "no_descriptor_left_behind", "serve", "system"]

DESCRIPTORS = Path("/proc/self/fd")


def descriptors() -> set[str]:
    """What this process has open, as far as the platform tells."""
    if not DESCRIPTORS.is_dir():
        return set()
    targets = []
    for entry in list(DESCRIPTORS.iterdir()):
        try:
            targets.append(f"{entry.name} {entry.readlink()}")
        except OSError:  # the one that was open for looking
            continue
    return {target for target in targets if "socket:" in target or "otpy" in target}


@pytest.fixture(autouse=True)
def no_descriptor_left_behind() -> Iterator[None]:
    """Fail a test that ends with a socket or lock it did not find."""
    before = descriptors()
    yield
    if descriptors() - before:
        gc.collect()  # a dropped cycle may still hold some
    assert descriptors() - before == set()


@pytest.fixture
def serve(directory: Path, system: FakeSystem) -> Iterator[Callable[..., ControlServer]]:
    """Starts servers with the options given, and closes them."""
    with ExitStack() as stack:

        def start(served: FakeSystem = system, **options: object) -> ControlServer:
            options.setdefault("limits", PATIENT)
            server = ControlServer(served, directory=directory, **options)  # type: ignore[arg-type]
            server.start()
            stack.callback(server.close)
            return server

        yield start
