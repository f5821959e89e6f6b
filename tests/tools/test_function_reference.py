"""The page of SQL functions names for each the file that has its definition in force."""

from psycopg import Connection

from tools.function_reference import functions
from tools.schema_notes import MIGRATIONS

OF_ANY, OF_JOBS = "on conflict (org_id, key) do", "on conflict (org_id, key, kind) do"
CREATION = "coalesce(case when believes then given_creation end, now())"
EDITED = [
    ("enqueue_job", "accept_payload(of_type.name,", "accept_payload(for_org, of_type.name,"),
    ("enqueue_jobs", "accept_payload(t.name,", "accept_payload(r.org_id, t.name,"),
    ("enqueue_jobs", OF_ANY, OF_JOBS),
    ("take_guard", OF_ANY, OF_JOBS),
    ("enqueue_job", CREATION, f"least({CREATION}, clock_timestamp())"),
    ("enqueue_jobs", " coalesce(created_at, now())", " least(coalesce(created_at, now()), clock_timestamp())"),
    ("leave_claims", "k.key = s.idempotency_key and", "k.key = s.idempotency_key and k.kind = 'job' and"),
]
"""Functions whose text a later migration has edited (0021_payload_names.sql, 0027_keys.sql, 0034_job_times.sql): what
stood there, and what stands now."""


def test_each_function_stands_in_the_file_that_the_page_names(database: Connection) -> None:
    text = {path.stem: path.read_text(encoding="utf-8") for path in MIGRATIONS.glob("*.sql")}
    living: dict[str, str] = dict(
        database.execute(
            "select distinct on (proname) proname, case when prosqlbody is null then prosrc else '' end from pg_proc"
            " where pronamespace = 'postroom'::regnamespace order by proname, oid desc"
        ).fetchall()
    )
    for name, before, now in EDITED:
        living[name] = living[name].replace(now, before)
    named = {one.name: one for one in functions()}
    assert set(named) == set(living)
    assert {name for name, source in living.items() if source.strip() not in text[named[name].file]} == set()


def test_a_function_that_was_replaced_names_the_files_before() -> None:
    (enqueue,) = [one for one in functions() if one.name == "enqueue"]
    assert enqueue.earlier[:3] == ("0001_enqueue", "0012_enqueue", "0013_attempts")
