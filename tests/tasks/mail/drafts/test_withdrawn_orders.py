"""An order by hand that its person takes back before anything is drafted is not carried out, and nothing is paid."""

from collections.abc import Callable
from uuid import UUID

import pytest

from domain.mail.actions.label_actions import RemoveLabel
from domain.mail.actions.status import ActionStatus
from domain.mail.correspondence import EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from sandbox.emulator.control import MessagePlace
from tasks.mail.steps import mailbox_sync
from tests.doubles.mail_actions import do
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.sweep.prepared.places import stored_question
from tests.tasks.mail.drafts.reworks import QUESTION, draft_id, labels_of
from tests.tasks.mail.drafts.test_orders_by_hand import answers, archived, discarded, drafts, old, order_in_vain, put

LABELS = ["Needs Response", "Rework"]


def withdraw(env: MailEnvironment, place: MessagePlace, label: str = "Needs Response") -> None:
    env.mailbox.label_thread(place.thread_id, remove=(env.label(label),))


def see(env: MailEnvironment, *families: str) -> None:
    """Have the sync see what its person did, and run some of what follows."""
    env.enqueue("gmail.sync")
    for family in ("gmail.%", *families):
        env.drain(only=family)


@pytest.mark.parametrize("is_seen", [True, False])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", [discarded, archived, old])
def test_one_that_is_taken_back_before_its_job_begins(
    env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace], label: str, *, is_seen: bool
) -> None:
    """The job waited for the model, for money or for a worker, and a sync has seen the withdrawal by then or not."""
    place = case(env)
    env.database.execute("update expected_writes set created_at = created_at - interval '2 minutes'")
    put(env, place, label)
    see(env)
    paid = answers(env)
    withdraw(env, place, label)
    if is_seen:
        see(env)
    env.drain()
    assert (drafts(env), answers(env) - paid) == (0, 0)
    env.sync(force_full=True)
    assert (drafts(env), answers(env) - paid) == (0, 0)


@pytest.mark.parametrize("job_type", ["drafts.write_manual", "drafts.rework"])
def test_a_service_orders_without_a_label(env: MailEnvironment, job_type: str) -> None:
    env.enqueue(job_type, {"thread_id": stored_question(env).thread_id})
    env.drain()
    assert drafts(env) == 1


def test_one_that_is_given_again_is_carried_out(env: MailEnvironment) -> None:
    place = discarded(env)
    put(env, place)
    see(env)
    withdraw(env, place)
    see(env)
    put(env, place)
    env.sync()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", [discarded, archived, old])
def test_one_that_is_taken_back_while_history_is_lost(
    env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace], label: str
) -> None:
    place = case(env)
    order_in_vain(env, place, label)
    env.gmail.clear_faults()
    withdraw(env, place, label)
    env.mailbox.expire_history()
    paid = answers(env)
    env.sync()
    env.hour_later()
    assert (drafts(env), answers(env) - paid) == (0, 0)
    assert env.state(place.thread_id) is EmailState.SKIPPED
    assert not env.email(place.thread_id).in_doubt


@pytest.mark.parametrize("label", LABELS)
def test_one_that_is_given_and_taken_back_while_history_is_lost(env: MailEnvironment, label: str) -> None:
    place = archived(env)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    put(env, place, label)
    env.mailbox.expire_history()
    env.sync()
    env.gmail.clear_faults()
    withdraw(env, place, label)
    env.mailbox.expire_history()
    env.sync()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)


@pytest.mark.parametrize("label", LABELS)
def test_one_that_is_taken_back_in_history(env: MailEnvironment, label: str) -> None:
    place = archived(env)
    order_in_vain(env, place, label)
    env.gmail.clear_faults()
    withdraw(env, place, label)
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)


def test_a_services_order_is_not_withdrawn_by_a_full_sync(env: MailEnvironment) -> None:
    """No label ordered it, so none can be missing."""
    place = archived(env)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    env.enqueue("drafts.write_manual", {"thread_id": place.thread_id})
    env.drain()
    env.gmail.clear_faults()
    env.sync(force_full=True)
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_an_order_that_stands_is_carried_out_although_history_was_lost(env: MailEnvironment) -> None:
    """Also where its label is on one message of several."""
    place = archived(env)
    env.deliver("Re: Lunch?", "For your information only.", thread_id=place.thread_id)
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.label_message(place.message_id, remove=(env.label("Needs Response"),))
    env.mailbox.expire_history()
    env.sync()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def order_as_a_service(env: MailEnvironment, place: MessagePlace, job_type: str = "drafts.write_manual") -> UUID:
    return env.enqueue(job_type, {"thread_id": place.thread_id})


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("job_type", "label"), [("drafts.write_manual", "Needs Response"), ("drafts.rework", "Rework")]
)
def test_a_services_order_stands_beside_a_label_that_comes_and_goes(
    env: MailEnvironment, job_type: str, label: str, *, is_first: bool
) -> None:
    """The service's is a job of its own, whoever ordered first, and whether the sync saw the label go."""
    place = old(env)
    mine = order_as_a_service(env, place, job_type) if is_first else None
    put(env, place, label)
    see(env)
    mine = mine or order_as_a_service(env, place, job_type)
    withdraw(env, place, label)
    see(env)
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)
    assert env.job(mine)["state"] == "succeeded"


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("case", [archived, old])
def test_a_services_order_that_waits_is_not_withdrawn_by_a_label(
    env: MailEnvironment, case: Callable[[MailEnvironment], MessagePlace], label: str, *, lost: bool
) -> None:
    place = case(env)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    order_as_a_service(env, place)
    env.drain()
    put(env, place, label)
    env.sync()
    env.gmail.clear_faults()
    withdraw(env, place, label)
    if lost:
        env.mailbox.expire_history()
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_services_order_after_a_labels_that_waits_is_not_withdrawn(env: MailEnvironment) -> None:
    place = archived(env)
    order_in_vain(env, place)
    order_as_a_service(env, place)
    env.drain()
    env.gmail.clear_faults()
    withdraw(env, place)
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_services_order_is_carried_out_after_a_labels_that_came_later(env: MailEnvironment) -> None:
    """The record names the label's order, which is younger, and says nothing of the service's."""
    place = discarded(env)
    mine = order_as_a_service(env, place)
    put(env, place)
    see(env)
    ((by_label,),) = env.database.execute(
        "select id from jobs where job_type = 'drafts.write_manual' and state = 'queued' and id <> %s", (mine,)
    )
    assert (env.run(by_label), drafts(env)) == ("succeeded", 1)
    env.mailbox.discard_draft(draft_id(env, place))
    see(env, "threads.%")
    assert (env.state(place.thread_id), env.job(mine)["state"]) == (EmailState.SKIPPED, "queued")
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_a_labels_order_is_withdrawn_in_a_thread_of_an_earlier_service(env: MailEnvironment) -> None:
    """The service's order was of the life before."""
    place = archived(env)
    order_as_a_service(env, place)
    env.drain()
    env.mailbox.discard_draft(draft_id(env, place))
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    withdraw(env, place)
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)


def search_in_vain(env: MailEnvironment) -> None:
    """Gmail's search lags: it shows nothing yet."""
    env.fail("messages.list", times=None, status=200, body={"resultSizeEstimate": 0})


def test_an_order_that_stands_is_carried_out_although_the_search_lags(env: MailEnvironment) -> None:
    place = archived(env)
    order_in_vain(env, place)
    env.gmail.clear_faults()
    search_in_vain(env)
    env.sync(force_full=True)
    env.gmail.clear_faults()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)


def test_an_order_that_is_carried_out_is_not_withdrawn_by_a_search_that_lags(
    env: MailEnvironment, meanwhile: Meanwhile
) -> None:
    place = archived(env)

    def sync() -> None:
        search_in_vain(env)
        env.enqueue("gmail.sync", {"force_full": True})
        env.drain(only="gmail.%")
        env.gmail.clear_faults()

    put(env, place)
    see(env)
    meanwhile(DRAFT_TOOL, sync)
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (1, EmailState.DRAFTED)
    assert labels_of(env, place) == {"Postroom/Outbox"}


@pytest.mark.parametrize("status", [403, 503])
def test_a_message_that_gmail_does_not_tell_of_is_asked_for_by_the_next_full_sync(
    env: MailEnvironment, status: int
) -> None:
    place = archived(env)
    order_in_vain(env, place)
    withdraw(env, place)
    env.mailbox.expire_history()
    env.fail("messages.get", times=None, status=status, reason="domainPolicy")
    env.enqueue("gmail.sync")
    assert env.drain(only="gmail.%") == [("gmail.sync", "succeeded")]
    assert env.state(place.thread_id) is EmailState.PENDING
    env.gmail.clear_faults()
    env.enqueue("gmail.sync", {"force_full": True})
    env.drain(only="gmail.%")
    env.drain()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)


def test_a_full_sync_asks_for_so_many_messages_at_most(env: MailEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailbox_sync, "MOST_ASKED", 1)
    place = archived(env)
    env.deliver("Re: Lunch?", "For your information only.", thread_id=place.thread_id)
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    search_in_vain(env)
    before = len(env.gmail.journal("messages.get"))
    env.run(env.enqueue("gmail.sync", {"force_full": True}))
    assert len(env.gmail.journal("messages.get")) == before + 1


def test_an_order_whose_message_is_deleted_while_history_is_lost_is_taken_back(env: MailEnvironment) -> None:
    """No message of the thread carries its label any more."""
    place = archived(env)
    second = env.deliver("Re: Lunch?", "For your information only.", thread_id=place.thread_id)
    env.sync()
    order_in_vain(env, place)
    env.gmail.clear_faults()
    env.mailbox.label_message(second.message_id, remove=(env.label("Needs Response"),))
    env.sync()
    assert env.state(place.thread_id) is EmailState.PENDING
    env.mailbox.delete_message(place.message_id)
    env.mailbox.expire_history()
    env.sync()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)


@pytest.mark.parametrize("is_waiting", [True, False])
def test_one_whose_label_is_taken_off_by_an_action_is_taken_back(env: MailEnvironment, *, is_waiting: bool) -> None:
    place = archived(env)
    env.database.execute("update expected_writes set created_at = created_at - interval '2 minutes'")
    if is_waiting:
        order_in_vain(env, place)
        env.gmail.clear_faults()
    else:
        put(env, place)
        see(env)
    paid = answers(env)
    assert do(env, place, RemoveLabel(label_id=env.label("Needs Response"))).state is ActionStatus.DONE
    env.sync()
    env.hour_later()
    assert (drafts(env), answers(env) - paid, env.state(place.thread_id)) == (0, 0, EmailState.SKIPPED)


def test_the_label_of_an_order_that_waits_stays_where_an_archived_message_is_classified(env: MailEnvironment) -> None:
    """Or its person could not take it back."""
    env.sync()
    env.label("Needs Response")
    place = env.deliver("Lunch?", QUESTION)
    see(env)
    env.mailbox.archive(place.thread_id)
    put(env, place)
    see(env)
    env.fail("drafts.create", times=None, status=403, reason="domainPolicy")
    for family in ("drafts.%", "triage.%"):
        env.drain(only=family)
    env.gmail.clear_faults()
    assert (labels_of(env, place), env.state(place.thread_id)) == ({"Postroom/Needs Response"}, EmailState.PENDING)
    withdraw(env, place)
    env.sync()
    env.hour_later()
    assert (drafts(env), env.state(place.thread_id)) == (0, EmailState.SKIPPED)
