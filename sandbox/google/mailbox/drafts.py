"""Drafts and sending as Gmail does them: ids that rotate, a Message-ID rewritten, a From corrected."""

from datetime import UTC, datetime
from email.message import Message
from email.utils import formataddr, formatdate, parseaddr

from sandbox.emulator.exchange import ApiFailure
from sandbox.google.mailbox.mailbox import Draft, Lag, Mailbox, MailMessage
from sandbox.google.mailbox.rfc822 import addresses_of, headers_of, replace_header

MOST_RECIPIENTS = 500
RECIPIENT_HEADERS = ("To", "Cc", "Bcc")
DAY = 86_400.0


def create_draft(mailbox: Mailbox, raw: bytes, thread_id: str | None) -> Draft:
    """A new draft with a message labelled DRAFT and nothing else."""
    _check_thread(mailbox, thread_id)
    message = _insert_draft_message(mailbox, raw, thread_id)
    draft = Draft(f"r{mailbox.random.getrandbits(62)}", message.message_id)
    mailbox.drafts[draft.draft_id] = draft
    return draft


def get_draft(mailbox: Mailbox, draft_id: str) -> Draft:
    """A draft by id; 404 when it was sent or discarded, except while its wrapper is still shown."""
    if draft_id in mailbox.drafts:
        return mailbox.drafts[draft_id]
    message_id, left = mailbox.sent_wrappers.get(draft_id, ("", 0))
    if left <= 0:
        raise _not_found()
    mailbox.sent_wrappers[draft_id] = (message_id, left - 1)
    return Draft(draft_id, message_id)


def update_draft(mailbox: Mailbox, draft_id: str, raw: bytes, thread_id: str | None) -> Draft:
    """Replace a draft's message; it leaves its thread unless thread and headers are given again."""
    draft = _living(mailbox, draft_id)
    old = mailbox.message(draft.message_id)
    _check_thread(mailbox, thread_id)
    mailbox.remove(old)
    draft.message_id = _insert_draft_message(mailbox, raw, thread_id).message_id
    return draft


def delete_draft(mailbox: Mailbox, draft_id: str) -> None:
    """Discard a draft for good."""
    draft = _living(mailbox, draft_id)
    del mailbox.drafts[draft_id]
    mailbox.remove(mailbox.message(draft.message_id))


def send_draft(mailbox: Mailbox, draft_id: str, raw: bytes | None = None) -> MailMessage:
    """Send a draft once: the draft is gone, and a third message with SENT is in its thread."""
    draft = _living(mailbox, draft_id)
    message = mailbox.message(draft.message_id)
    _check_daily_limit(mailbox)
    outgoing = outgoing_form(mailbox, message.raw if raw is None else raw)
    del mailbox.drafts[draft_id]
    mailbox.remove(message)
    sent = _insert_sent(mailbox, outgoing, message.thread_id, ghost=message.ghost)
    mailbox.sent_wrappers[draft_id] = (sent.message_id, mailbox.knobs.sent_wrapper_gets)
    return sent


def send_message(mailbox: Mailbox, raw: bytes, thread_id: str | None) -> MailMessage:
    """Send without a draft: there is no id to ask for afterwards, and a second call sends a second mail."""
    _check_thread(mailbox, thread_id)
    _check_daily_limit(mailbox)
    ghost = thread_id is not None and not mailbox.belongs(headers_of(raw), thread_id)
    return _insert_sent(mailbox, outgoing_form(mailbox, raw), thread_id, ghost=ghost)


def outgoing_form(mailbox: Mailbox, raw: bytes) -> bytes:
    """The message as it leaves: Gmail's own Message-ID, a From that the account owns, a Date."""
    headers = headers_of(raw)
    recipients = addresses_of(headers, *RECIPIENT_HEADERS)
    if not recipients:
        raise ApiFailure(400, "invalidArgument", "Recipient address required")
    if any("@" not in address for address in recipients):
        raise ApiFailure(400, "invalidArgument", "Invalid To header")
    if len(recipients) > MOST_RECIPIENTS:
        raise ApiFailure(400, "invalidArgument", "Too many recipients")
    raw = replace_header(raw, "Message-ID", f"<CA{mailbox.random.getrandbits(160):040x}@mail.gmail.com>")
    raw = replace_header(raw, "From", _sender(mailbox, headers))
    return raw if "Date" in headers else replace_header(raw, "Date", formatdate(mailbox.clock.now()))


def _sender(mailbox: Mailbox, headers: Message) -> str:
    name, address = parseaddr(str(headers.get("From", "")))
    return str(headers["From"]) if mailbox.owns(address.lower()) else formataddr((name, mailbox.email), "utf-8")


def _insert_sent(mailbox: Mailbox, raw: bytes, thread_id: str | None, *, ghost: bool) -> MailMessage:
    to_itself = mailbox.email.lower() in addresses_of(headers_of(raw), *RECIPIENT_HEADERS)
    label_ids = ("SENT", "INBOX", "UNREAD") if to_itself else ("SENT",)
    mailbox.sent_at.append(mailbox.clock.now())
    lag = Lag(gets=mailbox.knobs.sent_lag_gets, searches=mailbox.knobs.search_lag)
    return mailbox.insert(raw, label_ids, thread_id=thread_id, ghost=ghost, lag=lag)


def _check_daily_limit(mailbox: Mailbox) -> None:
    """Google's own words for the limit on sent mail; the time is in the text and in no header."""
    most = mailbox.knobs.sends_per_day
    recent = [at for at in mailbox.sent_at if at > mailbox.clock.now() - DAY]
    if most is not None and len(recent) >= most:
        until = (recent[len(recent) - most] if most else mailbox.clock.now()) + DAY
        moment = datetime.fromtimestamp(until, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        message = f"User-rate limit exceeded.  Retry after {moment} (Mail sending)"
        raise ApiFailure(429, "rateLimitExceeded", message)


def _insert_draft_message(mailbox: Mailbox, raw: bytes, thread_id: str | None) -> MailMessage:
    # A draft that was alone in its thread may name that thread again: it is no ghost.
    ghost = bool(thread_id and mailbox.thread(thread_id)) and not mailbox.belongs(headers_of(raw), thread_id or "")
    return mailbox.insert(raw, ("DRAFT",), thread_id=thread_id, ghost=ghost)


def _check_thread(mailbox: Mailbox, thread_id: str | None) -> None:
    if thread_id is not None and not mailbox.thread(thread_id):
        raise _not_found()


def _living(mailbox: Mailbox, draft_id: str) -> Draft:
    try:
        return mailbox.drafts[draft_id]
    except KeyError:
        raise _not_found() from None


def _not_found() -> ApiFailure:
    return ApiFailure(404, "notFound", "Requested entity was not found.")
