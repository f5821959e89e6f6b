"""Any id that a person may paste is found by what it is, within the caller's org, by command and by HTTP."""

from collections.abc import Iterator
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest

from commands.operations import AREAS
from domain.jobs.job import Origin
from domain.orgs.access.api_keys import Role
from operations.search import LOOKS
from tests.commands.calling import answer, call, refusal
from tests.doubles.approvals import ask_in_channel, waiting
from tests.doubles.factories import claim_one, enqueue_one, make_org
from tests.doubles.mail_actions import actions_of, decided_by_rule
from tests.doubles.mail_environment import MailEnvironment
from tests.gateway.api.conftest import Client, client_of
from tests.gateway.serving import serve

Found = dict[str, set[str]]


@pytest.fixture
def door(env: MailEnvironment) -> Iterator[str]:
    with serve(env.process.settings) as url:
        yield url


@pytest.fixture
def reader(env: MailEnvironment, door: str) -> Client:
    return client_of(env.process.database, door, env.account.org_id, Role.READER)


def found(client: Client, text: object) -> Found:
    """The ids of what was found, by kind."""
    said = client.get(f"/v1/search?q={quote(str(text))}")
    assert said.status == 200, said.body
    kinds: Found = {}
    for one in said.json["found"]:
        assert one["org_id"] == str(client.org_id)
        kinds.setdefault(one["kind"], set()).add(one["id"])
    return kinds


def value(env: MailEnvironment, query: str, *parameters: object) -> str:
    row = env.database.execute(query.encode(), parameters).fetchone()
    assert row is not None
    assert row[0] is not None
    return str(row[0])


def test_each_id_of_a_mail_that_was_answered_is_found(env: MailEnvironment, reader: Client) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Shall we meet at noon?")
    env.sync()
    mail = found(reader, place.message_id)
    assert mail["message"] == {place.message_id}
    assert mail["thread"] == {place.thread_id}
    assert len(mail["correspondence"]) == len(mail["decision"]) == 1
    rfc = value(env, "select rfc_message_id from messages where gmail_message_id = %s", place.message_id)
    draft, record = (value(env, f"select {name} from emails") for name in ("draft_id", "id"))
    key, job_id = (
        value(env, f"select {name} from idempotency_keys where kind = 'effect' limit 1") for name in ("key", "job_id")
    )
    decision = value(env, "select id from decisions")
    for text, kind, thing in (
        (rfc, "message", place.message_id),
        (rfc.strip("<>"), "message", place.message_id),
        (f"  {place.thread_id}\n", "thread", place.thread_id),
        (draft, "correspondence", record),
        (record, "correspondence", record),
        (decision, "decision", decision),
        (key, "effect", key),
        (env.account.account_id, "account", str(env.account.account_id)),
        (env.account.email.upper(), "account", str(env.account.account_id)),
        (job_id, "job", job_id),
        (env.account.org_id, "org", str(env.account.org_id)),
    ):
        assert thing in found(reader, text).get(kind, ()), (text, kind)


def test_nothing_of_a_mail_or_a_payload_is_shown(env: MailEnvironment, reader: Client) -> None:
    env.sync()
    place = env.deliver("The acme deal", "Shall we meet at noon?")
    env.sync()
    said = reader.get(f"/v1/search?q={place.message_id}").body.decode()
    assert place.message_id in said
    assert "acme" not in said
    assert "anna@example.com" not in said


def test_an_action_its_question_and_its_job_are_found(env: MailEnvironment, reader: Client) -> None:
    place = decided_by_rule(env, {"kind": "archive"})
    (action,) = actions_of(env, place)
    assert found(reader, place.message_id)["action"] == {str(action.action_id)}
    by_job = found(reader, action.job_id)
    assert by_job["job"] == {str(action.job_id)}
    assert found(reader, action.action_id)["action"] == {str(action.action_id)}
    ask_in_channel(env)
    asked = waiting(env)
    env.database.execute(
        "insert into approval_notices (approval_id, number, org_id, account_id, channel_id, message_id)"
        " values (%s, 0, %s, %s, '111', '987654321012345678')",
        (asked, env.account.org_id, env.account.account_id),
    )
    assert found(reader, "987654321012345678")["approval"] == {str(asked)}


def test_mail_that_we_sent_is_found_before_a_sync_brings_it_back(env: MailEnvironment, reader: Client) -> None:
    place = decided_by_rule(env, {"kind": "archive"})
    (action,) = actions_of(env, place)
    env.database.execute(
        "insert into outgoing_mails (org_id, account_id, action_id, token, message_type, automatic, history_id,"
        " sent_message_id, sent_thread_id, sent_at, rfc_message_id)"
        " select org_id, account_id, id, 'token-number-1', 'reply', false, 1, '19aabbccddee0011', '19aabbccddee0012',"
        " now(), '<sent@mail.example.org>' from actions"
    )
    for text in ("19aabbccddee0011", "<sent@mail.example.org>", "sent@mail.example.org"):
        assert found(reader, text)["action"] == {str(action.action_id)}


def test_the_jobs_of_a_trace_are_found(env: MailEnvironment, reader: Client) -> None:
    trace = uuid4().hex
    origin = Origin(traceparent=f"00-{trace}-{'1' * 16}-01")
    store, org = env.process.database, env.account.org_id
    payload = {"account_id": str(env.account.account_id)}
    job_id = enqueue_one(store, org, "gmail.sync", payload=payload, origin=origin)
    for text in (trace, origin.traceparent):
        assert found(reader, text)["job"] == {str(job_id)}
    assert str(job_id) in found(reader, job_id.hex)["job"], "the trace of a job that was enqueued in none"


def test_a_dead_letter_and_the_jobs_of_a_request_are_found(env: MailEnvironment, reader: Client) -> None:
    store, org = env.process.database, env.account.org_id
    first = enqueue_one(
        store,
        org,
        "gmail.sync",
        payload={"account_id": str(env.account.account_id)},
        origin=Origin(correlation_id="order 66"),
    )
    caused = found(reader, "order 66")
    assert caused == {"correlation": {"order 66"}, "job": {str(first)}}
    claim_one(store, first)
    env.database.execute(
        "update jobs set state = 'dead', finished_at = now(), next_check_at = null, claim_token = null,"
        ' worker_id = null, claimed_at = null, error = \'{"code": "x"}\' where id = %s',
        (first,),
    )
    letter = value(env, "select id from dead_letters")
    assert found(reader, letter)["dead_letter"] == {letter} == found(reader, first)["dead_letter"]
    env.database.execute("delete from jobs where id = %s", (first,))
    (gone,) = [one for one in reader.get(f"/v1/search?q={first}").json["found"] if one["kind"] == "job"]
    assert "past its retention" in gone["said"]


def test_nothing_of_another_org_is_found(env: MailEnvironment, reader: Client, door: str) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Shall we meet at noon?")
    env.sync()
    stranger = client_of(env.process.database, door, make_org(env.database, "another"), Role.OPERATOR)
    ids = [place.message_id, place.thread_id, env.account.account_id, env.account.email, env.account.org_id]
    for column in ("jobs.id", "idempotency_keys.key", "emails.draft_id", "decisions.id", "messages.rfc_message_id"):
        table = column.partition(".")[0]
        ids += [row[0] for row in env.database.execute(f"select {column} from {table}".encode()) if row[0]]
    assert len(ids) > 12
    assert [text for text in ids if found(stranger, text)] == []
    assert [text for text in ids[:5] if not found(reader, text)] == []


def test_an_operator_finds_of_all_orgs_and_keys_of_one(env: MailEnvironment) -> None:
    env.sync()
    place = env.deliver("Lunch?", "Shall we meet at noon?")
    env.sync()
    key = value(env, "select key from idempotency_keys where kind = 'effect' limit 1")
    rfc = value(env, f"select rfc_message_id from messages where gmail_message_id = '{place.message_id}'")
    for words in ((rfc,), (place.message_id, "--org", env.account.org_id)):
        assert {one["kind"] for one in answer(AREAS.search, *words)} >= {"message", "thread", "decision"}
    for kept_in_one in (key, place.message_id):
        assert "looked for where an org is named" in refusal(AREAS.search, kept_in_one)
    assert {one["id"] for one in answer(AREAS.search, key, "--org", env.account.org_id)} == {key}
    assert answer(AREAS.search, uuid4(), "--org", env.account.org_id) == []
    assert "message" in call(AREAS.search, rfc).stdout


def test_what_is_found_says_where_to_look(env: MailEnvironment, reader: Client) -> None:
    env.sync()
    env.deliver("Lunch?", "Shall we meet at noon?")
    env.sync()
    job_id = UUID(value(env, "select id from jobs limit 1"))
    (job,) = reader.get(f"/v1/search?q={job_id}").json["found"]
    assert job["path"] == f"/v1/jobs/{job_id}"
    assert reader.get(job["path"]).json["job_id"] == str(job_id)
    assert job["command"] == f"jobs read {job_id}"
    for kind, look in LOOKS.items():
        assert len(look.route.ids) == 1, kind  # type: ignore[union-attr] # each has a route
        assert look.positional, kind


@pytest.mark.parametrize("text", ["", " ", "x" * 2001, "a\0b"])
def test_what_can_be_no_id_is_refused_by_its_field(reader: Client, text: str) -> None:
    refused = reader.get(f"/v1/search?q={quote(text)}")
    assert (refused.status, refused.json["field"]) == (422, "q")


@pytest.mark.parametrize(
    "text", ["' or 1=1 --", "<script>alert(1)</script>", "%", "\u202egnp", "00000000-0000-0000-0000-000000000000"]
)
def test_hostile_text_finds_nothing(env: MailEnvironment, reader: Client, text: str) -> None:
    assert env.account.org_id
    assert found(reader, text) == {}
