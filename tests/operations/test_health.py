"""The health of the fleet as the ledger knows it: what is wrong comes first, with what to do."""

import pytest
from psycopg import Connection

from commands.operations import AREAS
from domain.jobs.job import SYSTEM_ORG
from tests.commands.calling import answer

pytestmark = pytest.mark.usefixtures("process")


def findings() -> dict[object, dict[str, object]]:
    return {one["name"]: one for one in answer(AREAS.health, "list")}


def test_what_was_never_counted_is_wrong_and_comes_first() -> None:
    first, *_ = answer(AREAS.health, "list")
    assert not first["ok"]
    assert first["remedy"]
    assert "nothing was ever counted" in str(findings()["counting"]["finding"])


def test_counting_may_lag_for_two_minutes(database: Connection) -> None:
    for lag, is_well in (("30 seconds", True), ("10 minutes", False)):
        database.execute("update counting set counted_at = now() - %s::interval", (lag,))
        assert findings()["counting"]["ok"] is is_well


def test_rows_that_contradict_each_other_break_the_promises(database: Connection) -> None:
    assert findings()["promises"]["ok"]
    database.execute(
        "insert into audit_entries (event, org_id, actor_type, actor_id, request_id, correlation_id)"
        " values ('invariant.violated', %s, 'system', 'x', 'r', 'c')",
        (SYSTEM_ORG,),
    )
    assert not findings()["promises"]["ok"]
