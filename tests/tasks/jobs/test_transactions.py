"""How many transactions and trips a job of the mail families takes when all goes well. The numbers may only fall.

A job's own are those of its handler, and its settlement where rows are written with it. Claims and the other
settlements are the engine's: one each for a whole batch of jobs. They are counted apart, for a batch of one job.

The numbers are in `trips.txt`. Write them anew by `make trips`, and read what changed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import pytest

from domain.mail.actions.label_actions import Archive
from domain.mail.actions.requested_action import Forward
from domain.mail.actions.snooze import Snooze
from tests.doubles.agents import give_agent, order_run, store_letter
from tests.doubles.approvals import waiting as action_waits
from tests.doubles.factories import pass_time
from tests.doubles.mail_actions import ask, do, stored_letter
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import FORWARD, approved, letter_with_files, order, taken_in
from tests.sweep.prepared.gmail import connected_again, known_owner
from tests.sweep.prepared.housekeeping import effect_to_ask_about
from tests.tasks.jobs.counted_trips import Counter, Taken, keep, kept

QUESTION = "Could you tell me whether noon on Friday suits you? Please reply."
NEWS = "For your information only."


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
    """A path of a job; one that takes more than three transactions has a reason."""

    job_type: str
    prepare: Callable[[MailEnvironment], UUID]
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.job_type} {self.prepare.__name__}"


BOUNDS = [
    Bound("accounts.onboard", connected_again, "read; three for each of three steps; four that they write"),
    Bound("accounts.learn_voice", known_owner, "read; money set aside; cost and answer; write"),
    Bound("gmail.backfill", older_letter),
    Bound("gmail.backfill_messages", older_batch),
    Bound("gmail.sync", one_change),
    Bound("gmail.ingest", new_letter),
    Bound("gmail.sync_labels", labels_known),
    Bound("gmail.renew_watch", watched),
    Bound("maintenance.resolve_effect", effect_to_ask_about),
    Bound("triage.classify", automated),
    Bound(
        "triage.classify",
        without_draft,
        "read; money set aside; cost booked and answer kept, whatever becomes of the claim; write",
    ),
    Bound("triage.classify", with_draft, "as without a draft, and the intent of the labels before the call"),
    Bound("triage.classify", asked_of_two, "as with a draft, and money and answer of the first model, kept apart"),
    Bound(
        "drafts.write",
        to_be_drafted,
        "read; money; cost and answer; token and intent of the draft; its result, its record and the labels' intent, "
        "which must not wait for the labels; write",
    ),
    Bound("outbound.send", reply_to_be_sent, SENT_ONCE),
    Bound("outbound.send", forward_to_be_sent, SENT_ONCE),
    Bound(
        "drafts.write_manual",
        asked_by_hand,
        "as drafts.write, and the record, which is begun before the model is paid",
    ),
    Bound(
        "drafts.rework",
        to_be_reworked,
        "as drafts.write, and the record, which moves to rework_requested with the token before the model is paid",
    ),
    Bound(
        "agents.process",
        by_agent,
        "read and begin; for each of three steps (opening, two calls) 3: claim and cancel, was it kept, its result; "
        "for each of three answers 2: money; cost and answer; to read: 1; to draft 4: record; token and intent; "
        "result, record and labels' intent; labels; at the end 2: record, write",
    ),
    Bound("threads.cleanup", sent_by_its_person),
    Bound("threads.cleanup", done_by_its_person),
    Bound("actions.execute", to_be_archived),
    Bound(
        "actions.execute",
        to_be_snoozed,
        "read and begin; the label of snoozed messages; the intent, with the pre-image and the job that wakes; write",
    ),
    Bound("actions.execute", to_be_forwarded),
    Bound("approvals.notify", to_be_asked_about),
    Bound("actions.undo", to_be_taken_back),
    Bound("actions.unsnooze", due_to_wake),
]

MOST_PER_MESSAGE = Taken(12, 30)
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


@pytest.mark.parametrize("bound", BOUNDS, ids=str)
def test_a_job_takes_no_more_transactions_and_trips_than_it_did(
    env: MailEnvironment, bound: Bound, pytestconfig: pytest.Config
) -> None:
    counter = measured(env, bound)
    taken = Taken(len(counter.own), len(counter.trips))
    if pytestconfig.option.write_trips:
        keep(str(bound), taken)
    assert taken == kept()[str(bound)], (counter.own, counter.trips)
    assert counter.shared <= 2, "a claim, and a settlement where nothing is written with it"


def test_the_table_has_each_path_and_no_other() -> None:
    assert set(kept()) == set(map(str, BOUNDS))


def test_whatever_takes_more_than_three_transactions_says_why() -> None:
    assert [bound for bound in BOUNDS if kept()[str(bound)].transactions > 3 and not bound.reason] == []


def test_a_message_takes_at_most_so_many_in_all() -> None:
    """Ingested, classified, and one in four drafted, each job alone in its batch: its own, and its claim."""
    taken = {bound.prepare: kept()[str(bound)] for bound in BOUNDS}
    for each, most in enumerate(MOST_PER_MESSAGE):
        drafted = taken[with_draft][each] + taken[to_be_drafted][each] + 2
        message = taken[new_letter][each] + 1 + (1 - DRAFTED) * (taken[without_draft][each] + 1) + DRAFTED * drafted
        assert message <= most
