"""`Metrics`: one collector for a system, from which Prometheus gets what it scrapes."""

from __future__ import annotations

import logging
from time import perf_counter
from typing import TYPE_CHECKING, Any

from otpy.control.wire import otpy_version
from otpy.core.number import is_number
from otpy.core.text import safe_repr
from otpy.errors import SpecError
from otpy.metrics.counting import Counting
from otpy.metrics.drains import Drains
from otpy.metrics.engines import Engines
from otpy.metrics.export import client, families, text_of
from otpy.metrics.kernel import read_kernel
from otpy.metrics.reading import Bound, Sheet
from otpy.runtime.system import System

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType
    from typing import Self

    from otpy.metrics.reading import Reading

log = logging.getLogger("otpy")

__all__ = ["MOST", "PATIENCE", "Metrics"]

MOST = 100
"""Values of a label, beyond which all are `other`: a hundred named actors, or breakers, are what somebody looks at."""

PATIENCE = 1.0
"""Real seconds for which a scrape waits for the stores of jobs: Prometheus gives up after ten unless told otherwise."""


class Metrics:
    """The metrics of one system, with a registry of its own; nothing global is touched.

        metrics = Metrics(system)
        content_type, body = metrics.exposition()

    State is read when somebody scrapes, from what is published: no actor is asked. Only what is in the stores of jobs
    is looked up there, on threads of its own, and left out when that takes too long. Events are counted from when it is
    made, also jobs and the time of calls, which cost nothing before: so make it before the tree has much to do.
    It needs the extra `metrics`. Any thread may use it.

    Args:
        system: whose they are.
        most: values of a label that are told apart; all further ones are `other`.
        seconds: real ones, for which a scrape waits for the stores of jobs, all together.

    Raises:
        TypeError: that is no system.
        SpecError: an option that cannot be.
        ImportError: `prometheus-client` is not there; the message says how to get it.
    """

    def __init__(self, system: System, *, most: int = MOST, seconds: float = PATIENCE) -> None:
        """Begin to count."""
        if not isinstance(system, System):
            text = f"Metrics takes a system, as otpy.run gives it, or self.system in an actor, not {safe_repr(system)}"
            raise TypeError(text)
        if type(most) is not int or most < 1:
            raise SpecError("Metrics", f"most={safe_repr(most)}: a whole number >= 1")
        if not (is_number(seconds) and 0 < seconds < 3_600):  # noqa: PLR2004 - an hour: nobody waits for that
            raise SpecError("Metrics", f"seconds={safe_repr(seconds)}: seconds > 0")
        self.registry: Any = client().CollectorRegistry(auto_describe=False)
        self._system, self._bound = system, Bound(most)
        system.measure()
        self._counting = Counting(system, self._bound)
        self._engines = Engines(system, seconds, self._failed)
        self._engines.begin()
        self._drains = Drains(system, self._counting)
        self._told: set[str] = set()  # parts that have failed
        self.registry.register(self)

    def read(self) -> Reading:
        """All values as they are now, by the names of `CATALOGUE` and the values of the labels."""
        began, sheet = perf_counter(), Sheet(self._bound)
        sheet.set("otpy_info", 1, self._system.name, otpy_version())
        for part, read in self._parts():
            sheet.set("otpy_scrape_failures_total", 0, part)
            try:
                read(sheet)
            except Exception:  # one part that is broken must not take all others along
                self._failed(part)
                if part not in self._told:  # each scrape would say the same
                    self._told.add(part)
                    log.exception("metrics of %s: %s cannot be read", self._system.name, part)
        self._counting.read(sheet)
        sheet.set("otpy_scrape_seconds", perf_counter() - began)
        return sheet.reading

    def count(self, name: str, *labels: str, by: float = 1.0) -> None:
        """So many more of a counter of the catalogue; for otpy's own parts."""
        self._counting.count(name, *labels, by=by)

    def exposition(self, accept: str = "") -> tuple[str, bytes]:
        """The content type and the text that Prometheus scrapes; for whatever serves `/metrics`.

        Args:
            accept: the request's header of this name, by which Prometheus may ask for another form (OpenMetrics).
        """
        return text_of(self.registry, accept)

    def collect(self) -> Iterator[Any]:  # Any: families of prometheus-client, which has types of its own
        """As a collector of prometheus-client: `other.register(metrics)` puts the metrics into another registry."""
        yield from families(self.read())

    def close(self) -> None:
        """Count events no more. Twice is once."""
        self._counting.close()
        self._drains.close()

    def __enter__(self) -> Self:
        """Itself, for a block at whose end it is closed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _parts(self) -> list[tuple[str, Callable[[Sheet], None]]]:
        return [
            ("kernel", lambda sheet: read_kernel(self._system, sheet)),
            ("jobs", self._engines.read),
            ("drains", self._drains.read),
        ]

    def _failed(self, part: str) -> None:
        self._counting.count("otpy_scrape_failures_total", part)
