"""How many transactions a job of the mail families takes when all goes well. The numbers may only fall.

A transaction is a commit of several statements, or one statement that commits by itself. A job's own are those of its
handler, and its settlement where rows are written with it. Claims and the other settlements are the engine's: one each
for a whole batch of jobs. They are counted apart, for a batch of one job.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg.abc import Params
from psycopg.rows import RowFactory
from sqlalchemy import Connection, Engine, Pool, event

from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Forward
from domain.mail.actions.snooze import Snooze
from storage.postgres.execution import numbered
from storage.postgres.queries import statements
from storage.postgres.sessions import RESET
from tests.doubles.agents import give_agent, order_run, store_letter
from tests.doubles.approvals import waiting as action_waits
from tests.doubles.factories import pass_time
from tests.doubles.inline_worker import MAKE_DUE
from tests.doubles.mail_actions import ask, do, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import FORWARD, approved, letter_with_files, order, taken_in
from tests.sweep.prepared.gmail import connected_again, known_owner
from tests.sweep.prepared.housekeeping import effect_to_ask_about

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
NEWS = "For your information only."
SHARED = {"claim_jobs", "settle_jobs", "start_jobs"}
"""Statements of the engine for all jobs of a batch."""

NAMES = {numbered(text)[0].decode(): name for name, text in statements().items()}
"""The name of each statement file, by its text."""

DUE = numbered(MAKE_DUE)[0].decode()

Raw = psycopg.Connection[Any]


@dataclass
class Counter:
    """What this process commits."""

    own: list[list[str]] = field(default_factory=list)
    """The statements of each transaction of the job, in order."""
    shared: int = 0
    _open: dict[int, list[str]] = field(default_factory=dict)

    @contextmanager
    def counting(self) -> Iterator[None]:
        """Listen to the connections that SQLAlchemy's pools lend."""
        event.listen(Pool, "checkout", self._lent)
        event.listen(Engine, "commit", self._commit)
        try:
            yield
        finally:
            event.remove(Pool, "checkout", self._lent)
            event.remove(Engine, "commit", self._commit)

    def sent(self, raw: Raw, text: str) -> None:
        """Note a statement, unless it is the double's, which makes jobs due, or cleans a connection for the pool."""
        if text in (DUE, RESET):
            return
        name = NAMES.get(text, text[:50])
        if name in SHARED:
            self.shared += 1
        elif text.startswith("begin"):
            self._open[id(raw)] = []
        elif text.startswith("commit"):
            self._close(raw)
        elif raw.autocommit and id(raw) not in self._open:
            self.own.append([name])
        else:
            self._open.setdefault(id(raw), []).append(name)

    def _lent(self, raw: Raw, *_rest: object) -> None:
        raw.cursor_factory = partial(CountedCursor, counter=self)  # type: ignore[assignment]  # psycopg only calls it

    def _commit(self, connection: Connection) -> None:
        self._close(connection.connection.driver_connection)

    def _close(self, raw: object) -> None:
        statements = self._open.pop(id(raw), [])
        if statements:
            self.own.append(statements)


class CountedCursor(psycopg.RawCursor[Any]):
    """Tells of each statement before it is sent."""

    def __init__(self, raw: Raw, *, counter: Counter, row_factory: RowFactory[Any] | None = None) -> None:
        super().__init__(raw, row_factory=row_factory or raw.row_factory)
        self._counter = counter

    def execute(
        self,
        query: Any,  # noqa: ANN401 - one of psycopg's overloads
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> "CountedCursor":
        self._counter.sent(self.connection, query.decode() if isinstance(query, bytes) else query)
        super().execute(query, params, prepare=prepare, binary=binary)
        return self


def waiting(env: MailEnvironment, job_type: str) -> UUID:
    """The one job of a type that is queued."""
    rows = env.database.execute("select id from jobs where job_type = %s and state = 'queued'", (job_type,)).fetchall()
    assert len(rows) == 1
    return UUID(str(rows[0][0]))


def used_mailbox(env: MailEnvironment) -> None:
    """A mailbox in which a draft was written before: our labels exist, and nothing waits."""
    env.sync()
    env.deliver("Breakfast?", QUESTION)
    env.sync()


def one_change(env: MailEnvironment) -> UUID:
    """History with one new letter, on a single page."""
    used_mailbox(env)
    env.deliver("News", NEWS)
    return env.enqueue("gmail.sync")


def new_letter(env: MailEnvironment) -> UUID:
    one_change(env)
    env.drain(only="gmail.sync")
    return waiting(env, "gmail.ingest")


def letter(env: MailEnvironment, subject: str, text: str, **options: object) -> UUID:
    """A letter that waits for its classification."""
    used_mailbox(env)
    env.deliver(subject, text, **options)
    env.enqueue("gmail.sync")
    env.drain(only="gmail.%")
    return waiting(env, "triage.classify")


def automated(env: MailEnvironment) -> UUID:
    return letter(env, "News", NEWS, headers={"Auto-Submitted": "auto-replied"})


def without_draft(env: MailEnvironment) -> UUID:
    return letter(env, "News", NEWS)


def with_draft(env: MailEnvironment) -> UUID:
    return letter(env, "Lunch?", QUESTION)


def asked_of_two(env: MailEnvironment) -> UUID:
    """The cheaper model is not sure enough."""
    two = {"classify_first_model": "claude-haiku-5-5", "classify_sure_from": 1.0, "classify_model": "claude-opus-5"}
    env.process.settings = env.process.settings.model_copy(update=two)
    return with_draft(env)


def to_be_drafted(env: MailEnvironment) -> UUID:
    with_draft(env)
    env.drain(only="triage.%")
    return waiting(env, "drafts.write")


def by_agent(env: MailEnvironment) -> UUID:
    """A question that an agent reads and drafts an answer to: three answers of the model, two calls of tools."""
    used_mailbox(env)
    give_agent(env)
    return order_run(env, store_letter(env, "Lunch?", QUESTION))


def sent_by_its_person(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    draft = env.mailbox.state().drafts[0]
    env.mailbox.send_draft(draft["draft_id"])
    return env.enqueue("threads.cleanup", {"thread_id": draft["thread_id"], "action": "check_sent"})


def done_by_its_person(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    draft = env.mailbox.state().drafts[0]
    return env.enqueue("threads.cleanup", {"thread_id": draft["thread_id"], "action": "done"})


def labelled_by_its_person(env: MailEnvironment, thread_id: str, label: str, job_type: str) -> UUID:
    env.mailbox.label_thread(thread_id, add=(env.label(label),))
    env.enqueue("gmail.sync")
    env.drain(only="gmail.sync")
    return waiting(env, job_type)


def asked_by_hand(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    place = env.deliver("News", NEWS)
    env.sync()
    return labelled_by_its_person(env, place.thread_id, "Needs Response", "drafts.write_manual")


def to_be_reworked(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    draft = env.mailbox.state().drafts[0]
    return labelled_by_its_person(env, draft["thread_id"], "Rework", "drafts.rework")


def labels_known(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    env.enqueue("gmail.sync_labels")
    env.drain(only="gmail.sync_labels")
    return env.enqueue("gmail.sync_labels")


def watched(env: MailEnvironment) -> UUID:
    env.sync()
    return env.enqueue("gmail.renew_watch")


def reply_to_be_sent(env: MailEnvironment) -> UUID:
    place = taken_in(env)
    return order(env, place, approved(env, place.message_id))


def forward_to_be_sent(env: MailEnvironment) -> UUID:
    place = taken_in(env, raw=letter_with_files())
    return order(env, place, approved(env, place.message_id, FORWARD))


SENT_ONCE = (
    "read, and the action taken up; token and intent of the draft; its result, its row and the send's intent; the"
    " send's result with the action done, which must not wait for the Message-ID; write"
)


def to_be_archived(env: MailEnvironment) -> UUID:
    ask(env, stored_letter(env), Archive())
    return waiting(env, "actions.execute")


def to_be_snoozed(env: MailEnvironment) -> UUID:
    """The label of snoozed messages exists."""
    place = stored_letter(env)
    do(env, place, Snooze(amount=1, units="hours"))
    ask(env, place, Snooze(amount=2, units="hours"))
    return waiting(env, "actions.execute")


def to_be_forwarded(env: MailEnvironment) -> UUID:
    ask(env, stored_letter(env), Forward(to=("anna@example.org",)))
    return waiting(env, "actions.execute")


def to_be_taken_back(env: MailEnvironment) -> UUID:
    done = do(env, stored_letter(env), Archive())
    return env.enqueue("actions.undo", {"original_action_id": str(done.action_id)})


def due_to_wake(env: MailEnvironment) -> UUID:
    do(env, stored_letter(env), Snooze(amount=1, units="hours"))
    pass_time(env.database, timedelta(hours=1))
    return waiting(env, "actions.unsnooze")


def older_letter(env: MailEnvironment) -> UUID:
    used_mailbox(env)
    env.deliver("Long ago", NEWS, internal_date=1_000_000_000_000)
    return env.enqueue("gmail.backfill", {"until": "2002-01-01T00:00:00Z"})


def older_batch(env: MailEnvironment) -> UUID:
    older_letter(env)
    env.drain(only="gmail.backfill")
    return waiting(env, "gmail.backfill_messages")


def to_be_asked_about(env: MailEnvironment) -> UUID:
    """Nobody is asked: the installation has no bot."""
    action_waits(env)
    return waiting(env, "approvals.notify")


@dataclass(frozen=True)
class Bound:
    """At most so many transactions of its own; more than three have a reason."""

    job_type: str
    prepare: Callable[[MailEnvironment], UUID]
    most: int
    reason: str = ""


BOUNDS = [
    Bound("accounts.onboard", connected_again, 14, "read; three for each of three steps; four that they write"),
    Bound("accounts.learn_voice", known_owner, 4, "read; money set aside; cost and answer; write"),
    Bound("gmail.backfill", older_letter, 3),
    Bound("gmail.backfill_messages", older_batch, 3),
    Bound("gmail.sync", one_change, 2),
    Bound("gmail.ingest", new_letter, 2),
    Bound("gmail.sync_labels", labels_known, 2),
    Bound("gmail.renew_watch", watched, 2),
    Bound("maintenance.resolve_effect", effect_to_ask_about, 3),
    Bound("triage.classify", automated, 2),
    Bound(
        "triage.classify",
        without_draft,
        4,
        "read; money set aside; cost booked and answer kept, whatever becomes of the claim; write",
    ),
    Bound("triage.classify", with_draft, 5, "as without a draft, and the intent of the labels before the call"),
    Bound("triage.classify", asked_of_two, 7, "as with a draft, and money and answer of the first model, kept apart"),
    Bound(
        "drafts.write",
        to_be_drafted,
        6,
        "read; money; cost and answer; token and intent of the draft; its result, its record and the labels' intent, "
        "which must not wait for the labels; write",
    ),
    Bound("outbound.send", reply_to_be_sent, 5, SENT_ONCE),
    Bound("outbound.send", forward_to_be_sent, 5, SENT_ONCE),
    Bound(
        "drafts.write_manual",
        asked_by_hand,
        7,
        "as drafts.write, and the record, which is begun before the model is paid",
    ),
    Bound(
        "drafts.rework",
        to_be_reworked,
        7,
        "as drafts.write, and the record, which moves to rework_requested with the token before the model is paid",
    ),
    Bound(
        "agents.process",
        by_agent,
        23,
        "read and begin; for each of three steps (opening, two calls) 3: claim and cancel, was it kept, its result; "
        "for each of three answers 2: money; cost and answer; to read: 1; to draft 4: record; token and intent; "
        "result, record and labels' intent; labels; at the end 2: record, write",
    ),
    Bound("threads.cleanup", sent_by_its_person, 3),
    Bound("threads.cleanup", done_by_its_person, 3),
    Bound("actions.execute", to_be_archived, 3),
    Bound(
        "actions.execute",
        to_be_snoozed,
        4,
        "read and begin; the label of snoozed messages; the intent, with the pre-image and the job that wakes; write",
    ),
    Bound("actions.execute", to_be_forwarded, 2),
    Bound("approvals.notify", to_be_asked_about, 1),
    Bound("actions.undo", to_be_taken_back, 3),
    Bound("actions.unsnooze", due_to_wake, 3),
]

MOST_PER_MESSAGE = 12
DRAFTED = 0.25
"""The share of messages that ask for an answer, as the demo's mail has it: 2.25 jobs to a message."""


def measured(env: MailEnvironment, bound: Bound) -> Counter:
    """Run the job of a bound to its end, counting."""
    job_id = bound.prepare(env)
    counter = Counter()
    with counter.counting():
        assert env.run(job_id) == "succeeded"
    assert env.job(job_id)["job_type"] == bound.job_type
    return counter


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: f"{bound.job_type}-{bound.prepare.__name__}")
def test_a_job_takes_no_more_transactions_than_it_did(env: MailEnvironment, bound: Bound) -> None:
    counter = measured(env, bound)
    assert len(counter.own) == bound.most, counter.own
    assert counter.shared <= 2, "a claim, and a settlement where nothing is written with it"


def test_whatever_takes_more_than_three_says_why() -> None:
    assert [bound for bound in BOUNDS if bound.most > 3 and not bound.reason] == []


def test_a_message_takes_at_most_twelve_in_all() -> None:
    """Ingested, classified, and one in four drafted, each job alone in its batch: its own, and its claim."""
    most = {bound.prepare: bound.most for bound in BOUNDS}
    drafted = most[with_draft] + most[to_be_drafted] + 2
    message = most[new_letter] + 1 + (1 - DRAFTED) * (most[without_draft] + 1) + DRAFTED * drafted
    assert message == 10.0
    assert message <= MOST_PER_MESSAGE
