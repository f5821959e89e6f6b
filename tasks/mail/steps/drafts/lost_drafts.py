"""Looks for a draft whose making nobody saw the end of, whatever its person did (docs: gmail.md#lost-drafts)."""

from collections.abc import Collection, Iterator, Sequence

from domain.jobs.effects import CannotTell, Finding, Found, NotFound
from domain.jobs.failures import CallState, Gone, Transient
from domain.jobs.job import JsonObject
from domain.mail.mailbox import BINS, DRAFT, SENT, Change, Draft, MessageFacts
from domain.mail.replies.lost_draft import Added, LostDraft, shows_token, stands_for, token_named, traces
from providers.ports import Mailbox

MOST_READ = 50
"""Messages that are read one by one. More drafts than that since one call, or in a mailbox without history, are left to
a person."""


MOST_PAGES = 100
"""Pages of history, of up to 500 records each. Minutes lie between a lost answer and the search for it; a mailbox in
which more has happened is judged as one whose history has expired, so that no slot turns pages without end."""


MOST_DRAFT_PAGES = 20
"""Pages of up to 500 drafts each: a part of the list would prove nothing, so that a person looks in a larger one."""


class TooMany(Exception):
    """A mailbox has more drafts, or more has happened in it since, than is looked through."""


def find(mailbox: Mailbox, lost: LostDraft) -> Finding:
    """Find the draft with this token, the message sent from it, or the proof that its person has thrown it away.

    Found is `described`, with `composed` when its words may be a person's; or `sent` and `sent_at`; or `discarded`, as
    is one in the trash or in spam. Not found is only what history does not know: a draft that was made and is gone must
    not be made again. Raises `Transient` while history lags.
    """
    try:
        return _find(mailbox, lost)
    except TooMany as many:
        return CannotTell(str(many))


def _find(mailbox: Mailbox, lost: LostDraft) -> Finding:
    thread = () if lost.thread_id is None else messages_of(mailbox, lost.thread_id)
    shown = [one for one in thread if shows_token(one, lost.token)]
    sent = next((one for one in shown if SENT in one.label_ids), None)
    if sent is not None:
        return _sent(sent)
    if any(one.label_ids & BINS for one in shown):
        return Found({"discarded": True})
    # Before history: whatever is listed now and was made since is named there.
    drafts = tuple(all_drafts(mailbox))
    wanted = {one.message_id for one in shown}
    listed = next((one for one in drafts if one.message_id in wanted), None)
    if listed is not None:
        return Found(described(listed))
    changes = _history_of(mailbox, lost.since)
    if changes is None:
        return _look_through(mailbox, lost, drafts)
    found = _by_traces(mailbox, lost, drafts, traces(changes))
    if wanted and found == Found({"discarded": True}):
        return CannotTell("the thread shows the draft and the list of drafts does not")
    return found


def described(draft: Draft) -> JsonObject:
    """The ids of a draft, as an effect's result keeps them."""
    return {"draft_id": draft.draft_id, "message_id": draft.message_id, "thread_id": draft.thread_id}


def _by_traces(mailbox: Mailbox, lost: LostDraft, drafts: Sequence[Draft], since: Added) -> Finding:
    """Judge by what history says was added: exact, also about drafts that are gone."""
    _need_few(len(since.unlabelled), "messages without labels came in")
    since = _labelled(mailbox, since)
    candidates = [one for one in drafts if one.message_id in since.drafts]
    _need_few(len(candidates) + len(since.sent), "drafts and messages were written")
    facts = [(one, facts_of(mailbox, one.message_id)) for one in candidates]
    # A draft of ours with another token is no trace of this one.
    others = {one.message_id for one, message in facts if token_named(message) not in {"", lost.token}}
    threads = {thread for message_id, thread in since.drafts.items() if message_id not in others}
    _need_few(len(threads), "conversations got a draft")
    begun = _has_begun(mailbox, lost, threads)
    found = _among(lost, facts, composed=begun)
    if found is not None:
        return found
    for message_id in sorted(since.sent):
        message = facts_of(mailbox, message_id)
        if shows_token(message, lost.token) or (begun and stands_for(message, lost)):
            return _sent(message)
    return Found({"discarded": True}) if begun else _unseen(mailbox, lost, threads, set(since.unlabelled.values()))


def _unseen(mailbox: Mailbox, lost: LostDraft, threads: set[str], gone: set[str]) -> Finding:
    """Judge where no draft is known to have begun in the thread; `gone` are threads of messages of unknown labels.

    Gmail may have begun a reply's draft in a thread of its own, which is empty by now.
    """
    if lost.thread_id in gone or _is_one_empty(mailbox, threads | gone):
        return CannotTell("a message that may have been the draft was added since, and is gone")
    return NotFound()


def _need_few(count: int, what: str) -> None:
    if count > MOST_READ:
        raise TooMany(f"since then more than {MOST_READ} {what}")


def _labelled(mailbox: Mailbox, since: Added) -> Added:
    """Ask for the labels that history does not say; only messages that are gone are left without."""
    drafts, sent, gone = dict(since.drafts), dict(since.sent), dict[str, str]()
    for message_id, thread_id in since.unlabelled.items():
        try:
            label_ids = mailbox.message_facts(message_id).label_ids
        except Gone:
            gone[message_id] = thread_id
            continue
        if DRAFT in label_ids:
            drafts[message_id] = thread_id
        if SENT in label_ids:
            sent[message_id] = thread_id
    return Added(drafts, sent, gone)


def _has_begun(mailbox: Mailbox, lost: LostDraft, threads: Collection[str]) -> bool:
    """Whether one of the drafts that were begun in these threads may be the lost one, which may be gone.

    Of a mail that begins a conversation nobody knows the thread: where all is gone, it may be the one.
    """
    if lost.thread_id is not None:
        return lost.thread_id in threads
    return _is_one_empty(mailbox, threads)


def _is_one_empty(mailbox: Mailbox, threads: Collection[str]) -> bool:
    return any(not messages_of(mailbox, thread) for thread in sorted(threads))


def _look_through(mailbox: Mailbox, lost: LostDraft, drafts: Sequence[Draft]) -> Finding:
    """Without history all drafts are read, the newest first; absence proves nothing then."""
    facts = [(one, facts_of(mailbox, one.message_id)) for one in drafts[:MOST_READ]]
    found = _among(lost, facts, composed=True)
    return found or CannotTell("no draft has the token, and history does not reach back to when it was made")


def _among(lost: LostDraft, facts: Sequence[tuple[Draft, MessageFacts]], *, composed: bool) -> Found | None:
    """The draft with the token, or else one that may have been composed anew from it and was not thrown away."""
    ours = next(((one, message) for one, message in facts if shows_token(message, lost.token)), None)
    if ours is not None:
        draft, message = ours
        return Found(described(draft) if message.label_ids.isdisjoint(BINS) else {"discarded": True})
    kept = [(one, message) for one, message in facts if composed and message.label_ids.isdisjoint(BINS)]
    other = next((one for one, message in kept if stands_for(message, lost)), None)
    return None if other is None else Found(described(other) | {"composed": True})


def _sent(message: MessageFacts) -> Found:
    at = message.received_at.isoformat()
    return Found({"sent": message.message_id, "thread_id": message.thread_id, "sent_at": at})


def facts_of(mailbox: Mailbox, message_id: str) -> MessageFacts:
    """A draft's message, without its text; raises `Transient` when another has taken its place since."""
    try:
        return mailbox.message_facts(message_id)
    except Gone:
        raise Transient("a draft changed while it was looked at", code="draft.changed") from None


def messages_of(mailbox: Mailbox, thread_id: str) -> Sequence[MessageFacts]:
    """A thread's messages; no messages where the thread is gone, for its draft may have moved to another before."""
    try:
        return mailbox.thread(thread_id).messages
    except Gone:
        return ()


def all_drafts(mailbox: Mailbox) -> Iterator[Draft]:
    """Every draft of a mailbox, page by page, with its ids only; raises `TooMany` past `MOST_DRAFT_PAGES`."""
    page_token = None
    for _ in range(MOST_DRAFT_PAGES):
        drafts, page_token = mailbox.drafts(page_token)
        yield from drafts
        if page_token is None:
            return
    raise TooMany(f"the mailbox has more than {MOST_DRAFT_PAGES} pages of drafts")


def changes_since(mailbox: Mailbox, since: int) -> Iterator[Change]:
    """Everything that happened since a history id, page by page.

    History that ends before the mailbox's own history id is read on once. Raises `Transient` when it still lags, and
    `Gone` when history does not reach back, or has more than `MOST_PAGES` pages.
    """
    page_token, now = None, 0
    for _ in range(MOST_PAGES):
        page = mailbox.history(since, page_token)
        yield from page.changes
        page_token = page.next_page
        if page_token is not None:
            continue
        if now > page.history_id:
            lag = "history does not show yet what happened last"
            raise Transient(lag, code="gmail.historyLags", call_state=CallState.IN_DOUBT)
        now = now or mailbox.profile().history_id
        if now <= page.history_id:
            return
        since = page.history_id
    raise Gone(f"history since {since} has more than {MOST_PAGES} pages", code="gmail.historyTooLong")


def _history_of(mailbox: Mailbox, since: int | None) -> list[Change] | None:
    """Everything that happened since then; None when history does not reach back so far, or has too much to tell."""
    if since is None:
        return None
    try:
        return list(changes_since(mailbox, since))
    except Gone:
        return None
