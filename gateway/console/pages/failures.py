"""Errors: the kinds of failure by which jobs ended, since when and how often, and what is known of each."""

from collections.abc import Mapping
from typing import Any

from gateway.console.forms import fields_of, values_of
from gateway.console.pages import HandPage, Look
from operations.jobs.failures import FailureGroup, FailureState, list_failure_groups, mark_failure_group
from operations.jobs.jobs import show_job
from operations.operation import checked

JOBS_SHOWN = 3
TONES = {FailureState.KNOWN: "warn", FailureState.MENDED: "good", FailureState.NEW: "bad"}


def fill(look: Look) -> Mapping[str, Any]:
    """The kinds of failure that fit, those that were seen last first; raises `Invalid` for a filter of no sense."""
    asked = checked(list_failure_groups.parameters, values_of(list_failure_groups, look.asked))
    found = look.call(list_failure_groups, look.window(), **asked)
    return {
        "fields": fields_of(list_failure_groups, look.asked),
        "kinds": [_kind(look, one) for one in found.items],
        "listing": look.table(list_failure_groups, found),
    }


def _kind(look: Look, group: FailureGroup) -> Mapping[str, Any]:
    """A kind of failure with its newest jobs, and with the forms that say something else of it, for whoever may."""
    marks = [one for one in TONES if one is not group.state] if look.may(mark_failure_group) else []
    return {
        "group": group,
        "tone": TONES[group.state],
        "href": look.frame.things.address("fingerprint", group.fingerprint, {}) or "",
        "jobs": [look.link(str(one), show_job, job_id=one) for one in group.job_ids[:JOBS_SHOWN]],
        "marks": [
            look.link(one.value, mark_failure_group, fingerprint=group.fingerprint, state=one, note=group.note)
            for one in marks
        ],
    }


FAILURES = HandPage(
    path="failures", title="Errors", fill=fill, asks=tuple(list_failure_groups.parameters.model_fields),
    needs=list_failure_groups, key="e", order=2,
)  # fmt: skip
