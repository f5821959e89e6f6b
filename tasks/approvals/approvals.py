"""The approvals family: ask people, remind them once, end what nobody decided in time, show how it ended."""

import json
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from domain.approvals.question import Question, outcome_of
from domain.jobs.effects import CannotTell, Finding, Found, Strategy
from domain.jobs.failures import Gone, Transient
from domain.jobs.job import Done, JsonObject, NewJob, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PERSISTENT
from domain.notifications.built_in import APPROVAL
from domain.payloads.approvals import ExpirePayload, NotifyPayload, ShowOutcomePayload
from domain.payloads.payload import Payload
from engine.catalogue import job
from engine.context import JobContext
from engine.enqueue import enqueue_jobs
from observability.on_demand import on_demand
from providers.ports import approvals as approval_ports
from providers.ports.approvals import ApprovalChannel
from storage.approvals import approvals, doubts, subjects
from storage.approvals.approvals import QuestionNotice, WaitingAction
from storage.approvals.subjects import ApprovalSubject
from storage.jobs import effects
from storage.notifications import notifications
from storage.orgs.access import users
from storage.postgres.database import Transaction

PROVIDER = "discord"

ANSWER_WITHIN_S = 10.0
"""How long one call to Discord may take in all."""

BATCH = 500
"""Actions per transaction of the housekeeping."""


def find_question(ctx: JobContext, _payload: NotifyPayload, key: str) -> Finding:
    """Whether the question of a job that has ended was posted, in the channel in which it was asked.

    The key says which question: a mended replay may have the effect of another. A question that is found is kept with
    its subject, whose outcome it is to show.
    """
    _, approval_id, number = key.split(":")
    with ctx.tx() as tx:
        subject = subjects.get(tx, UUID(approval_id))
        question = subjects.question_about(tx, subject, int(number))
        began = doubts.read_request(tx, ctx.job, key)
    found = _find(ctx, question, None, began)
    if isinstance(found, Found):
        with ctx.tx() as tx:
            _keep(ctx, tx, subject, _notice_of(question, found.result))
    return found


def _find(ctx: JobContext, question: Question, repeat_in: str | None, began: bytes | None) -> Finding:
    """Look in the channel where it was asked, unless another org is asked there by now.

    `repeat_in` is where it would be posted next, and `began` what `_post` kept of the call.
    """
    if began is None:
        return CannotTell("nobody knows in which channel it was asked")
    asked = json.loads(began)
    channel_id, since = str(asked["channel_id"]), datetime.fromisoformat(asked["at"])
    with ctx.tx() as tx:
        if approvals.is_anothers_channel(tx, ctx.org_id, channel_id):
            return CannotTell("another org is asked by now in the channel in which it was asked")
    repeat_at = ctx.now() if repeat_in == channel_id else None
    return _channel(ctx).find_question(channel_id, question, since=since, repeat_at=repeat_at)


@job(
    queue=Queue.NOTIFICATIONS,
    retry=PERSISTENT,
    deadline=timedelta(minutes=3),
    providers=(PROVIDER,),
    finds={"approval": find_question},
)
def notify(ctx: JobContext, payload: NotifyPayload) -> Outcome:
    """Ask for a decision: who may decide gets a notification, and the org's channel on Discord a post.

    Without a bot or a channel, nothing is posted.
    """
    number = int(payload.reminder)
    with ctx.tx() as tx:
        subject = subjects.get(tx, payload.approval_id)
        channel_id = approvals.channel_of(tx, ctx.org_id)
        question = subjects.question_about(tx, subject, number)
        if subject.waits:
            # Before the call: a Discord that does not answer delays no other channel. Each attempt asks for the same.
            deciders, bucket = users.of_roles(tx, ctx.org_id, subject.deciders), f"{question.approval_id}:{number}"
            notifications.notify_people(
                tx, ctx.org_id, deciders, APPROVAL, question.document, bucket=bucket, by=ctx.job.origin
            )
    if not ctx.settings.discord_bot_token.get_secret_value():
        return Done({"sent": False, "why": "the installation has no bot"})
    posted = _post(ctx, channel_id, question) if subject.waits and channel_id else _look_back(ctx, question)
    if posted is None:
        why = "the org has no channel" if subject.waits else f"it is {subject.standing.state}"
        return Done({"sent": False, "why": why})
    notice = _notice_of(question, posted)
    return Done({"sent": True, "message_id": notice.message_id}, writes=lambda tx: _keep(ctx, tx, subject, notice))


def _notice_of(question: Question, posted: JsonObject) -> QuestionNotice:
    return QuestionNotice(question.number, str(posted["channel_id"]), str(posted["message_id"]))


def _keep(ctx: JobContext, tx: Transaction, subject: ApprovalSubject, notice: QuestionNotice) -> None:
    """Keep which message asks; a decision that came before did not know of it, and could not show itself there."""
    approvals.record_notice(tx, subject, notice)
    if not subjects.still_waits(tx, subject):
        ctx.enqueue(tx, ShowOutcomePayload(account_id=subject.account_id, approval_id=subject.approval_id))


def _look_back(ctx: JobContext, question: Question) -> JsonObject | None:
    """What an earlier attempt has posted, and make no call; None when nothing was posted."""
    with ctx.read() as tx:
        if not effects.has_begun(tx, ctx.org_id, _key(question)):
            return None
    with ctx.tx() as tx:
        effect = ctx.begin_effect(tx, _key(question))
    posted = effect.look(lambda: _find(ctx, question, None, effect.first_request))
    with ctx.tx() as tx:
        effect.drop(tx) if posted is None else effect.record(tx)
    return posted


def _key(question: Question) -> str:
    return f"approval:{question.approval_id}:{question.number}"


def _post(ctx: JobContext, channel_id: str, question: Question) -> JsonObject:
    """Post the question once. In the first minutes the nonce sees to that, afterwards a search of the channel.

    It is looked for in the channel of an earlier call, and posted in the org's present one: nobody else's channel.
    """

    def post() -> JsonObject:
        with ctx.tx() as tx:
            if approvals.channel_of(tx, ctx.org_id) != channel_id:
                raise Transient("the org's channel has just changed", code="approval.channel_moved")
        return {"message_id": _channel(ctx).post_question(channel_id, question), "channel_id": channel_id}

    request = json.dumps({"at": ctx.now().isoformat(), "channel_id": channel_id}).encode()
    return ctx.effect_with_request(_key(question), request, post, partial(_find, ctx, question, channel_id))


@job(queue=Queue.NOTIFICATIONS, retry=PERSISTENT, deadline=timedelta(minutes=3), providers=(PROVIDER,))
def show_outcome(ctx: JobContext, payload: ShowOutcomePayload) -> Outcome:
    """Show on the question's messages how it ended, without buttons.

    A message that was deleted needs nothing, and one in a channel that is another org's by now is left as it is.
    """
    with ctx.tx() as tx:
        subject = subjects.get(tx, payload.approval_id)
        posted = [
            one
            for one in approvals.notices(tx, payload.approval_id)
            if not approvals.is_anothers_channel(tx, ctx.org_id, one.channel_id)
        ]
        asked = [(notice, subjects.question_about(tx, subject, notice.number)) for notice in posted]
    if subject.waits:
        return Done({"shown": 0, "why": "nobody has decided"})
    if not ctx.settings.discord_bot_token.get_secret_value():
        return Done({"shown": 0, "why": "the installation has no bot"})
    words = outcome_of(subject.standing)
    return Done({"shown": sum(_show(ctx, notice, question, words) for notice, question in asked)})


def _show(ctx: JobContext, notice: QuestionNotice, question: Question, words: str) -> bool:
    """Whether the message could be edited. Twice is the same as once."""

    def edit() -> JsonObject:
        _channel(ctx).show_outcome(notice.channel_id, notice.message_id, approval_ports.Outcome(question, words))
        return {}

    try:
        ctx.effect(f"approval-outcome:{question.approval_id}:{notice.number}", edit, strategy=Strategy.IDEMPOTENT)
    except Gone:
        return False
    return True


@job(queue=Queue.MAINTENANCE)
def expire(ctx: JobContext, _payload: ExpirePayload) -> Outcome:
    """End actions that nobody decided about, and remind of those whose time runs out.

    An org of which somebody has locked an action or a key is left to the next tick.
    """
    counts: Counter[str] = Counter(expired=0, reminded=0)
    orgs_put_off: set[UUID] = set()

    def carry_out(tx: Transaction, due: Sequence[WaitingAction]) -> dict[str, int]:
        ended, reminded = approvals.expire(tx, due), approvals.mark_reminders(tx, due)
        jobs = [_job(ctx, one, ShowOutcomePayload) for one in ended]
        jobs += [_job(ctx, one, NotifyPayload, reminder=True) for one in reminded]
        enqueue_jobs(tx, jobs)
        return {"expired": len(ended), "reminded": len(reminded)}

    def expire_some() -> bool:
        with ctx.fleet() as tx:
            due = approvals.overdue(tx, besides=orgs_put_off, limit=BATCH)
        orgs_put_off.update(one.org_id for one in ctx.for_orgs(due, carry_out, counts))
        return len(due) == BATCH

    ctx.at_pace(expire_some)
    if orgs_put_off:
        counts.update(orgs_put_off=len(orgs_put_off))
    return Done({**counts})


def _job(ctx: JobContext, one: WaitingAction, payload: type[Payload], **fixed: object) -> NewJob:
    document = {"account_id": one.account_id, "approval_id": one.action_id, **fixed}
    return payload.model_validate(document).job(org_id=one.org_id, origin=ctx.job.origin)


def _channel(ctx: JobContext) -> ApprovalChannel:
    return ctx.shared(PROVIDER, partial(_make_channel, ctx))


def _make_channel(ctx: JobContext) -> ApprovalChannel:
    settings = ctx.settings
    made: ApprovalChannel = on_demand("providers.discord.bot:DiscordBot")(
        settings.discord_bot_token,
        api_url=settings.discord_api_url,
        timeout_s=ANSWER_WITHIN_S,
        meter=ctx.meter(PROVIDER),
        clock=ctx.clock,
    )
    return made
