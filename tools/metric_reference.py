"""The reference page of the metrics, read off their definitions."""

from domain.jobs.monitoring.counting import MOST_LABELS, OTHER, UNKNOWN_TYPE
from domain.jobs.monitoring.metrics import FAILED, METRICS, Metric, MetricSource
from tools.reference_text import member_notes, page, table

OPENING = (
    "Served for Prometheus at `/metrics` by each worker, beat and gateway whose `POSTROOM_METRICS_PORT` is set. The"
    " metrics of the fleet are shown by one worker at a time, so sums over all processes are right, and a total never"
    " begins anew: it stands in the ledger ([how it is counted](../explanation/counting.md))."
)


def metrics_page() -> str:
    """Every metric, by where its values come from."""
    parts = []
    for source in MetricSource:
        rows = [_row(metric) for metric in METRICS if metric.source is source]
        parts.append(f"## {source.value.capitalize()}\n\n{member_notes(MetricSource)[source.name]}")
        parts.append(table(("metric", "kind", "labels", "meaning"), rows))
    labels = (
        f"A job type that no worker has published is `{UNKNOWN_TYPE}`. The values of `error_class` and `cause` are"
        f" the first {MOST_LABELS} that come; others are `{OTHER}`. A queue is the one that the job's type has when the"
        " event is counted."
    )
    zeros = (
        "A counter of the audit log is shown from 0 on for each job type of the worker's release and each cause that is"
        f" named above, so that its first event is an increase. `{FAILED.name}` begins with the first failure of a"
        " code: handlers and providers bring codes of their own."
    )
    return page("Metrics", OPENING, *parts, f"## Labels\n\n{labels}\n\n{zeros}")


def _row(metric: Metric) -> tuple[str, ...]:
    buckets = f" Buckets: {', '.join(f'{bound:g}' for bound in metric.bounds)}." if metric.bounds else ""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "-"
    return f"`{metric.name}`", metric.kind.value, labels, metric.meaning + buckets
