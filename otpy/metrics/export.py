"""From readings to what Prometheus takes: the only file that knows prometheus-client, which is an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.core.text import visible
from otpy.metrics.catalogue import CATALOGUE
from otpy.metrics.reading import MOST_TEXT, Distribution

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType

    from otpy.metrics.catalogue import Entry
    from otpy.metrics.reading import Reading, Value

__all__ = ["client", "families", "text_of"]


def client() -> ModuleType:
    """prometheus-client. Raises ImportError, which says where it comes from."""
    try:
        import prometheus_client  # noqa: PLC0415 - an extra, loaded when somebody wants metrics
        import prometheus_client.core  # noqa: PLC0415 - as above
        import prometheus_client.exposition  # noqa: PLC0415 - as above
    except ImportError as error:
        text = f"otpy.metrics needs prometheus-client: pip install otpy[metrics] ({error})"
        raise ImportError(text, name=error.name) from error
    return prometheus_client


def families(
    reading: Reading, more: tuple[str, ...] = (), entries: Iterable[Entry] | None = None
) -> Iterator[Any]:  # Any: prometheus-client's families
    """One for each metric of the catalogue, empty ones as well; `more`: labels before those that the catalogue has."""
    core = client().core
    kinds = {
        "counter": core.CounterMetricFamily,
        "gauge": core.GaugeMetricFamily,
        "histogram": core.HistogramMetricFamily,
    }
    for entry in CATALOGUE.values() if entries is None else entries:
        family = kinds[entry.type](entry.name, entry.text, labels=(*more, *entry.labels))
        shown = {tuple(map(_shown, labels)): value for labels, value in reading.get(entry.name, {}).items()}
        for labels, value in shown.items():
            _add(family, labels, value)
        yield family


def _shown(label: str) -> str:
    """As it must be: in UTF-8, on one line. What then looks like another one is that one: no series may come twice."""
    return label if label.isprintable() else visible(label, 10 * MOST_TEXT)


def _add(family: Any, labels: tuple[str, ...], value: Value) -> None:  # Any: as above
    if isinstance(value, Distribution):
        buckets = [(_bound(bound), count) for bound, count in value.buckets]
        family.add_metric(labels, buckets=buckets, sum_value=value.total)
    else:
        family.add_metric(labels, float(value))


def _bound(seconds: float) -> str:
    return "+Inf" if seconds == float("inf") else str(seconds)


def text_of(registry: Any, accept: str) -> tuple[str, bytes]:  # Any: a registry of prometheus-client
    """The content type and the text, in the form that is asked for."""
    choose = client().exposition.choose_encoder
    try:
        encode, content_type = choose(accept)
    except Exception:  # noqa: BLE001 - what it does not understand, as another version than numbers, it may fail for
        encode, content_type = choose("")
    body: bytes = encode(registry)
    return content_type, body
