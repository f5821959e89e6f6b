"""Keys that would be the same without a person are told apart; no guard goes, and each job keeps its own."""

from uuid import UUID, uuid4

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.job import State
from domain.jobs.lifecycle import Settlement
from engine.runtime import Runtime
from storage.jobs import ledger
from tests.commands.calling import answer
from tests.doubles.factories import claim_one, enqueue_one, make_job_type, make_org

USERS = AREAS.users
ADDRESS, NAMES = "zoe@example.org", ("Zoë Quill", "Zoe Quill", "Miss Quill")
KEYS = [f"greet:{name}" for name in NAMES]


@pytest.fixture
def org_id(process: Runtime, database: Connection) -> UUID:
    """An org in which the person works."""
    make_job_type(process.database, unique_mode="while_active")
    made = make_org(database)
    database.execute("insert into users (org_id, email) values (%s, %s)", (made, ADDRESS))
    return made


def erase(address: str = ADDRESS, names: tuple[str, ...] = NAMES) -> None:
    answer(USERS, "erase", address, "--reason", "they asked", *(word for name in names for word in ("--name", name)))


def keys_of(database: Connection, org_id: UUID, table: str) -> list[str]:
    query = f"select key from {table} where org_id = %s order by key"
    return [key for (key,) in database.execute(query.encode(), (org_id,)).fetchall()]


def test_a_job_whose_key_was_told_apart_ends_its_own_guard(
    org_id: UUID, process: Runtime, database: Connection
) -> None:
    """The guard lets the next job of its key through, and those of other keys stay as they are."""
    jobs = [enqueue_one(process.database, org_id, idempotency_key=key) for key in KEYS]
    erase()
    after = keys_of(database, org_id, "idempotency_keys")
    assert len(set(after)) == len(KEYS)
    assert after[0] == "greet:erased"
    assert all(key.startswith("greet:erased") for key in after)
    held = claim_one(process.database, jobs[1])
    with process.database.ledger() as tx:
        ledger.settle(tx, [Settlement(held.job_id, held.token, State.SUCCEEDED)])
    query = "select job_id, status from idempotency_keys where org_id = %s"
    assert dict(database.execute(query, (org_id,)).fetchall()) == {
        jobs[0]: "pending",
        jobs[1]: "succeeded",
        jobs[2]: "pending",
    }


def test_no_guard_of_an_effect_goes_and_the_jobs_beside_it_go_along(org_id: UUID, database: Connection) -> None:
    beside = {key: uuid4() for key in KEYS}
    for key, job_id in beside.items():
        database.execute(
            "insert into idempotency_keys (org_id, key, kind, mode, status, job_id, owner_token, expires_at)"
            " values (%s, %s, 'effect', 'at_most_once', 'unknown', gen_random_uuid(), gen_random_uuid(), 'infinity')",
            (org_id, key),
        )
        database.execute("insert into effect_jobs (org_id, key, job_id) values (%s, %s, %s)", (org_id, key, job_id))
    erase()
    guards = keys_of(database, org_id, "idempotency_keys")
    assert len(set(guards)) == len(KEYS)
    assert keys_of(database, org_id, "effect_jobs") == guards


def test_a_key_of_somebody_who_was_erased_before_is_no_obstacle(org_id: UUID, database: Connection) -> None:
    database.execute("insert into users (org_id, email) values (%s, 'bob@example.org')", (org_id,))
    for key in (KEYS[0], "greet:Bob Builder"):
        database.execute(
            "insert into api_requests (org_id, key, fingerprint, expires_at)"
            " values (%s, %s, sha256('x'), now() + interval '1 day')",
            (org_id, key),
        )
    erase()
    erase("bob@example.org", ("Bob Builder",))
    kept, told_apart = keys_of(database, org_id, "api_requests")
    assert (kept, told_apart[: len(kept)]) == ("greet:erased", kept)


def test_a_key_of_the_greatest_length_stays_within_its_bound(org_id: UUID, database: Connection) -> None:
    keys = [f"{'x' * (400 - len(name) - 1)} {name}" for name in ("Jo", "jo")]
    for key in keys:
        database.execute(
            "insert into api_requests (org_id, key, fingerprint, expires_at)"
            " values (%s, %s, sha256('x'), now() + interval '1 day')",
            (org_id, key),
        )
    erase(names=("Jo",))
    left = keys_of(database, org_id, "api_requests")
    assert len(set(left)) == len(keys)
    assert [max(map(len, left)), " jo" in " ".join(left).lower()] == [400, False]


def test_every_unique_column_with_words_is_told_apart(database: Connection) -> None:
    """But for those by which people and mailboxes are known, which never change."""
    unique = (
        "select r.table_name from erasure_rules r cross join postroom.word_columns(r.table_name::regclass) c"
        " where r.org_rows is not null and c.is_key"
    )
    guarded = (
        "select t.tgrelid::regclass::text from pg_trigger t join pg_proc p on p.oid = t.tgfoid"
        " where p.proname = 'tell_apart'"
    )
    assert set(database.execute(unique).fetchall()) <= set(database.execute(guarded).fetchall())
