"""Writes docs/reference anew from the code: `python -m tools.reference` (`make docs`); a test compares the pages."""

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

import tasks  # noqa: F401 - fills the catalogue, of which the pages tell
from beat_schedule import EVERY
from domain.jobs.queues import JobCategory, Queue
from domain.jobs.retry import LEAST_SHARE, POLICIES
from domain.jobs.uniqueness import Unique, keep_key_for
from domain.payloads.other_names import IN_SCHEMA
from engine.catalogue import Job, catalogue
from settings import Settings
from tools import schema_notes
from tools.command_reference import commands_page
from tools.failure_reference import failures_page
from tools.http_reference import http_page
from tools.metric_reference import metrics_page
from tools.operations_reference import operations_page
from tools.reference_text import member_notes, page, phrase, span, table

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "reference"


def fleet() -> Sequence[Job[Any]]:
    """The job types of the families, by name; what tests or plug-ins registered is left out."""
    return [job_type for job_type in catalogue if job_type.handler.__module__.startswith("tasks.")]


def settings_page() -> str:
    """Every setting with its default and its meaning; defaults come from the code, never from the environment."""
    rows = [
        (f"`POSTROOM_{name.upper()}`", _kind(field), _default(field), field.description or "")
        for name, field in Settings.model_fields.items()
    ]
    return page(
        "Settings",
        "Every setting is an environment variable. A bad value stops the process with the setting's name"
        " and the reason. `POSTROOM_<NAME>_FILE` names a file with the value instead, as Docker and Kubernetes mount"
        " secrets; white space around the value is left out.",
        table(("setting", "type", "default", "meaning"), rows),
    )


def job_types_page() -> str:
    """Every job type: what it does, and each fact that its decorator states."""
    parts = [_job_type(job_type) for job_type in fleet()]
    opening = "A job type is a function with `@job` in `tasks/`. Its name is the file's and the function's."
    return page("Job types", opening, *parts)


def queues_page() -> str:
    """Every queue, what it is for, and which job types go there; then the retry policies."""
    queues = [
        (f"`{queue.value}`", _purpose(queue), _names(job for job in fleet() if job.queue is queue)) for queue in Queue
    ]
    policies = [
        (
            f"`{policy.name}`",
            policy.attempts,
            span(policy.base),
            span(policy.cap),
            _names(job for job in fleet() if job.retry is policy),
        )
        for policy in POLICIES.values()
    ]
    return page(
        "Queues, categories and retry policies",
        "A job's queue is a fact of its type. Each queue needs a worker: `celery -A tasks worker -Q <queue>`.",
        table(("queue", "for", "job types"), queues),
        _categories(),
        "## Retry policies\n\nAfter failed attempt number *n* a job waits a random time: at most `base` doubled *n* - 1"
        f" times, and never above `cap`; at least {LEAST_SHARE:.0%} of that.",
        table(("policy", "attempts", "base", "cap", "job types"), policies),
    )


def _categories() -> str:
    """Every category of jobs, what it is, and the numbers that follow from it."""
    rows = []
    for category in JobCategory:
        jobs = [job for job in fleet() if job.category is category]
        policies = ", ".join(sorted({f"`{job.retry.name}`" for job in jobs}))
        meaning = member_notes(JobCategory).get(category.name, "")
        rows.append((f"`{category.value}`", meaning, span(keep_key_for(None, category)), policies, _names(jobs)))
    opening = (
        "What kind of work a job type is: its queue's, but for audit enrichment. The key of a job is kept for the time"
        " of its category, unless its type says otherwise ([when to use a job](../howto/when-to-use-a-job.md))."
    )
    heads = ("category", "what it does", "a key is kept for", "retry policies", "job types")
    return f"## Categories\n\n{opening}\n\n{table(heads, rows)}"


DOMAINS = "Types of columns: their rules are checked when a value is written, not at each update of its row."


def schedule_page() -> str:
    """Every periodic job."""
    rows = [(f"[`{name}`](job-types.md#{_anchor(name)})", span(every), _summary(name)) for name, every in EVERY.items()]
    opening = (
        "Beat enqueues one job per line and window of time. The windows are counted from 1970-01-01T00:00:00Z, and each"
        " is an idempotency key, so two beats make one tick. The first two intervals are those of the settings"
        " `POSTROOM_FALLBACK_SYNC_S` and `POSTROOM_FULL_SYNC_S` where nobody has set them."
    )
    return page("Schedule", opening, table(("job type", "every", "what it does"), rows))


def tables_page() -> str:
    """Every table of a migrated database."""
    parts = []
    for one in schema_notes.tables():
        columns = [(f"`{column.name}`", column.kind, "no" if column.required else "yes") for column in one.columns]
        fence = "A tenant sees its own rows only." if one.fenced else "Not fenced by row-level security."
        parts.append(f"## {one.name}\n\n{' '.join(filter(None, (one.purpose, fence, one.erasure)))}")
        parts.append(table(("column", "type", "may be null"), columns))
    rows = [(f"`{one.name}`", one.kind, f"`{one.rule}`") for one in schema_notes.domains()]
    parts.append(f"## Domains\n\n{DOMAINS}")
    parts.append(table(("domain", "of", "its values"), rows))
    parts.append("## Views")
    parts.append(table(("view", "what it shows"), [(f"`{one.name}`", one.purpose) for one in schema_notes.views()]))
    return page(
        "Tables", "The tables of the schema `public`, as the files of `storage/migrations/sql` make them.", *parts
    )


PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "failures.md": failures_page,
    "http.md": http_page,
    "job-types.md": job_types_page,
    "metrics.md": metrics_page,
    "operations.md": operations_page,
    "queues.md": queues_page,
    "schedule.md": schedule_page,
    "settings.md": settings_page,
    "tables.md": tables_page,
}


def write(folder: Path) -> None:
    """Write every page into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PAGES.items():
        (folder / name).write_text(text(), encoding="utf-8")


def _job_type(job_type: Job[Any]) -> str:
    declared = job_type.declared
    facts = [
        ("queue", f"`{job_type.queue.value}`"),
        ("category", f"[`{job_type.category.value}`](queues.md#categories)"),
        ("retry", f"`{job_type.retry.name}`: {job_type.retry.attempts} attempts"),
        ("deadline of an attempt", span(job_type.deadline)),
        ("unique", _unique(declared.unique, job_type.category)),
        ("at once per key", f"{declared.serial_limit} per `{declared.serial_by}`" if declared.serial_by else "-"),
        ("providers", ", ".join(job_type.providers) or "-"),
        ("also known as", ", ".join(f"`{alias}`" for alias in declared.aliases) or "-"),
        ("payload version", declared.version),
    ]
    return "\n\n".join(
        (f"## {job_type.name}", phrase(job_type.handler.__doc__), table(("", ""), facts), _payload(job_type))
    )


def _payload(job_type: Job[Any]) -> str:
    schema = job_type.payload.model_json_schema()
    required = set(schema.get("required", ()))
    heads: Sequence[str] = ("field", "type", "", "also named")
    rows: list[tuple[str, ...]] = [
        (
            f"`{name}`",
            _schema_type(facts, schema.get("$defs", {})),
            "required" if name in required else f"default `{facts.get('default')}`",
            ", ".join(f"`{name}`" for name in facts.get(IN_SCHEMA, ())),
        )
        for name, facts in schema.get("properties", {}).items()
    ]
    if not any(also for *_, also in rows):
        heads, rows = heads[:3], [row[:3] for row in rows]
    note = phrase(job_type.payload.__doc__)
    return f"Payload: {note}\n\n{table(heads, rows)}" if rows else f"Payload: {note} It has no fields."


def _schema_type(facts: dict[str, Any], models: dict[str, Any]) -> str:
    if "$ref" in facts:
        return "object of " + ", ".join(f"`{name}`" for name in models[facts["$ref"].rpartition("/")[2]]["properties"])
    if "enum" in facts:
        return "one of " + ", ".join(f"`{value}`" for value in facts["enum"])
    if "anyOf" in facts:
        return " or ".join(_schema_type(one, models) for one in facts["anyOf"])
    return str(facts.get("format") or facts.get("const") or facts["type"])


def _unique(unique: Unique | None, category: JobCategory) -> str:
    if unique is None:
        return "no"
    by = ", ".join(f"`{name}`" for name in unique.fields) if unique.fields else "the whole payload"
    return f"`{unique.mode.value}`, by {by}; the key is kept for {span(keep_key_for(unique, category))}"


def _kind(field: FieldInfo) -> str:
    """The type as an operator thinks of it: a secret is text that is never shown."""
    kind = field.annotation
    if get_origin(kind) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(kind))
    named = kind.__name__ if isinstance(kind, type) else str(kind).replace("typing.", "").replace("pydantic.types.", "")
    return named.replace("SecretStr", "secret").replace("str", "text").replace(" | None", "")


def _default(field: FieldInfo) -> str:
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    return "-" if value is None or value == "" else f"`{value}`"


def _purpose(queue: Queue) -> str:
    return member_notes(Queue).get(queue.name, "")


def _names(jobs: Iterable[Job[Any]]) -> str:
    return ", ".join(f"[`{job.name}`](job-types.md#{_anchor(job.name)})" for job in jobs) or "none yet"


def _anchor(name: str) -> str:
    return name.replace(".", "")


def _summary(name: str) -> str:
    job_type = catalogue.find(name)
    return "" if job_type is None else phrase(job_type.handler.__doc__)


if __name__ == "__main__":
    write(FOLDER)
    sys.stdout.write(f"{len(PAGES)} pages written to docs/reference\n")
