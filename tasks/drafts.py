"""The drafts family: one machine draft per thread, written once, in its thread, never over a person's words."""

import secrets
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from domain.effects import CannotTell, Finding, Found, NotFound
from domain.failures import Gone, Invalid, Transient
from domain.job import Cancel, Done, JsonObject, Outcome
from domain.mail.correspondence import EmailEvent, EmailState, label_plan
from domain.mail.drafting import DraftText, accept_draft, draft_prompt, fingerprint
from domain.mail.mailbox import SENT, Draft, MessageFacts
from domain.mail.parsed_message import Address
from domain.mail.replies import TOKEN_HEADER, Original, reply_message, token_reference
from domain.payload import Payload
from domain.queues import Queue
from domain.retry import PIPELINE
from domain.uniqueness import while_active
from providers.ports import Mailbox
from storage import accounts, emails, messages, rules
from storage.accounts import Account
from storage.emails import Email, MadeDraft
from storage.messages import Message
from tasks import labelling
from tasks.asking import ask, boundary
from tasks.catalogue import job
from tasks.context import JobContext
from tasks.mailboxes import open_mailbox


class WritePayload(Payload):
    """Which thread, and the message that asked for an answer."""

    account_id: UUID
    thread_id: str
    message_id: str


@job(
    queue=Queue.DEFAULT,
    retry=PIPELINE,
    deadline=timedelta(minutes=5),
    unique=while_active("account_id", "thread_id"),
    providers=("gmail", "anthropic"),
    aliases=("draft",),
)
def write(ctx: JobContext, payload: WritePayload) -> Outcome:
    """Draft a reply to a thread that waits for one: context, model, one Gmail draft, Outbox label."""
    here, thread_id = payload.account_id, payload.thread_id
    with ctx.tx() as tx:
        email = emails.get(tx, here, thread_id)
        account = accounts.get(tx, here)
        thread = messages.of_thread(tx, here, thread_id)
    if email is None or not thread:
        return Cancel("the thread has no record")
    if email.state not in {EmailState.PENDING, EmailState.DRAFTED}:
        return Done({"skipped": f"the e-mail is {email.state}"})
    if email.state is EmailState.PENDING and thread[-1].direction == "outgoing":
        return _leave(ctx, email, "the person has answered already")
    with open_mailbox(ctx, here) as mailbox:
        if email.state is EmailState.PENDING:
            text = _text(ctx, account, thread)
            if text is None:
                return _hand_over(ctx, mailbox, account, email)
            _make(ctx, mailbox, account, email, thread, text)
        labelling.show(ctx, mailbox, here, thread_id, label_plan(EmailEvent.DRAFT_WRITTEN))
    return Done({"drafted": True})


def _text(ctx: JobContext, account: Account, thread: tuple[Message, ...]) -> DraftText | None:
    """The reply's words, from this or an earlier attempt; None when the model's answer cannot be used."""
    with ctx.tx() as tx:
        guidance = rules.guidance(tx, account.account_id, thread[-1].parsed.from_)
    prompt = draft_prompt([one.parsed for one in thread], boundary(), guidance=guidance)
    answer = ask(ctx, account.account_id, "draft", ctx.runtime.settings.draft_model, prompt)
    try:
        return accept_draft(answer)
    except Invalid as refusal:
        ctx.log.warning("model_answer_refused", field=refusal.field, reason=refusal.reason)
        return None


def _make(
    ctx: JobContext, mailbox: Mailbox, account: Account, email: Email, thread: tuple[Message, ...], text: DraftText
) -> None:
    """Make the draft once, and keep its record; the token is committed before, so that an orphan is found again."""
    here, thread_id = account.account_id, email.thread_id
    with ctx.tx() as tx:
        token = emails.plan_draft(tx, here, thread_id, token=secrets.token_urlsafe(18))
    if token is None:
        raise Transient("the e-mail was moved meanwhile")
    asked = next((one for one in reversed(thread) if one.direction == "incoming"), thread[-1])
    raw = reply_message(Original.of(asked.parsed), Address("", account.email), text.body, token=token, date=ctx.now())
    made = ctx.effect(
        f"draft:{email.email_id}:{token}",
        lambda: _described(mailbox.create_draft(raw, thread_id=thread_id)),
        find=lambda: find_draft(mailbox, thread_id, token),
    )
    draft = MadeDraft(made["draft_id"], made["message_id"], fingerprint(text.body))
    with ctx.tx() as tx:
        emails.record_draft(tx, here, thread_id, expected=EmailState.PENDING, draft=draft)


def find_draft(mailbox: Mailbox, thread_id: str, token: str) -> Finding:
    """Whether a draft with this token was made: looked up by id and thread, never by search, which lags."""
    try:
        shown = [one for one in mailbox.thread(thread_id).messages if _carries(one, token)]
    except Gone:
        return NotFound()
    if any(SENT in one.label_ids for one in shown):
        return CannotTell("a message with the draft's token was sent already")
    wanted = {one.message_id for one in shown}
    for draft in _all_drafts(mailbox):
        if draft.message_id in wanted:
            return Found(_described(draft))
    return NotFound() if not wanted else CannotTell("the thread shows the draft and the list of drafts does not")


def _carries(message: MessageFacts, token: str) -> bool:
    return message.headers.get(TOKEN_HEADER.lower(), "").strip() == token or token_reference(
        token
    ) in message.headers.get("references", "")


def _all_drafts(mailbox: Mailbox) -> Iterator[Draft]:
    page_token = None
    while True:
        drafts, page_token = mailbox.drafts(page_token)
        yield from drafts
        if page_token is None:
            return


def _described(draft: Draft) -> JsonObject:
    return {"draft_id": draft.draft_id, "message_id": draft.message_id, "thread_id": draft.thread_id}


def _leave(ctx: JobContext, email: Email, why: str) -> Outcome:
    outcome = Done({"drafted": False, "why": why})
    with ctx.settling(outcome) as tx:
        emails.move(tx, email.account_id, email.thread_id, expected=email.state, to=EmailState.SKIPPED)
    return outcome


def _hand_over(ctx: JobContext, mailbox: Mailbox, account: Account, email: Email) -> Outcome:
    """No usable answer came: a person takes over, and the thread says so."""
    labelling.show(ctx, mailbox, account.account_id, email.thread_id, label_plan(EmailEvent.REWORKS_EXHAUSTED))
    return _leave(ctx, email, "the model's answer was refused")
