"""`/v1/rules/…/test`: try rules on past mail. The other routes about rules are made from their operations."""

import time
from functools import partial
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Request

from domain.jobs.failures import Invalid
from domain.mail.rule_language.rule_file import read_rule_document
from domain.mail.rule_language.rules import Rule
from gateway.api.documents import takes
from gateway.api.rule_models import RuleTrialView, trial_view
from gateway.http.bodies import JsonBody
from gateway.http.callers import Writer
from gateway.http.problems import problems
from gateway.http.resources import resources_of
from storage.mail.rules import kept_rules, trials
from storage.mail.rules.rule_contexts import read_checked
from storage.orgs.access.api_keys import Caller

router = APIRouter(prefix="/v1", tags=["rules"])

ShowAll = Annotated[bool, Query(alias="all", description="Also the messages that do not match, with the reason.")]


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
    begin = partial(resources_of(request).database.tenant, caller.org_id)
    written = read_checked(begin, caller.org_id, account_id, partial(read_rule_document, document))
    if len(written) != 1:
        raise Invalid("/", "one rule is tried at a time")
    return _try(request, caller, written[0], account_id, show_all=show_all)


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
    with resources.trials.hold(caller.org_id):
        tried = trials.try_on_past_mail(resources.database, caller.org_id, account_id, rule, clock=time.monotonic)
    return trial_view(rule.name, tried, show_all=show_all)
