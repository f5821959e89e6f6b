"""Mend a job: a form of its payload's fields, then what changes and what the job would do, then the deed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from fastapi import Response

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import JsonObject
from domain.orgs.privacy.redaction import redact_document
from domain.payloads import payload_types
from domain.payloads.payload import Payload
from gateway.console.derived import CONFIRMED, do_deed, values_href
from gateway.console.forms import inputs_of, read_inputs, with_trouble
from gateway.console.pages import HandPage, Look
from gateway.console.pages.facts import id_of
from gateway.console.pages.jobs.letter import plan_said
from gateway.console.shown import in_json
from operations.jobs.bulk_actions import read_patch
from operations.jobs.dead_letters import DeadLetterView, read_dead_letter
from operations.jobs.jobs import JobView, read_job, show_job
from operations.jobs.mends import mend_job, read_replay_plan

PREFIX = "field."
"""Before the name of a field of the payload, in the form."""
MADE = "made of these words when the job is mended"
LONGEST_SAID = 200
"""Characters of a value that a hint or a line of the changes repeats."""


def fill(look: Look) -> Mapping[str, Any]:
    """The form, with nothing typed."""
    return _form(look, id_of(look.asked, "job_id"), {})


def take(look: Look, form: Mapping[str, str]) -> Response:
    """Answer the form: with its troubles, with what would happen, or by doing it."""
    if form.get(CONFIRMED) == "yes":
        return do_deed(look.request, look.frame.visitor, mend_job, form)
    job_id = id_of(form, "job_id")
    shown = _form(look, job_id, form)
    try:
        patch = _patch(shown["job_type"], form)
        found = look.call(read_replay_plan, job_id, patch=json.dumps(patch))
    except Invalid as refusal:
        return MEND.page(look, _refused(shown, refusal))
    changes = [
        {
            "path": str(one["path"]),
            "before": _said(one.get("before")),
            "after": MADE if one["path"] in found.made else _said(one.get("after")),
        }
        for one in found.changes
    ]
    text = json.dumps(patch, indent=2, ensure_ascii=False)
    return MEND.page(look, {**shown, "plan": plan_said(found), "changes": changes, "patch": text})


def _form(look: Look, job_id: UUID, form: Mapping[str, str]) -> Mapping[str, Any]:
    """The form with what was typed; with a plan, the page says what it would do."""
    job_type, payload = _payload(look, job_id)
    model = _model(job_type)
    typed = {name.removeprefix(PREFIX): text for name, text in form.items() if name.startswith(PREFIX)}
    now = {name: _said(value) for name, value in payload.items()}
    return {
        "job_id": job_id,
        "job_type": job_type,
        "job_href": look.href(show_job, job_id=job_id),
        "payload": in_json(payload),
        "fields": [replace(one, name=f"{PREFIX}{one.name}") for one in inputs_of(model, typed, now)] if model else [],
        "patch": form.get("patch", ""),
        "reason": form.get("reason", ""),
        "trouble": None,
        "plan": None,
        "request_id": uuid4(),
        "values_href": values_href(look.request, look.frame, read_job),
    }


def _payload(look: Look, job_id: UUID) -> tuple[str, JsonObject]:
    """The type and payload of a job, or of the letter that outlives it: its shape, until somebody asks for values."""
    found: JobView | DeadLetterView
    try:
        found = look.call(read_job, job_id)
    except Gone:
        found = look.call(read_dead_letter, job_id)
    said = redact_document(found.model_dump(mode="json", warnings=False))
    return found.job_type, said["payload"] or {}


def _model(job_type: str) -> type[Payload] | None:
    return payload_types.find(job_type)


def _patch(job_type: str, form: Mapping[str, str]) -> JsonObject:
    """What the form changes; raises `Invalid` with the field, or where it changes nothing."""
    patch = read_patch(form["patch"]) if form.get("patch", "").strip() else {}
    model = _model(job_type)
    if model is not None:
        typed = {name.removeprefix(PREFIX): text for name, text in form.items() if name.startswith(PREFIX)}
        patch = {**read_inputs(model, typed), **patch}
    if not patch:
        raise Invalid("payload", "nothing is changed: fill in a field, or write a patch")
    return patch


def _refused(shown: Mapping[str, Any], refusal: Invalid) -> Mapping[str, Any]:
    """The form with the reason at its field."""
    reason = refusal.reason.removeprefix(f"{refusal.field}: ")
    fields, trouble = with_trouble(shown["fields"], Invalid(refusal.field.replace("payload.", PREFIX, 1), reason))
    return {**shown, "fields": fields, "trouble": trouble and refusal.reason, "is_refused": True}


def _said(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_SAID else f"{text[:LONGEST_SAID]}…"


MEND = HandPage(path="jobs/mend", title="Mend a job", fill=fill, take=take, needs=mend_job, asks=("job_id",))
