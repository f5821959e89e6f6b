"""Foreign messages in a worker's main process: adopted or refused, each answered once, whatever the database says."""

import json
import time
from typing import Any
from uuid import UUID, uuid4

import pytest
from psycopg import Connection, connect

from commands.operations import AREAS
from engine.messages import border
from engine.messages.documents import LARGEST_BODY
from engine.messages.foreign import ForeignMessage, RefusedMessage
from engine.runtime import Runtime
from engine.worker.adoption import Adoption
from storage.jobs import refusals
from storage.postgres.database import Database
from storage.postgres.execution import DatabaseUnavailable
from tests.commands.calling import answer
from tests.doubles import probe_jobs
from tests.doubles.factories import make_settings
from tests.doubles.messages.adopting import Answered
from tests.doubles.messages.odd_messages import EMBED, as_redis_message, body, contract, envelope, task_headers
from tests.waiting import eventually


@pytest.fixture
def adoption(process: Runtime) -> Adoption:
    assert probe_jobs.noop
    made = Adoption(process, time.monotonic)
    made.attach(())
    return made


def received(kwargs: dict[str, Any], task: str = "probe_jobs.noop", **given: object) -> ForeignMessage | RefusedMessage:
    document = envelope(body(kwargs), task_headers(task, **given))  # type: ignore[arg-type] # headers of any value
    read = border.read(as_redis_message(json.dumps(document).encode()))
    assert isinstance(read, ForeignMessage | RefusedMessage)
    return read


def receive(adoption: Adoption, read: ForeignMessage | RefusedMessage) -> Answered:
    message = Answered()
    adoption.receive(message, read)
    return message


def job(org: UUID, **given: object) -> dict[str, Any]:
    return contract(org_id=str(org), **given)


def jobs(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute("select job_type, state from jobs order by created_at, id").fetchall()


def refused(database: Connection) -> list[tuple[Any, ...]]:
    return database.execute("select task, field, reason from refused_messages order by id").fetchall()


def test_one_bad_message_of_a_batch_is_refused_and_the_others_become_jobs(
    adoption: Adoption, org: UUID, database: Connection
) -> None:
    first, bad, last = (receive(adoption, received(job(one))) for one in (org, uuid4(), org))
    adoption.write()
    assert [one.answers for one in (first, bad, last)] == [["ack"], ["reject"], ["ack"]]
    assert (len(jobs(database)), len(adoption)) == (2, 0)
    assert refused(database) == [("probe_jobs.noop", "org_id", "names no org")]


def test_what_a_payload_s_class_does_not_take_is_refused_before_any_statement(
    adoption: Adoption, org: UUID, database: Connection
) -> None:
    bad = receive(adoption, received(job(org, payload={"colour": "red"})))
    addressed = receive(adoption, received(job(org, job_type="probe_jobs.parent")))
    adoption.write()
    assert (bad.answers, addressed.answers) == (["reject"], ["reject"])
    assert [field for _, field, _ in refused(database)] == ["payload.colour", "job_type"]


def test_a_message_waits_while_the_database_is_away_and_is_answered_once(
    adoption: Adoption, process: Runtime, org: UUID, database: Connection
) -> None:
    message = receive(adoption, received(job(org)))
    there = process.database
    process.database = Database(make_settings(database_url="postgresql://me@127.0.0.1:1/nothing"))
    for _ in range(2):
        with pytest.raises(DatabaseUnavailable):
            adoption.write()
    assert (message.answers, len(adoption)) == ([], 1)
    process.database.dispose()
    process.database = there
    adoption.write()
    adoption.write()
    assert message.answers == ["ack"]
    assert len(jobs(database)) == 1


def test_a_key_that_another_transaction_holds_delays_its_message_alone(
    adoption: Adoption, org: UUID, database: Connection, database_url: str
) -> None:
    """A producer may leave its transaction open for as long as it likes; the event loop must not wait for it."""
    with connect(database_url) as producer:
        producer.execute("select postroom.enqueue('probe_jobs.noop', %s, idempotency_key => 'held')", (org,))
        held = receive(adoption, received(job(org, idempotency_key="held")))
        other = receive(adoption, received(job(org)))
        adoption.write()
        assert (held.answers, other.answers, len(adoption)) == ([], ["ack"], 1)
        adoption.write()
        assert held.answers == [], "it rests"

    def is_answered() -> bool:
        adoption.write()
        return held.answers == ["ack"]

    eventually(is_answered, describe="the message is adopted once it has rested")
    assert len(jobs(database)) == 2


def test_a_type_of_a_newer_worker_is_kept_for_it(adoption: Adoption, org: UUID, database: Connection) -> None:
    columns = "payload_version, max_attempts, deadline, keep_key_for"
    database.execute(
        f"insert into job_types (name, queue, {columns}) select 'tomorrow.run', queue, {columns}"
        " from job_types where name = 'probe_jobs.noop'"
    )
    message = receive(adoption, received(job(org, job_type="tomorrow.run"), "tomorrow.run"))
    adoption.write()
    assert message.answers == ["ack"]
    assert jobs(database) == [("tomorrow.run", "queued")]


def test_a_type_that_nobody_knows_is_a_dead_letter_once(adoption: Adoption, org: UUID, database: Connection) -> None:
    unknown = job(org, job_type="no.such_type")
    messages = [receive(adoption, received(unknown | {"job_id": str(uuid4())}, "no.such_type")) for _ in range(2)]
    adoption.write()
    assert [one.answers for one in messages] == [["ack"], ["ack"]]
    assert ("no.such_type", "dead") in jobs(database)
    assert database.execute("select count(*) from dead_letters").fetchone() == (1,)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"payload": {"a": [1, {"b": None}]}},
        {"priority": 7, "max_attempts": 3, "retry_base_s": 5, "retry_cap_s": 50},
        {"scheduled_for": "2099-01-01T00:00:00Z", "expires_at": "2099-01-02T00:00:00Z"},
        {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
        {"payload_version": 7},
    ],
)
def test_a_letter_of_an_unknown_type_keeps_what_was_sent(
    adoption: Adoption, org: UUID, database: Connection, given: dict[str, Any]
) -> None:
    """The how-to's contract names no version."""
    sent = {name: value for name, value in job(org).items() if name != "payload_version"} | {"payload": {"x": 1}}
    sent |= given | {"job_type": "no.such_type"}
    message = receive(adoption, received(sent, "no.such_type"))
    adoption.write()
    assert (message.answers, refused(database)) == (["ack"], [])
    letters = database.execute("select job_id::text, payload, payload_version, error ->> 'code' from dead_letters")
    version = given.get("payload_version", 1)
    assert letters.fetchall() == [(sent["job_id"], sent["payload"], version, "unknown_type")]


SECRET = "s3cr3t-value"


def no_letters() -> dict[str, dict[str, Any]]:
    """Envelopes that can become neither a job nor a dead letter, each with a word of its own in it."""
    sent = contract(payload={"word": "kept-word"}, job_type="no.such_type")
    headers = task_headers("no.such_type")
    return {
        "a type and an org that nobody knows": envelope(body(sent), headers),
        "no org": envelope(body({name: sent[name] for name in sent if name != "org_id"}), headers),
        "no JSON": envelope(b"kept-word \xff", headers),
        "another encoding": envelope("kept-word".encode("utf-16"), headers) | {"content-encoding": "utf-16"},
        "pickled": envelope(b"kept-word", headers) | {"content-type": "application/x-python-serialize"},
        "too large": envelope(b"kept-word" + b" " * 2_097_152, headers),
        "too large a payload": envelope(body(sent | {"payload": {"a": "kept-word" + "b" * 300_000}}), headers),
        "arguments by position": envelope(body({}, args=["kept-word"]), headers),
        "a field too many": envelope(body(sent | {"colour": "kept-word"}), headers),
        "no job type": envelope(body(sent), task_headers("my-task")),
        "a callback": envelope(body(sent, embed=EMBED | {"callbacks": [{"task": "a"}]}), headers),
        "a stamp": envelope(body(sent), headers | {"stamps": {"a": ["b"]}}),
        "too urgent": envelope(body(sent), headers, priority=101),
        "a secret": envelope(body(sent | {"payload": {"access_token": SECRET, "word": "kept-word"}}), headers),
    }


@pytest.mark.parametrize("name", no_letters())
def test_what_becomes_no_letter_is_kept_sealed_beside_its_refusal(
    adoption: Adoption, org: UUID, database: Connection, name: str
) -> None:
    document = no_letters()[name]
    if name == "a secret":
        document = json.loads(json.dumps(document))
        sent = job(org, payload={"access_token": SECRET, "word": "kept-word"}, job_type="probe_jobs.ending")
        document |= {"body": envelope(body(sent), {})["body"], "headers": task_headers("probe_jobs.ending")}
    message = as_redis_message(json.dumps(document).encode())
    read = border.read(message)
    assert isinstance(read, ForeignMessage | RefusedMessage)
    kept = Answered(message)
    adoption.receive(kept, read)
    adoption.write()
    adoption.write()
    assert kept.answers == ["reject"]
    assert (jobs(database), len(refused(database))) == ([], 1)
    row = database.execute(
        "select r.*, position('kept-word' in encode(sealed_content, 'escape')) from refused_messages r"
    )
    (found,) = row.fetchall()
    assert (SECRET in str(found[:-2]), found[-1]) == (False, 0)
    (line,) = answer(AREAS.jobs, "refused")
    shown = answer(AREAS.jobs, "refused-content", line["id"])["content"]
    assert "no.such_type" in shown or "my-task" in shown or "probe_jobs.ending" in shown
    assert "kept-word" in shown.replace("\0", "")
    assert len(shown) <= LARGEST_BODY
    looks = database.execute("select data ->> 'refusal_id' from audit_entries where event = 'message.content_shown'")
    assert looks.fetchall() == [(str(line["id"]),)]


def test_refused_messages_leave_after_their_time(adoption: Adoption, database: Connection, process: Runtime) -> None:
    for _ in range(2):
        receive(adoption, received(job(uuid4())))
    adoption.write()
    database.execute("update refused_messages set at = at - interval '31 days' where id = 1")
    with process.database.ledger() as tx:
        assert (refusals.RETENTION.forget(tx), refusals.RETENTION.forget(tx)) == (1, 0)
    assert len(refused(database)) == 1


def test_a_job_that_has_expired_on_its_way_stands_in_the_ledger(
    adoption: Adoption, org: UUID, database: Connection
) -> None:
    """Celery would forget such a message without a word."""
    message = receive(adoption, received(job(org), expires="2026-01-01T00:00:00+00:00"))
    adoption.write()
    assert message.answers == ["ack"]
    assert database.execute("select expires_at < now() from jobs").fetchall() == [(True,)]


def test_a_duplicate_s_client_is_noted_with_the_first_job(adoption: Adoption, org: UUID, database: Connection) -> None:
    first = job(org)
    for one, task_id in ((first, first["job_id"]), (first | {"job_id": str(uuid4())}, "another")):
        receive(adoption, received(one, task_id=task_id))
    adoption.write()
    noted = database.execute("select task_id, job_id::text, is_sent from result_requests").fetchall()
    assert noted == [("another", first["job_id"], False)]


def test_nobody_is_noted_who_wants_no_result(adoption: Adoption, org: UUID, database: Connection) -> None:
    receive(adoption, received(job(org), ignore_result=True))
    receive(adoption, received(job(org, colour="red"), ignore_result=True))
    adoption.write()
    assert database.execute("select count(*) from result_requests").fetchone() == (0,)
    assert database.execute("select count(*) from jobs where result_wanted").fetchone() == (0,)
