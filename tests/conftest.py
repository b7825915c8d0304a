"""What holds for every test: examples drawn alike each time, the source compiled once, no thread left behind."""

from __future__ import annotations

import compileall
import gc
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

import pytest
from hypothesis import settings

from otpy.runtime.stacks import seats_of
from otpy.runtime.systems import all_systems
from otpy.testing.remains import ends_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from otpy.runtime.system import System

LAST_BREATH = 20.0
"""Seconds a thread that is already ending may take; only a failing test waits so long."""

settings.register_profile("otpy", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("otpy")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a job that a shell runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


if os.environ.get("PYTHONDONTWRITEBYTECODE"):
    # Some two hundred programs of the tests import otpy, and each would compile it all anew, which costs more than what
    # they are started for; pytest would rewrite all tests again.
    sys.dont_write_bytecode = False
    compileall.compile_dir(Path(__file__).parents[1] / "otpy", quiet=2)


SHARED = {
    "cli",
    "contract",
    "control",
    "demo",
    "disk",
    "drain",
    "fleet",
    "health",
    "jobs",
    "logs",
    "metrics",
    "oracle",
    "resilience",
    "state",
    "stress",
}
"""Folders whose tests stand on what the others try on each Python."""


TESTS = Path(__file__).parent
SHARE, _, SHARES = os.environ.get("OTPY_SHARE", "1/1").partition("/")


def own_share(files: Iterable[Path]) -> set[Path]:
    """Those of some files that are played here: `OTPY_SHARE=2/3` is the second of three shares."""
    return set(sorted(files)[int(SHARE) - 1 :: int(SHARES)])


OWN = own_share(file for folder in SHARED for file in (TESTS / folder).rglob("test_*.py"))
"""The files of those folders that are played here; others are not even read."""


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out the files of shared folders that others play."""
    is_shared = _folder(collection_path) in SHARED and collection_path.match("test_*.py")
    return True if is_shared and collection_path not in OWN else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """So with the other files in which something says the same of every Python."""
    marked = [item for item in items if item.get_closest_marker("any_python") and _folder(item.path) not in SHARED]
    own = own_share({item.path for item in marked})
    others = {item for item in marked if item.path not in own}
    config.hook.pytest_deselected(items=list(others))
    items[:] = [item for item in items if item not in others]


def _folder(path: Path) -> str:
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) and path != TESTS else ""


gc.disable()  # until all is collected: what pytest makes for ten thousand tests stays, and each look at it takes longer


def pytest_collection_finish() -> None:
    """Look for garbage from now on, though not among what is here to stay."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Nor among what a file has left: pytest keeps a report of each test, and modules what they have read."""
    if nextitem is not None and nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> Iterator[None]:
    """Fail a test that ends with a thread it did not find, or in the middle of an `except` of its own."""
    before = set(threading.enumerate())
    lasting = WeakSet(all_systems())
    yield
    assert sys.exception() is None, "what is raised from now on would seem to come of this"
    new = [thread for thread in threading.enumerate() if thread not in before and not _is_of(lasting, thread)]
    left = [thread for thread in new if not ends_within(thread, LAST_BREATH) and not _is_of(lasting, thread)]
    assert left == [], f"threads left behind: {''.join(_whereabouts(thread) for thread in left)}"


def _is_of(systems: Iterable[System], thread: threading.Thread) -> bool:
    """Whether it works in one of these, which lasts for several tests and may take a thread more at any time."""
    return any(seat.ident == thread.ident for system in systems if not system.stopped for seat in seats_of(system))


def _whereabouts(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return f"\n{thread.name}\n{''.join(traceback.format_stack(frame))}"
