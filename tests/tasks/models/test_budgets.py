"""An org that has spent its day: its jobs park without an attempt, the operator is notified once, the others go on."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

import pytest
from psycopg import Connection, connect

from domain.jobs.job import SYSTEM_ORG
from engine.app import publish_catalogue
from providers.anthropic.language_model import AnthropicModel
from sandbox.emulator.control import FaultOrder
from storage.models.money import spending
from storage.postgres.execution import Row
from tests.doubles import probe_jobs
from tests.doubles.factories import make_org, unmetered
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.doubles.probe_jobs import QUESTION
from tests.waiting import eventually

MODEL = "anthropic"


def set_daily(env: MailEnvironment, org_id: UUID, daily: int | None) -> None:
    with env.process.database.ledger() as tx:
        spending.set_daily(tx, org_id, daily, MODEL, by="ada")


def day_of(env: MailEnvironment, org_id: UUID) -> Row:
    with env.process.database.ledger() as tx:
        daily = env.process.settings.daily_budget_microcents
        return spending.budget(tx, MODEL, default_daily=daily, org_id=org_id)


def enqueue(env: MailEnvironment, org_id: UUID, job_type: str = probe_jobs.asking.name) -> UUID:
    with env.process.database.ledger() as tx:
        return UUID(str(tx.raw("select postroom.enqueue(%(type)s, %(org)s)", {"type": job_type, "org": org_id})[0][0]))


def most(prompt_tokens: int | None = None) -> int:
    """The most that the probe's question can cost."""
    with AnthropicModel(api_key="k", timeout_s=1, meter=unmetered) as model:
        return model.most_microcents(QUESTION, prompt_tokens)


def too_little() -> int:
    """Less than its longest answer costs, however its prompt is counted."""
    return most(0) - 1


@pytest.fixture
def org(env: MailEnvironment, database: Connection) -> UUID:
    publish_catalogue()
    assert env.account
    return make_org(database, "an org that asks")


def test_a_call_is_booked_with_what_it_cost(env: MailEnvironment, org: UUID) -> None:
    job_id = enqueue(env, org)
    assert env.run(job_id) == "succeeded"
    cost = env.job(job_id)["output"]["cost"]
    day = day_of(env, org)
    assert 0 < cost <= most()
    assert (day.spent_microcents, day.reserved_microcents) == (cost, 0)


def test_a_job_that_finds_the_orgs_day_locked_comes_back_without_an_attempt(
    env: MailEnvironment, org: UUID, database_url: str
) -> None:
    """Whoever is frozen inside a transaction may hold the row for longer than all attempts of a job last."""
    assert env.run(enqueue(env, org)) == "succeeded"
    job_id = enqueue(env, org)
    with connect(database_url) as frozen:
        frozen.execute("select from budget_days where org_id = %s for update", (org,))
        assert env.run(job_id) == "queued"
        found = "select attempt, free_returns, error from jobs where id = %s"
        assert env.database.execute(found, (job_id,)).fetchone() == (0, 1, None)
    env.database.execute("update jobs set run_at = now() where id = %s", (job_id,))
    assert env.run(job_id) == "succeeded"


def test_a_paid_answer_is_kept_however_long_the_orgs_day_is_locked(
    env: MailEnvironment, org: UUID, database_url: str, meanwhile: Meanwhile
) -> None:
    waits = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with connect(database_url) as frozen, ThreadPoolExecutor(1) as beside:

        def freeze() -> None:
            frozen.execute("select from budget_days where org_id = %s for update", (org,))
            beside.submit(thaw)

        def thaw() -> None:
            for _ in range(2):
                eventually(lambda: env.database.execute(waits).fetchall(), describe="the cost waits for the row")
                eventually(lambda: not env.database.execute(waits).fetchall(), describe="the wait is given up")
            frozen.rollback()

        asked = meanwhile(QUESTION.tool_name, freeze)
        assert env.run(enqueue(env, org)) == "succeeded"
    assert (len(asked), day_of(env, org).spent_microcents > 0) == (1, True)


def test_an_org_without_money_parks_and_the_operator_is_told_once(env: MailEnvironment, org: UUID) -> None:
    set_daily(env, org, too_little())
    jobs = [enqueue(env, org) for _ in range(3)]
    other = enqueue(env, make_org(env.database, "another org"))
    assert [env.run(job_id) for job_id in jobs] == ["queued", "not_claimed", "not_claimed"]
    assert env.model.journal("messages.create") == []
    assert {(env.job(job_id)["state"], env.job(job_id)["attempt"]) for job_id in jobs} == {("queued", 0)}
    assert env.run(other) == "succeeded"
    day = day_of(env, org)
    assert day.parked_until is not None
    assert day.parked_until.astimezone(UTC).time() == datetime.min.time()
    assert env.drain(only="budgets.%") == [("budgets.alert", "succeeded")]
    events = "select count(*) from audit_log where org_id = %s and event = %s"
    assert [env.count(events, org, event) for event in ("budget.exhausted", "budget.told")] == [1, 1]


def test_a_raised_budget_lets_the_parked_go_on_and_tells_nobody_again(env: MailEnvironment, org: UUID) -> None:
    set_daily(env, org, too_little())
    first, second = enqueue(env, org), enqueue(env, org)
    assert env.run(first) == "queued"
    set_daily(env, org, most())
    assert env.run(first) == "succeeded"
    assert env.job(first)["attempt"] == 1
    set_daily(env, org, day_of(env, org).spent_microcents + too_little())
    assert env.run(second) == "queued", "what is left does not pay for a second call"
    assert env.count("select count(*) from jobs where job_type = 'budgets.alert'") == 1


def test_an_alert_without_a_reason_is_pointless(env: MailEnvironment, org: UUID) -> None:
    with env.process.database.ledger() as tx:
        rows = tx.raw(
            'select postroom.enqueue(\'budgets.alert\', %(org)s, \'{"day": "2026-01-01", "daily_microcents": 1}\')',
            {"org": org},
        )
    assert env.run(UUID(str(rows[0][0]))) == "canceled"


@pytest.mark.parametrize(
    ("fault", "in_full"),
    [
        ({"status": 400, "reason": "invalid_request_error"}, False),
        ({"status": 429, "reason": "rate_limit_error"}, False),
        ({"drop": "after"}, True),
        ({"status": 529, "reason": "overloaded_error"}, True),
    ],
)
def test_a_call_that_may_have_been_billed_is_charged_in_full_and_a_refused_one_not_at_all(
    env: MailEnvironment, org: UUID, fault: dict[str, object], in_full: bool
) -> None:
    env.model.order(FaultOrder(operation="messages.create", **fault))  # type: ignore[arg-type] # a row of the table
    env.run(enqueue(env, org))
    day = day_of(env, org)
    assert (day.spent_microcents, day.reserved_microcents) == (most() if in_full else 0, 0)


def test_the_days_figure_is_the_sum_of_the_recorded_calls(env: MailEnvironment) -> None:
    env.sync()
    env.deliver("Lunch?", "Could you tell me whether noon on Friday suits you? Please reply.")
    env.sync()
    recorded = env.count("select sum(cost_microcents) from llm_calls where org_id = %s", env.account.org_id)
    assert recorded > 0
    assert day_of(env, env.account.org_id).spent_microcents == recorded


def test_a_job_type_that_asks_must_say_so(env: MailEnvironment, org: UUID) -> None:
    job_id = enqueue(env, org, probe_jobs.undeclared.name)
    assert env.run(job_id) == "queued"
    assert "anthropic" in env.job(job_id)["error"]["reason"]
    assert env.model.journal("messages.create") == []


def test_housekeeping_charges_what_dead_workers_held(env: MailEnvironment, org: UUID) -> None:
    env.database.execute(
        "insert into budget_days (org_id, day, reserved_microcents) values (%s, current_date, 9)", (org,)
    )
    env.database.execute(
        "insert into budget_reservations (org_id, day, job_id, token, microcents)"
        " values (%s, current_date, gen_random_uuid(), gen_random_uuid(), 9)",
        (org,),
    )
    job_id = enqueue(env, SYSTEM_ORG, "maintenance.charge_lost_reservations")
    assert env.run(job_id) == "succeeded"
    assert env.job(job_id)["output"] == {"charged": 1}
    assert env.count("select spent_microcents - reserved_microcents from budget_days where org_id = %s", org) == 9
