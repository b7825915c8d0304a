"""What the sides of jobs have in common: a folder for a store, producers in threads, jobs by the batch."""

from __future__ import annotations

import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def folder() -> Iterator[Path]:
    """An empty one beside the log, so on the disk that a run is given."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="store-") as name:
        yield Path(name)


def in_threads(number: int, count: int, work: Callable[[int], object]) -> float:
    """Seconds in which so many threads call `work`, `count` times together; they begin as one."""
    gate = threading.Barrier(number + 1)

    def run() -> None:
        gate.wait()
        for each in range(count // number):
            work(each)

    threads = [threading.Thread(target=run) for _ in range(number)]
    for thread in threads:
        thread.start()
    gate.wait()
    began = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def one_by_one(count: int, work: Callable[[int], object]) -> float:
    """The same in this thread."""
    began = time.perf_counter()
    for each in range(count):
        work(each)
    return time.perf_counter() - began
