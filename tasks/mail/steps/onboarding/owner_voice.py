"""Learns how an owner writes from a bounded sample of their sent mail, with one call of the model."""

from collections.abc import Iterator

from domain.jobs.failures import Gone, Invalid
from domain.jobs.job import Done, Outcome
from domain.mail.outgoing.outgoing_mail import TOKEN_HEADER
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.parsed_message import ParsedMessage
from domain.mail.replies.voice import FEWEST_SAMPLED, MOST_SAMPLED, SENT_MAIL, accept_voice, samples_of, voice_prompt
from engine.context import JobContext
from providers.ports import Mailbox
from storage.mail.accounts import voices
from storage.mail.accounts.accounts import Account
from storage.postgres.database import Transaction
from tasks.mail.steps.language_model import ask, boundary

PURPOSE = "voice"
"""Of the model's call, and the name of the step that keeps the answer, so that it is paid once."""

CHECK_EVERY = 10
"""Messages between two looks for a cancellation: some seconds."""


def learn(ctx: JobContext, mailbox: Mailbox, account: Account) -> Outcome:
    """Read a sample, ask the model, and keep its description together with the job's end."""
    samples = samples_of(_sent(ctx, mailbox), TOKEN_HEADER)
    if len(samples) < FEWEST_SAMPLED and ctx.kept(PURPOSE) is None:
        return Done({"learned": False, "why": f"{len(samples)} messages are too few", "sampled": len(samples)})
    prompt = voice_prompt(samples, boundary())
    try:
        voice = ask(ctx, account.account_id, PURPOSE, ctx.settings.draft_model, prompt, accept_voice)
    except Invalid as refusal:
        # Drafts do without; another job may ask again.
        ctx.log.warning("voice_not_learned", field=refusal.field, reason=refusal.reason)
        return Done({"learned": False, "why": f"no usable description: {refusal.field}", "sampled": len(samples)})
    sampled = max(len(samples), 1)

    def write(tx: Transaction) -> None:
        voices.save(tx, account.account_id, voice, sampled=sampled)

    return Done({"learned": True, "sampled": sampled}, writes=write)


def _sent(ctx: JobContext, mailbox: Mailbox) -> Iterator[ParsedMessage]:
    for place, found in enumerate(mailbox.search(SENT_MAIL).messages[:MOST_SAMPLED], 1):
        if place % CHECK_EVERY == 0:
            ctx.check()
        try:
            yield parse_message(mailbox.message(found.message_id).raw)
        except Gone:
            continue
