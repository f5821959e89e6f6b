"""The accounts family: set a connected mailbox up, and learn how its owner writes."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from domain.jobs.failures import Permanent, Transient
from domain.jobs.job import Done, JsonObject, KeysOf, Outcome
from domain.jobs.queues import Queue
from domain.jobs.retry import PATIENT
from domain.mail.onboarding import OnboardingPart, failures_in_words, older_mail_since, preview
from domain.mail.replies.voice import LEARNED_FOR
from domain.payloads.accounts import LearnVoicePayload, OnboardPayload
from domain.payloads.gmail import BackfillPayload
from engine.catalogue import job
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail.accounts import accounts, voices
from storage.mail.accounts.accounts import Account
from tasks.mail.steps import mailbox_labels, push_watch
from tasks.mail.steps.mailbox_session import OF_MAILBOX, check_connected, open_mailbox
from tasks.mail.steps.onboarding import owner_voice


@job(queue=Queue.DEFAULT, retry=PATIENT, deadline=timedelta(minutes=5), providers=("gmail",), **OF_MAILBOX)
def onboard(ctx: JobContext, payload: OnboardPayload) -> Outcome:
    """Set a connected mailbox up: older mail and the owner's voice by jobs of their own, labels and push watch here.

    A part that is done stays done. When one cannot be done, the others are done all the same, and the job fails with
    the part's name.
    """
    with ctx.read() as tx:
        account = accounts.get(tx, payload.account_id)
    check_connected(account)
    since = older_mail_since(ctx.job.created_at)
    ctx.step("orders", partial(_order, ctx, account))
    done: dict[OnboardingPart, JsonObject] = {}
    failed: dict[OnboardingPart, str] = {}
    with open_mailbox(ctx, account) as mailbox:
        for part, work in PARTS.items():
            try:
                done[part] = ctx.step(part, partial(work, ctx, mailbox, account))
            except Transient as failure:
                raise Transient(
                    f"{part}: {failure.reason}", code=failure.code, call_state=failure.call_state
                ) from failure
            except Permanent as failure:
                ctx.log.warning("onboarding_part_failed", part=str(part), code=failure.code, reason=failure.reason)
                failed[part] = failure.code
    if failed:
        raise Permanent(failures_in_words(failed), code="onboarding.incomplete")
    return Done({"output_preview": preview(account.email, done, failed, since), **{str(k): v for k, v in done.items()}})


@job(queue=Queue.DEFAULT, retry=PATIENT, deadline=timedelta(minutes=5), providers=("gmail", "anthropic"), **OF_MAILBOX)
def learn_voice(ctx: JobContext, payload: LearnVoicePayload) -> Outcome:
    """Have the model describe how the owner writes, from a few of the messages that they sent; asked once per job."""
    with ctx.read() as tx:
        ask_account, ask_voice = accounts.ask_for(tx, payload.account_id), voices.find(tx, payload.account_id)
    account, kept = ask_account.answer, ask_voice.answer
    check_connected(account)
    is_fresh = kept is not None and kept.voice is not None and ctx.now() - kept.learned_at < LEARNED_FOR
    if is_fresh and not payload.again:
        return Done({"learned": False, "why": "it was learned lately"})
    with open_mailbox(ctx, account) as mailbox:
        return owner_voice.learn(ctx, mailbox, account)


def _order(ctx: JobContext, account: Account) -> JsonObject:
    """Enqueue what takes long. The keys keep an attempt from enqueueing again what one before it has, and died."""
    account_id, key = account.account_id, f"onboarding:{ctx.job.job_id}"
    older = BackfillPayload(account_id=account_id, since=older_mail_since(ctx.job.created_at))
    with ctx.tx() as tx:
        ctx.enqueue(tx, older, idempotency_key=f"{key}:older_mail", keys_of=KeysOf.FLEET)
        voice = LearnVoicePayload(account_id=account_id)
        ctx.enqueue(tx, voice, idempotency_key=f"{key}:voice", keys_of=KeysOf.FLEET)
    return {"ordered": [BackfillPayload.declaration.job_type, LearnVoicePayload.declaration.job_type]}


def _labels(ctx: JobContext, mailbox: Mailbox, account: Account) -> JsonObject:
    with ctx.read() as tx:
        missing = mailbox_labels.never_made(tx, account)
    return mailbox_labels.bring_up_to_date(ctx, mailbox, account, missing)


def _watch(ctx: JobContext, mailbox: Mailbox, account: Account) -> JsonObject:
    made = push_watch.renew(mailbox, ctx.settings.pubsub_topic)
    with ctx.tx() as tx:
        push_watch.record(tx, account, made)
    return {"expires_at": made.expires_at.isoformat(), "own_addresses": len(made.own_addresses)}


PARTS: dict[OnboardingPart, Callable[[JobContext, Mailbox, Account], JsonObject]] = {
    OnboardingPart.LABELS: _labels,
    OnboardingPart.WATCH: _watch,
}
"""In this order, so that the labels are known when the watch reports changes of them."""
