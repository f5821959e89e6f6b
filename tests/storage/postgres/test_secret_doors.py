"""No listed secret passes a door of the ledger (promise P9): it is refused by field, or kept without."""

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from domain.jobs.effects import EffectStatus, Strategy
from domain.jobs.failures import Invalid
from domain.jobs.job import ActorType, NewJob, Origin, State
from domain.jobs.lifecycle import Settlement
from domain.orgs.privacy.redaction import HIDDEN
from domain.orgs.privacy.secrets import (
    HARMLESS_NAMES,
    KEYS,
    LINKED,
    LOOKS,
    NAME_ENDS,
    NAMED,
    VALUE,
    looks_secret,
    names_secret,
    secret_in,
)
from storage.jobs import audit, effects, ledger
from storage.postgres.database import Database
from tests.doubles.factories import HINT_TIMEOUT, claim_one, enqueue_one, make_job_type, make_org
from tests.doubles.secrets import AWS, NAMED_WAYS, NAMES, PLAIN, SHAPES, VENDORS, WAYS, ordinary_mail

LETTERS = "k3j4h5g6f7d8s9a0Q1W2E3R4T5Y6U7I8"
SECRETS = [shape.format(LETTERS) for shape in SHAPES] + [AWS]
WRITTEN = [way.format(look.format(LETTERS)) for look in VENDORS.values() for way in WAYS]
NAMED_SECRETS = [way.format(name=name, value=LETTERS) for name in (*NAMES, "PAGE_TOKEN", "key") for way in NAMED_WAYS]


@pytest.fixture
def org(database: Connection, store: Database) -> UUID:
    make_job_type(store, audits=("probe.noted",))
    return make_org(database)


def test_the_database_has_the_same_list(database: Connection) -> None:
    sources: dict[str, str] = dict(database.execute("select proname, prosrc from pg_proc").fetchall())
    for function, patterns in {
        "looks_secret": ("|".join(LOOKS), NAMED, f"(?={VALUE})", LINKED),
        "names_secret": (NAME_ENDS, HARMLESS_NAMES),
    }.items():
        for pattern in patterns:
            assert "'" + pattern.replace("'", "''") + "'" in sources[function], function


def test_the_database_passes_over_what_is_plain_in_the_same_sense(database: Connection) -> None:
    checks = database.execute(
        "select pg_get_constraintdef(c.oid) from pg_constraint c where conname = 'carries_no_secret'"
        " and c.contypid::regtype::text = any(array['postroom.idempotency_key', 'postroom.actor_id',"
        " 'postroom.request_id', 'postroom.correlation_id'])"
    ).fetchall()
    assert len(checks) == 4
    assert all(f"!~ '[^{PLAIN}]'" in check for (check,) in checks)


def test_python_and_the_database_judge_alike(database: Connection) -> None:
    texts = [*SECRETS, *ordinary_mail(), *(f"x {secret} y" for secret in SECRETS), "", "sk-1", "key=", "\n=\n"]
    texts += [*WRITTEN, *NAMED_SECRETS, *(text.upper() for text in WRITTEN), *(text.upper() for text in NAMED_SECRETS)]
    query = (
        "select array_agg(postroom.looks_secret(t) order by place)"
        " from unnest(%s::text[]) with ordinality as u (t, place)"
    )
    assert database.execute(query, (texts,)).fetchone() == ([looks_secret(text) for text in texts],)
    names = [*NAMES, *(name.upper() for name in NAMES), "userPassword", "X-Api-Key", "page_token", "tokens", "key", ""]
    query = query.replace("looks", "names")
    assert database.execute(query, (names,)).fetchone() == ([names_secret(name) for name in names],)


@given(st.sampled_from(KEYS).flatmap(lambda key: st.from_regex(f"^(?:{key})$", fullmatch=True)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_each_key_is_known_to_the_database(database: Connection, key: str) -> None:
    """The database first looks for a part of the key, to be quick."""
    assert database.execute("select postroom.looks_secret(%s)", (key.strip(),)).fetchone() == (True,)
    document = as_json({"a": {"note": key.strip()}})
    assert database.execute("select postroom.carries_secret(%s::text::jsonb)", (document,)).fetchone() == ("note",)


@pytest.mark.parametrize("place", ["payload", "a list", "a name", "deep"])
def test_a_document_with_a_secret_is_named_by_its_field(database: Connection, place: str) -> None:
    for secret in SECRETS:
        documents: dict[str, dict[str, Any]] = {
            "payload": {"note": secret, "n": 1},
            "a list": {"note": ["fine", [secret]]},
            "a name": {secret: None},
            "deep": {"a": [{"b": {"note": {"c": [{"note": secret}]}}}]},
        }
        document = documents[place]
        found = database.execute("select postroom.carries_secret(%s::text::jsonb)", (as_json(document),)).fetchone()
        assert found == (secret_in(document),) == (secret if place == "a name" else "note",), secret
    for name in NAMES:
        document = {"a": [{name: 1}]}
        assert database.execute("select postroom.carries_secret(%s::text::jsonb)", (as_json(document),)).fetchone() == (
            name,
        )


def test_the_database_takes_time_in_proportion_to_a_text_made_to_hold_it(database: Connection) -> None:
    """One lookahead to the end from each place takes PostgreSQL 14 s at this length, beyond the limit."""
    length = 200_000
    hard = ["page_token=", "key=", "pwd=aaaa ", 'pwd:"', "token:aa ", "-----BEGIN PRIVATE KEY", "key:" + " " * length]
    database.execute("set statement_timeout = '12s'")
    for text in hard:
        words = (text * (length // len(text) + 1))[:length]
        database.execute("select postroom.looks_secret(%s)", (words,))


def test_a_name_may_be_split_anywhere(database: Connection) -> None:
    """By what the domain passes over in a name; the database looks for whole words first, to be quick."""
    split = [f"{name[:at]}{mark}{name[at:]}" for name in NAMES for at in range(1, len(name)) for mark in "_-. "]
    query = (
        "select array_agg(postroom.carries_secret(jsonb_build_object(t, 1)) order by place)"
        " from unnest(%s::text[]) with ordinality as u (t, place)"
    )
    found = database.execute(query, (split,)).fetchone()
    assert found == ([secret_in({name: 1}) for name in split],)
    assert found != ([None] * len(split),)


def as_json(document: dict[str, Any]) -> str:
    """The document as a JSON text."""
    return json.dumps(document)


def test_ordinary_documents_pass(database: Connection) -> None:
    for text in ordinary_mail():
        document = {"body": text, "page_token": "x", "history_id": 1, "draft_token": "abcdefgh", "input_tokens": 3}
        assert database.execute("select postroom.carries_secret(%s::text::jsonb)", (as_json(document),)).fetchone() == (
            None,
        )


def refusal(store: Database, job: NewJob) -> str:
    """The field and the reason of the refusal at Python's door; the SQL door is the same function."""
    with pytest.raises(Invalid) as caught, store.ledger() as tx:
        ledger.enqueue(tx, [job], publisher=False, hint_timeout=HINT_TIMEOUT)
    return caught.value.reason


def test_no_secret_passes_the_doors_of_a_job(store: Database, org: UUID) -> None:
    for secret in SECRETS:
        assert refusal(store, NewJob("probe.run", org, {"note": secret})).startswith("payload.note: ")
    for secret in SECRETS[:4]:
        fields: dict[str, NewJob] = {
            "idempotency_key": NewJob("probe.run", org, {}, idempotency_key=secret),
            "actor_id": NewJob("probe.run", org, {}, origin=Origin(ActorType.USER, secret, "r", "c", None)),
            "request_id": NewJob("probe.run", org, {}, origin=Origin(ActorType.USER, "a", secret, "c", None)),
            "correlation_id": NewJob("probe.run", org, {}, origin=Origin(ActorType.USER, "a", "r", secret, None)),
        }
        for field, job in fields.items():
            assert refusal(store, job) == f"{field}: must not carry a secret"


def test_what_a_run_leaves_behind_is_kept_without_secrets(store: Database, database: Connection, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    text = " and ".join(SECRETS)
    with store.ledger() as tx:
        effects.save_step(tx, job, "ask", {"answer": text}, 0, took=timedelta())
        effects.begin_effect(tx, job, "e1", Strategy.FIND)
        effects.finish_effect(tx, job, "e1", EffectStatus.SUCCEEDED, result={"said": text})
        audit.append(tx, job, "probe.noted", {"said": text})
        ledger.record_progress(tx, job, {"at": text})
        failed = Settlement(job.job_id, job.token, State.DEAD, error={"code": "x", "reason": text}, reason=text)
        assert not ledger.settle(tx, [failed]).refused
    rows = database.execute(
        "select to_jsonb(j)::text from jobs j union all select to_jsonb(s)::text from job_steps s"
        " union all select to_jsonb(a)::text from audit_entries a"
        " union all select to_jsonb(d)::text from dead_letters d"
        " union all select to_jsonb(k)::text from idempotency_keys k"
    ).fetchall()
    kept = " ".join(row[0] for row in rows)
    assert LETTERS not in kept
    assert AWS not in kept
    assert HIDDEN in kept


def test_a_step_and_an_output_with_a_telling_name_are_refused_by_field(store: Database, org: UUID) -> None:
    job = claim_one(store, enqueue_one(store, org))
    with pytest.raises(Invalid) as caught, store.ledger() as tx:
        effects.save_step(tx, job, "log in", {"authToken": "x"}, 0, took=timedelta())
    assert caught.value.reason == "result.authToken: must not carry a secret"
    with pytest.raises(Invalid) as caught, store.ledger() as tx:
        ledger.settle(tx, [Settlement(job.job_id, job.token, State.SUCCEEDED, output={"a": [{"cookie": "x"}]})])
    assert caught.value.reason == "output.cookie: must not carry a secret"


def test_a_text_of_a_run_that_was_not_redacted_is_refused_by_the_database(database: Connection, org: UUID) -> None:
    job = database.execute(
        "insert into jobs (org_id, job_type, queue, payload, payload_version, idempotency_key, guarded, actor_type,"
        " actor_id, request_id, correlation_id, max_attempts, deadline, next_check_at) values"
        " (%s, 'probe.run', 'default', '{}', 1, 'k', false, 'system', 'x', 'x', 'x', 5, '1 hour', now()) returning id",
        (org,),
    ).fetchone()
    assert job is not None
    for statement in (
        "update jobs set output = jsonb_build_object('said', %(text)s::text) where id = %(job)s",
        (
            "insert into job_steps (job_id, org_id, name, result, attempt)"
            " select id, org_id, 's', jsonb_build_object('said', %(text)s::text), 1 from jobs where id = %(job)s"
        ),
    ):
        with pytest.raises(psycopg.Error, match=r"said: must not carry a secret"):
            database.execute(statement.encode(), {"text": SECRETS[0], "job": job[0]})
