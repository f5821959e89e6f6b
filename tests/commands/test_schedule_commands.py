"""Operators add, list, pause, resume and remove schedules."""

from uuid import UUID

import pytest

from commands import schedules
from tests.commands.calling import answer, call, refusal
from tests.doubles import probe_jobs  # noqa: F401  # its job types are what the schedules name

pytestmark = pytest.mark.usefixtures("process")
ADD = ("add", "nightly", "--type", "probe_jobs.ending", "--zone", "Europe/Berlin", "--payload", '{"word": "hello"}')


def test_a_schedule_from_its_beginning_to_its_end(org: UUID) -> None:
    made = answer(schedules, *ADD, "--org", org, "--cron", "30 3 * * *", "--missed", "run_once", "--as", "ada")
    assert (made["job_type"], made["payload"], made["created_by"]) == (
        "probe_jobs.ending",
        {"word": "hello"},
        "operator:ada",
    )
    assert [row["name"] for row in answer(schedules, "list", "--org", org)] == ["nightly"]
    assert not answer(schedules, "pause", "nightly", "--org", org)["enabled"]
    assert answer(schedules, "resume", "nightly", "--org", org)["enabled"]
    assert "30 3 * * *" in call(schedules, "list").output
    answer(schedules, "remove", "nightly", "--org", org)
    assert answer(schedules, "list") == []
    assert "no schedule nightly" in refusal(schedules, "remove", "nightly", "--org", org)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--cron", "soon"), "cron: needs five fields"),
        (("--cron", "0 0 30 2 *"), "cron: Bad day-of-month"),
        (("--cron", "0 0 * * *", "--zone", "Mars"), "zone: Mars is no time zone"),
        (("--cron", "0 0 * * *", "--type", "no.pe"), "no.pe is no known job type"),
        (("--cron", "0 0 * * *", "--payload", '{"wrod": "x"}'), "payload.wrod"),
    ],
)
def test_a_schedule_that_could_never_run_is_refused(org: UUID, options: tuple[str, ...], words: str) -> None:
    assert words in refusal(schedules, *ADD, "--org", org, *options)
    assert answer(schedules, "list") == []


@pytest.mark.parametrize("name", ["", "n" * 101])
def test_a_name_of_a_wrong_length_is_refused_with_what_is_allowed(org: UUID, name: str) -> None:
    assert "name: " in refusal(schedules, "add", name, *ADD[2:], "--org", org, "--cron", "0 0 * * *")
