"""Actions that send, and what becomes of the mail: as `actions.execute` orders it, and as the mailbox shows it."""

import json
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from typing import Any
from uuid import UUID

from domain.mail.actions.action import Action
from domain.mail.actions.action_files import named, read_files
from domain.mail.actions.requested_action import AutoReply, Forward, with_files
from domain.mail.actions.status import ActionStatus
from domain.mail.outgoing.send_orders import ActionContext, send_order
from domain.mail.triage.safety import CheckedAction
from operations.planning.exchange.attached_files import attached_files
from sandbox.emulator.control import MessagePlace
from storage.mail import decisions, messages
from storage.mail.accounts import accounts
from storage.mail.actions import actions
from storage.mail.actions.actions import StoredAction
from tests.doubles.mail_environment import MailEnvironment, letter
from tests.doubles.mail_factories import WANTS_ANSWER

ANSWER = AutoReply(text="I am away until Monday.")
FORWARD = Forward(to=("boss@example.net",), note="For you.")
FILES = (("Übersicht.pdf", "application/pdf", b"%PDF-1.4 \x00\xff"), ("note.txt", "text/plain", b"two words\n"))


def taken_in(env: MailEnvironment, subject: str = "Lunch?", raw: bytes | None = None, **options: Any) -> MessagePlace:  # noqa: ANN401 - as the emulator takes them
    """A letter that is stored, with nothing else to do for it."""
    env.sync()
    if raw is None:
        place = env.deliver(subject, "Does noon suit you?", **options)
    else:
        place = env.mailbox.deliver(raw, **options)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    env.database.execute("delete from jobs where state = 'queued'")
    env.database.execute("delete from idempotency_keys where status = 'pending'")
    return place


def letter_with_files() -> bytes:
    """A letter with two files, one of them named in German."""
    message = BytesParser(policy=default).parsebytes(letter("The plan", "Here it is."))
    assert isinstance(message, EmailMessage)
    for name, kind, data in FILES:
        maintype, _, subtype = kind.partition("/")
        message.add_attachment(data, maintype=maintype, subtype=subtype, filename=name)
    return message.as_bytes()


def waiting(env: MailEnvironment, message_id: str, action: Action = ANSWER, *files: dict[str, str]) -> UUID:
    """An action that a person is asked about, with the files that go with its mail."""
    with env.process.database.tenant(env.account.org_id) as tx:
        account_id = env.account.account_id
        given = attached_files(tx, env.account.org_id, read_files(list(files)), "attachments")
        asked = with_files(action, [named(one) for one in given])  # type: ignore[arg-type]  # one of the requested ones
        checked = CheckedAction(asked, ActionStatus.APPROVED_PENDING, asked.danger, ("it is dangerous",))
        return actions.request(tx, account_id, message_id, checked, requested_by="user: anna", files=given)


def approve(env: MailEnvironment, action_id: UUID) -> None:
    """A person releases an action."""
    with env.process.database.ledger() as tx:
        assert actions.decide(tx, action_id, ActionStatus.APPROVED, approver="user: anna")


def approved(env: MailEnvironment, message_id: str, action: Action = ANSWER, *files: dict[str, str]) -> UUID:
    """An action that a person was asked about and released."""
    action_id = waiting(env, message_id, action, *files)
    approve(env, action_id)
    return action_id


def automatic(env: MailEnvironment, message_id: str, action: Action = ANSWER, *, allowed: bool = True) -> UUID:
    """An action of a rule that nobody was asked about; the account lets such mail leave unless it is not `allowed`."""
    account_id = env.account.account_id
    with env.process.database.tenant(env.account.org_id) as tx:
        accounts.save_settings(tx, account_id, {"send_allowed": allowed})
        checked = CheckedAction(action, ActionStatus.QUEUED, action.danger)  # type: ignore[arg-type]  # one of the requested ones
        return decisions.record(tx, account_id, message_id, WANTS_ANSWER, actions=[checked]).answer.action_ids[0]


def payload_of(env: MailEnvironment, place: MessagePlace, action_id: UUID) -> dict[str, Any]:
    """The order of an action as `actions.execute` makes it."""
    account_id = env.account.account_id
    with env.process.database.tenant(env.account.org_id) as tx:
        stored = messages.get(tx, account_id, place.message_id)
        action = actions.get(tx, account_id, action_id).action
        files = actions.files(tx, account_id, action_id)
    assert isinstance(action, Forward | AutoReply)
    about = ActionContext(account_id, action_id, place.message_id, place.thread_id, stored.parsed)
    document: dict[str, Any] = json.loads(send_order(action, about, env.account.addresses, files).model_dump_json())
    return document


def order(env: MailEnvironment, place: MessagePlace, ordered: UUID, **changed: Any) -> UUID:  # noqa: ANN401 - fields of the payload
    """Enqueue the order of an action."""
    return env.enqueue("outbound.send", payload_of(env, place, ordered) | changed)


def action_of(env: MailEnvironment, action_id: UUID) -> StoredAction:
    """An action as it stands."""
    with env.process.database.ledger() as tx:
        return actions.get(tx, env.account.account_id, action_id)


def times_sent(env: MailEnvironment) -> int:
    """How many mails ever left through the API, whatever was answered."""
    assert env.gmail.journal("messages.send") == []
    return sum("message_id" in call.summary for call in env.gmail.journal("drafts.send"))


def sent_mails(env: MailEnvironment) -> list[tuple[dict[str, Any], EmailMessage]]:
    """The sent mails in the mailbox, each with its facts and as it left."""
    found = []
    for facts in env.mailbox.state().labelled("SENT"):
        parsed = BytesParser(policy=default).parsebytes(env.mailbox.raw(facts["message_id"]))
        assert isinstance(parsed, EmailMessage)
        found.append((facts, parsed))
    return found


def text_of(mail: EmailMessage, subtype: str = "plain") -> str:
    """The words of a mail, with plain line ends."""
    body = mail.get_body((subtype,))
    assert body is not None
    text: str = body.get_content()
    return text.replace("\r\n", "\n")


def the_sent(env: MailEnvironment) -> tuple[dict[str, Any], EmailMessage]:
    """The one sent mail."""
    (found,) = sent_mails(env)
    return found
