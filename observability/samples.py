"""The values of metrics, as the processes give them; no package of Prometheus' is needed for that."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from domain.jobs.monitoring.metrics import Metric


class Sample(NamedTuple):
    """A value of a metric under its labels, in the order of the metric's; a histogram's has buckets and a sum."""

    labels: tuple[str, ...]
    value: float = 0.0
    buckets: tuple[tuple[str, float], ...] = ()


Samples = Mapping[Metric, Iterable[Sample]]
Source = Callable[[], Samples]
"""Asked at each scrape, in a thread of its own; it must not wait for anything."""
