"""Each job takes the payload that its source document writes down (docs: seeds.md)."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject, NewJob
from engine.catalogue import catalogue
from engine.enqueue import enqueue_jobs, enqueue_many
from storage.mail import emails
from storage.mail.accounts import accounts
from tests.doubles.mail_environment import MailEnvironment, connect
from tests.doubles.messages.adopting import adopt
from tests.doubles.messages.odd_messages import contract

NOBODY = "00000000-0000-4000-8000-000000000001"
OTHER_NAMES = {
    "sync": "gmail.sync",
    "history.sync.gmail": "gmail.sync",
    "ingest.gmail": "gmail.ingest",
    "labels.sync.gmail": "gmail.sync_labels",
    "backfill.gmail": "gmail.backfill",
    "classify": "triage.classify",
    "draft": "drafts.write",
    "manual_draft": "drafts.write_manual",
    "rework": "drafts.rework",
    "cleanup": "threads.cleanup",
    "agent_process": "agents.process",
    "agent_invocation": "agents.invoke",
    "action.gmail": "actions.execute",
    "undo.action": "actions.undo",
    "unsnooze.gmail": "actions.unsnooze",
    "outbound.send": "outbound.send",
    "approval.notify": "approvals.notify",
    "email_processing": "accounts.onboard",
}
KEYS = {
    "labels.sync.gmail": ("account_id",),
    "classify": ("account_id", "message_id"),
    "action.gmail": ("account_id", "action_id"),
    "undo.action": ("account_id", "original_action_id"),
    "unsnooze.gmail": ("account_id", "action_id"),
    "outbound.send": ("account_id", "action_id"),
}
"""The fields of which the key consists, where a source document names them."""


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_a_job_type_is_found_by_its_other_name(name: str) -> None:
    job = catalogue.find(name)
    assert job is not None
    assert job.name == OTHER_NAMES[name]
    key = job.declared.unique
    assert name not in KEYS or (key is not None and key.fields == KEYS[name])


def enqueue(env: MailEnvironment, job_type: str, payload: dict[str, Any], org_id: UUID | None = None) -> dict[str, Any]:
    """Enqueue in Python; the job as it is stored."""
    with env.process.database.ledger() as tx:
        (made,) = enqueue_jobs(tx, [NewJob(job_type, org_id or env.account.org_id, payload)])
    return env.job(made.job_id)


def user_of(env: MailEnvironment) -> str:
    return str(env.account.user_id)


def drafted(env: MailEnvironment) -> emails.Email:
    """A thread whose record a service may name by its id."""
    env.sync()
    place = env.deliver("Lunch on Friday?", "Could you tell me whether you can make it at noon? Please reply.")
    env.sync()
    return env.email(place.thread_id)


def test_sync_takes_user_id_history_id_and_force_full(env: MailEnvironment) -> None:
    stored = enqueue(env, "sync", {"user_id": user_of(env), "history_id": "7", "force_full": True})
    assert (stored["job_type"], stored["payload"]) == (
        "gmail.sync",
        {"account_id": str(env.account.account_id), "history_id": 7, "force_full": True, "reason": "admin"},
    )
    assert stored["serial_key"].endswith(str(env.account.account_id))
    again = enqueue(env, "gmail.sync", {"account_id": str(env.account.account_id), "force_full": True})
    assert again["id"] == stored["id"], "one mailbox has one key, whatever it is called"
    assert env.run(UUID(stored["id"])) == "succeeded"


def test_classify_takes_user_id_thread_id_message_id_and_force(env: MailEnvironment) -> None:
    email = drafted(env)
    asked = {"user_id": user_of(env), "thread_id": email.thread_id, "message_id": email.message_id, "force": True}
    stored = enqueue(env, "classify", asked)
    assert stored["payload"] == {
        "account_id": str(env.account.account_id),
        "message_id": email.message_id,
        "force": True,
    }
    assert env.run(UUID(stored["id"])) == "succeeded"
    newest = enqueue(env, "classify", {"user_id": user_of(env), "thread_id": email.thread_id})
    assert newest["payload"]["message_id"] == email.message_id


def test_draft_takes_user_id_and_email_id(env: MailEnvironment) -> None:
    email = drafted(env)
    stored = enqueue(env, "draft", {"user_id": user_of(env), "email_id": str(email.email_id)})
    assert stored["payload"] == {
        "account_id": str(env.account.account_id),
        "thread_id": email.thread_id,
        "message_id": email.message_id,
    }
    assert stored["serial_key"].endswith(email.thread_id)
    assert env.run(UUID(stored["id"])) == "succeeded"


def test_cleanup_takes_user_id_thread_id_and_action(env: MailEnvironment) -> None:
    email = drafted(env)
    stored = enqueue(env, "cleanup", {"user_id": user_of(env), "thread_id": email.thread_id, "action": "done"})
    assert stored["payload"]["account_id"] == str(env.account.account_id)
    assert env.run(UUID(stored["id"])) == "succeeded"
    assert env.state(email.thread_id) == "archived"


@pytest.mark.parametrize(
    ("job_type", "more"),
    [
        ("rework", {"by_label": False}),
        ("manual_draft", {"by_label": False}),
        ("agent_process", {"message_id": "m", "profile": "assistant"}),
    ],
)
def test_rework_manual_draft_and_agent_process_take_user_id(
    env: MailEnvironment, job_type: str, more: JsonObject
) -> None:
    asked = {"thread_id": "t"} | more
    stored = enqueue(env, job_type, {"user_id": user_of(env)} | asked)
    assert stored["payload"] == {"account_id": str(env.account.account_id)} | asked


@pytest.mark.parametrize("name", ["id", "schedule_id"])
def test_agent_invocation_takes_a_schedules_words(env: MailEnvironment, name: str) -> None:
    """A person who has no mailbox is somebody all the same: the agent has words only."""
    alone = uuid4()
    env.database.execute(
        "insert into users (id, org_id, email) values (%s, %s, 'ada@example.com')", (alone, env.account.org_id)
    )
    asked = {name: NOBODY, "agent_name": "brief", "prompt": "What is new?", "config": {}}
    stored: JsonObject = {"schedule_id": NOBODY, "profile": "brief", "prompt": "What is new?"}
    stored |= {"config": {"turns": None, "microcents": None, "seconds": None}}
    for user, mailbox in ((user_of(env), str(env.account.account_id)), (str(alone), None)):
        found = enqueue(env, "agent_invocation", asked | {"user_id": user})
        assert found["payload"] == stored | {"account_id": mailbox}
    for change, words in (
        ({"user_id": NOBODY}, "payload.user_id: names no user of the org"),
        ({"config": {"model": "x"}}, "payload.config.model"),
        ({"config": {"seconds": 9}}, "payload.config.seconds"),
        ({"prompt": "x" * 8_001}, "payload.prompt"),
        ({"agent_name": "A b"}, "payload.profile"),
    ):
        with pytest.raises(Invalid, match=words):
            enqueue(env, "agent_invocation", asked | change)


@pytest.mark.parametrize("name", ["email_id", "message_id", "draft"])
def test_cleanup_finds_a_thread_that_the_payload_does_not_name(env: MailEnvironment, name: str) -> None:
    """Errors per type: it resolves thread_id from the database when the payload lacks it."""
    email = drafted(env)
    key = {"email_id": str(email.email_id), "message_id": email.message_id, "draft": email.draft_message_id}[name]
    asked = {"user_id": user_of(env), "message_id" if name == "draft" else name: key, "action": "check_sent"}
    assert enqueue(env, "cleanup", asked)["payload"]["thread_id"] == email.thread_id


def test_a_client_of_celery_s_and_many_jobs_at_once_store_the_same(env: MailEnvironment) -> None:
    asked = {"user_id": user_of(env), "thread_id": "t", "action": "done"}
    wanted = enqueue(env, "cleanup", asked)
    (made,) = enqueue_many([NewJob("cleanup", env.account.org_id, asked)])
    assert str(made.job_id) == wanted["id"]
    env.database.execute("delete from idempotency_keys")
    job_id = uuid4()
    wire = contract(org_id=str(env.account.org_id), job_type="cleanup", job_id=str(job_id), payload=asked)
    adopt(env.process, "cleanup", wire)
    found = env.job(job_id)
    assert (found["job_type"], found["payload"]) == ("threads.cleanup", wanted["payload"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"user_id": NOBODY}, "payload.user_id: names no user of the org"),
        ({"user_id": "nobody"}, "payload.user_id: Input should be a valid UUID"),
        ({"account_id": NOBODY}, "payload.user_id: names a user who has another mailbox"),
        ({"email_id": NOBODY}, "payload.email_id: names no e-mail of the account"),
        ({"email_id": None}, "payload.thread_id: Field required"),
    ],
)
def test_what_a_name_does_not_find_is_refused_by_that_name(
    env: MailEnvironment, change: dict[str, Any], reason: str
) -> None:
    document = {"user_id": user_of(env), "email_id": str(uuid4())} | change
    with pytest.raises(Invalid, match=reason):
        enqueue(env, "draft", document)


def test_a_user_with_two_mailboxes_must_say_which(env: MailEnvironment) -> None:
    with env.process.database.ledger() as tx:
        tx.raw(
            "insert into accounts (org_id, user_id, email, status)"
            " values (%(org)s, %(user)s, 'second@postroom.example', 'disconnected')",
            {"org": env.account.org_id, "user": env.account.user_id},
        )
    assert enqueue(env, "sync", {"user_id": user_of(env)})["payload"]["account_id"] == str(env.account.account_id)
    other = connect(env.process, "third@postroom.example", "access-3", "refresh-3")
    env.database.execute("update accounts set user_id = %s where id = %s", (env.account.user_id, other.account_id))
    with pytest.raises(Invalid, match=r"payload\.user_id: "):
        enqueue(env, "sync", {"user_id": user_of(env)})
    both = enqueue(env, "sync", {"user_id": user_of(env), "account_id": str(other.account_id)})
    assert both["payload"]["account_id"] == str(other.account_id)


def test_another_orgs_user_is_nobody(env: MailEnvironment) -> None:
    with env.process.database.ledger() as tx:
        stranger = tx.raw("insert into orgs (name) values ('Another Org') returning id")[0].id
    with pytest.raises(Invalid, match=r"payload\.user_id: "):
        enqueue(env, "sync", {"user_id": user_of(env)}, org_id=stranger)
    with env.process.database.ledger() as tx:
        assert accounts.get(tx, env.account.account_id).user_id == env.account.user_id


def test_a_message_in_another_thread_is_refused(env: MailEnvironment) -> None:
    email = drafted(env)
    asked = {"user_id": user_of(env), "thread_id": "another", "message_id": email.message_id}
    with pytest.raises(Invalid, match=r"payload\.thread_id: "):
        enqueue(env, "classify", asked)
