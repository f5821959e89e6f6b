"""Shows metrics in Prometheus' text format: each scrape asks the process's sources for their samples."""

from collections.abc import Iterable

from prometheus_client import GC_COLLECTOR, PLATFORM_COLLECTOR, PROCESS_COLLECTOR, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from domain.jobs.monitoring.metrics import Metric, MetricKind
from observability.samples import Sample, Source

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Exporter:
    """What one process shows."""

    def __init__(self) -> None:
        """Begin with what Python and the system say of the process."""
        self._registry = CollectorRegistry(auto_describe=False)
        for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
            self._registry.register(collector)

    def add(self, source: Source) -> None:
        """Show what this source says."""
        self._registry.register(_Collector(source))

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self._registry)


class _Collector(Collector):
    """Prometheus' view of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def collect(self) -> Iterable[Family]:
        return [_family(metric, samples) for metric, samples in self._source().items()]

    def describe(self) -> Iterable[Family]:
        return []


def _family(metric: Metric, samples: Iterable[Sample]) -> Family:
    if metric.kind is MetricKind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        for sample in samples:
            histogram.add_metric(sample.labels, list(sample.buckets), sample.value)
        return histogram
    kind = CounterMetricFamily if metric.kind is MetricKind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.meaning, labels=metric.labels)
    for sample in samples:
        family.add_metric(sample.labels, sample.value)
    return family
