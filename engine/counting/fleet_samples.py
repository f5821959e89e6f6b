"""What a process shows as metrics of the whole fleet: the counts of its `JobCounter`, in the metrics' own form."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

from domain.jobs.monitoring.counting import UNKNOWN_TYPE, MetricSeries, observed
from domain.jobs.monitoring.metrics import (
    COUNTING_LAG,
    DEPTH,
    EFFECTS,
    GATES,
    JOB,
    JOB_TYPES,
    METRICS,
    OLDEST,
    OPEN_LETTERS,
    REFUSED_MESSAGES,
    TICKS,
    WORKERS,
    Metric,
    MetricKind,
    MetricSource,
)
from domain.jobs.queues import Queue
from engine.catalogue import catalogue
from engine.counting.job_counter import FleetCounts, JobCounter
from observability.samples import Sample, Samples, Source


def source_of(counter: JobCounter) -> Source:
    """What this counter's process shows; nothing while another process counts."""

    def samples() -> Samples:
        counts = counter.counts
        return {} if counts is None else samples_of(counts, time.monotonic())

    return samples


def samples_of(counts: FleetCounts, now: float) -> Samples:
    """The counts as samples; `now` is by the monotonic clock."""
    return _of_log(counts.totals) | _of_ledger(counts) | {COUNTING_LAG: [Sample((), now - counts.counted_at)]}


def _of_log(totals: Mapping[MetricSeries, float]) -> dict[Metric, list[Sample]]:
    by_metric: dict[str, list[tuple[MetricSeries, float]]] = defaultdict(list)
    for series, total in totals.items():
        by_metric[series.metric].append((series, total))
    found = {}
    for metric in METRICS:
        if metric.source is MetricSource.LOG:
            kept = by_metric[metric.name]
            make = _histograms if metric.kind is MetricKind.HISTOGRAM else _counters
            found[metric] = list(make(metric, kept))
    return found


def _counters(metric: Metric, kept: list[tuple[MetricSeries, float]]) -> Iterator[Sample]:
    totals = dict.fromkeys(_known_labels(metric), 0.0)
    totals |= {(one.job_type, one.queue, one.label)[: len(metric.labels)]: total for one, total in kept}
    return (Sample(labels, total) for labels, total in totals.items())


def _known_labels(metric: Metric) -> Iterator[tuple[str, ...]]:
    """What a counter has before its first event: one that began at 1 would not have grown, and no alert would fire."""
    last = [(value,) for value in metric.values] if len(metric.labels) > len(JOB) else [()]
    of_catalogue = [(job.name, job.queue.value) for job in catalogue]
    for of_job in (*of_catalogue, (UNKNOWN_TYPE, Queue.DEADLETTER.value)):
        yield from (of_job + one for one in last)


def _histograms(metric: Metric, kept: list[tuple[MetricSeries, float]]) -> Iterator[Sample]:
    by_labels: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for series, total in kept:
        by_labels[(series.job_type, series.queue)[: len(metric.labels)]][series.label] = total
    for labels, places in by_labels.items():
        buckets, summed = observed(places, metric.bounds)
        yield Sample(labels, summed, tuple(buckets))


def _of_ledger(counts: FleetCounts) -> dict[Metric, list[Sample]]:
    ages = {queue.value: 0.0 for queue in Queue}
    for measure in counts.queues:
        if measure.since is not None:
            age = (counts.measured_at - measure.since).total_seconds()
            ages[measure.queue] = max(ages.get(measure.queue, 0.0), age)
    by_what: dict[str, dict[str, int]] = defaultdict(dict)
    for (what, kind), number in counts.ledger.items():
        by_what[what][kind] = number
    return {
        DEPTH: [Sample((measure.queue, measure.state), measure.jobs) for measure in counts.queues],
        OLDEST: [Sample((queue,), age) for queue, age in ages.items()],
        WORKERS: [Sample((), by_what["workers"].get("", 0))],
        OPEN_LETTERS: [Sample((), by_what["dead_letters"].get("", 0))],
        REFUSED_MESSAGES: [Sample((), by_what["refused"].get("", 0))],
        GATES: [Sample((scope,), number) for scope, number in by_what["gates"].items()],
        TICKS: [Sample((name,), by.total_seconds()) for name, by in counts.ticks.overdue.items()],
        EFFECTS: [Sample((state,), number) for state, number in by_what["effects"].items()],
        JOB_TYPES: [Sample((job.name, job.queue.value, job.category.value), 1) for job in catalogue],
    }
