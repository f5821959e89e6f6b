"""`/v1/rules`: write the rules of the key's org, try them on past mail, turn them on and off."""

import time
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response, status

from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, JsonObject, Origin
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rule_words import WrittenRule
from domain.mail.triage.rules import Rule
from gateway.api.documents import takes
from gateway.api.reasons import Reason, read_body
from gateway.api.repeated_requests import Keyed, replays, say_replayed
from gateway.api.rule_models import (
    AddedRule,
    AddedRules,
    RuleList,
    RuleTrialView,
    RuleView,
    rule_view,
    trial_view,
)
from gateway.http.bodies import JsonBody
from gateway.http.callers import Reader, Writer
from gateway.http.problems import problems
from gateway.http.request_ids import origin_of
from gateway.http.resources import resources_of
from storage.access.api_keys import Caller
from storage.accounts import accounts
from storage.audit import deeds
from storage.postgres.database import Transaction
from storage.rules import kept_rules, trials
from storage.rules.rule_contexts import read_checked

router = APIRouter(prefix="/v1", tags=["rules"])

DEFAULT_REASON = "turned off over HTTP"

OfAccount = Annotated[UUID | None, Query(description="The mailbox; without it, all of the org's.")]
ShowAll = Annotated[bool, Query(alias="all", description="Also the messages that do not match, with the reason.")]


@router.get("/rules", responses=problems(401, 403, 404, 422, 429, 503), operation_id="list_rules")
def list_rules(
    request: Request,
    caller: Reader,
    account_id: Annotated[UUID | None, Query(description="Only rules that apply to this mailbox.")] = None,
    enabled: Annotated[bool | None, Query(description="Only rules that are on, or off.")] = None,
) -> RuleList:
    """List the org's rules. Those that a vanished label turned off are off with `why_off`."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        _check_account(tx, account_id)
        found = kept_rules.listed(tx, caller.org_id, account_id=account_id, enabled=enabled)
    return RuleList(rules=[rule_view(one) for one in found])


@router.post(
    "/rules",
    status_code=status.HTTP_201_CREATED,
    responses={**replays(AddedRules), **problems(401, 403, 404, 408, 413, 415, 422, 429, 503)},
    operation_id="add_rules",
    openapi_extra=takes("RuleDocuments"),
)
def add_rules(
    request: Request,
    response: Response,
    caller: Writer,
    document: JsonBody,
    keyed: Keyed,
    account_id: OfAccount = None,
) -> AddedRules:
    """Save rules: all of them, or none when one has a mistake. `field` is then the JSON pointer of the mistake."""
    database = resources_of(request).database
    with database.ledger() as tx:
        earlier = keyed.earlier(tx, caller.org_id)
        if earlier is not None:
            say_replayed(response)
            # A label that has vanished since does not change what was saved, nor what the rules were called.
            made, written = earlier.made, read_rule_document(document)
        else:
            written = _written(tx, caller, account_id, document)
            made = kept_rules.add(tx, caller.org_id, account_id, written)
            keyed.keep(tx, caller.org_id, made)
            facts = {"rules": [str(one) for one in made], "account_id": account_id and str(account_id)}
            _record(tx, request, caller, "rules.added", facts)
    return AddedRules(rules=[AddedRule(rule_id=one, name=rule.name) for one, rule in zip(made, written, strict=True)])


@router.post(
    "/rules/test",
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    operation_id="try_unsaved_rule",
    openapi_extra=takes("RuleDocument"),
)
def try_unsaved_rule(
    request: Request,
    caller: Writer,
    document: JsonBody,
    account_id: UUID,
    show_all: ShowAll = False,  # noqa: FBT002 - a flag of the query
) -> RuleTrialView:
    """Show what a rule that is not saved would have done with a mailbox's last 200 messages. Nothing is done."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        written = _written(tx, caller, account_id, document)
    if len(written) != 1:
        raise Invalid("/", "one rule is tried at a time")
    return _try(request, caller, written[0], account_id, show_all=show_all)


@router.get("/rules/{rule_id}", responses=problems(401, 403, 404, 422, 429, 503), operation_id="read_rule")
def read_rule(request: Request, caller: Reader, rule_id: UUID) -> RuleView:
    """Look at one rule."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        return rule_view(kept_rules.get(tx, caller.org_id, rule_id))


@router.put(
    "/rules/{rule_id}",
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    operation_id="replace_rule",
    openapi_extra=takes("RuleDocument"),
)
def replace_rule(request: Request, caller: Writer, rule_id: UUID, document: JsonBody) -> RuleView:
    """Put another rule in the place of one; this is how a rule is mended whose label has vanished."""
    database = resources_of(request).database
    with database.tenant(caller.org_id) as tx:
        kept = kept_rules.get(tx, caller.org_id, rule_id)
        written = _written(tx, caller, kept.account_id, document)
    if len(written) != 1:
        raise Invalid("/", "one rule takes the place of one")
    with database.ledger() as tx:
        kept_rules.mend(tx, caller.org_id, rule_id, written[0])
        _record(tx, request, caller, "rule.replaced", {"rule_id": str(rule_id)})
        return rule_view(kept_rules.get(tx, caller.org_id, rule_id))


@router.delete("/rules/{rule_id}", responses=problems(401, 403, 404, 422, 429, 503), operation_id="remove_rule")
def remove_rule(request: Request, caller: Writer, rule_id: UUID) -> RuleView:
    """Remove a rule, and answer with it as it was."""
    with resources_of(request).database.ledger() as tx:
        kept = kept_rules.get(tx, caller.org_id, rule_id)
        kept_rules.remove(tx, caller.org_id, rule_id)
        _record(tx, request, caller, "rule.removed", {"rule_id": str(rule_id), "rule": kept.document})
    return rule_view(kept)


@router.post(
    "/rules/{rule_id}/enable", responses=problems(401, 403, 404, 409, 422, 429, 503), operation_id="enable_rule"
)
def enable_rule(request: Request, caller: Writer, rule_id: UUID) -> RuleView:
    """Turn a rule on. 409 while it names a label that is not there: replace the rule."""
    with resources_of(request).database.ledger() as tx:
        kept_rules.turn(tx, caller.org_id, rule_id, on=True)
        _record(tx, request, caller, "rule.enabled", {"rule_id": str(rule_id)})
        return rule_view(kept_rules.get(tx, caller.org_id, rule_id))


@router.post(
    "/rules/{rule_id}/disable",
    responses=problems(401, 403, 404, 408, 413, 415, 422, 429, 503),
    operation_id="disable_rule",
    openapi_extra=takes("Reason", required=False),
)
def disable_rule(request: Request, caller: Writer, rule_id: UUID, document: JsonBody) -> RuleView:
    """Turn a rule off; the reason is kept with it."""
    reason = read_body(Reason, document).reason or DEFAULT_REASON
    with resources_of(request).database.ledger() as tx:
        kept_rules.turn(tx, caller.org_id, rule_id, on=False, reason=reason)
        _record(tx, request, caller, "rule.disabled", {"rule_id": str(rule_id), "reason": reason})
        return rule_view(kept_rules.get(tx, caller.org_id, rule_id))


@router.post("/rules/{rule_id}/test", responses=problems(401, 403, 404, 422, 429, 503), operation_id="try_rule")
def try_rule(
    request: Request,
    caller: Writer,
    rule_id: UUID,
    account_id: UUID,
    show_all: ShowAll = False,  # noqa: FBT002 - a flag of the query
) -> RuleTrialView:
    """Show what a saved rule would have done with a mailbox's last 200 messages. Nothing is done."""
    with resources_of(request).database.tenant(caller.org_id) as tx:
        kept = kept_rules.get(tx, caller.org_id, rule_id)
    if kept.rule is None:
        raise Invalid("rule_id", f"cannot be read: {kept.broken}")
    return _try(request, caller, kept.rule, account_id, show_all=show_all)


def _try(request: Request, caller: Caller, rule: object, account_id: UUID, *, show_all: bool) -> RuleTrialView:
    if not isinstance(rule, Rule):
        raise Invalid("/tell", "is decided by the model: only rules with when can be tried")
    resources = resources_of(request)
    with resources.one_trial():
        tried = trials.try_on_past_mail(resources.database, caller.org_id, account_id, rule, clock=time.monotonic)
    return trial_view(rule.name, tried, show_all=show_all)


def _written(tx: Transaction, caller: Caller, account_id: UUID | None, document: object) -> tuple[WrittenRule, ...]:
    """The rules of a document, for a mailbox or the whole org; raises `Gone` for a mailbox that the org has not."""
    return read_checked(tx, caller.org_id, account_id, partial(read_rule_document, document))


def _check_account(tx: Transaction, account_id: UUID | None) -> None:
    if account_id is not None:
        accounts.get(tx, account_id)


def _record(tx: Transaction, request: Request, caller: Caller, event: str, facts: JsonObject) -> None:
    deeds.record(tx, event, facts, by=_origin(request, caller), org_id=caller.org_id)


def _origin(request: Request, caller: Caller) -> Origin:
    return origin_of(request, str(caller.key_id), ActorType.API_KEY)
