"""A rework that Gmail keeps refusing is paid for a few times; then its person is told."""

import base64
from typing import Any

import pytest

from domain.jobs.job import Origin
from domain.mail.correspondence import MOST_REWORKS, EmailState
from domain.mail.replies.drafting import DRAFT_TOOL
from operations.jobs import replays
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.meanwhile import Meanwhile
from tests.tasks.mail.drafts.reworks import (
    FIRST,
    draft_id,
    drafted,
    labels_of,
    only_draft,
    prompts,
    put_rework,
    rework_job,
    words,
)


@pytest.mark.parametrize("fault", [{"status": 403, "reason": "domainPolicy"}, {"status": 500}])
def test_a_rework_that_keeps_failing_ends_with_its_person(env: MailEnvironment, fault: dict[str, Any]) -> None:
    place = drafted(env)
    old, asked = words(env), len(env.model.journal("messages.create"))
    put_rework(env, place)
    env.fail("drafts.update", times=None, **fault)
    env.sync()
    for _ in range(MOST_REWORKS + 3):
        env.hour_later()
    assert len(env.model.journal("messages.create")) - asked == MOST_REWORKS + 1
    assert (env.state(place.thread_id), words(env)) == (EmailState.SKIPPED, old)
    assert labels_of(env, place) == {"Postroom/Action Required"}


def test_a_rework_after_one_that_was_given_up_is_the_second(env: MailEnvironment) -> None:
    place = drafted(env)
    put_rework(env, place)
    env.fail("drafts.update", status=403, reason="domainPolicy")
    env.sync()
    env.hour_later()
    email = env.email(place.thread_id)
    assert (email.state, email.rework_count) == (EmailState.DRAFTED, 2)
    assert labels_of(env, place) == {"Postroom/Outbox"}


def test_a_retry_by_an_operator_does_what_the_person_asks_by_now(env: MailEnvironment, meanwhile: Meanwhile) -> None:
    place = drafted(env)
    env.mailbox.edit_draft(draft_id(env, place), text=f"Make it shorter.\n\n{FIRST}")
    put_rework(env, place)
    job_id = rework_job(env)
    env.fail("drafts.update", status=403, reason="domainPolicy")
    assert env.run(job_id) == "failed"
    env.pass_hour()
    env.mailbox.edit_draft(draft_id(env, place), text=f"Say no, I am away.\n\n{FIRST}")
    with env.process.database.ledger() as tx:
        replays.retry(tx, job_id, by=Origin(actor_id="a test"), reason="it is mended")
    asked = meanwhile(DRAFT_TOOL, lambda: None)
    env.drain(only="drafts.%")
    assert prompts(env) == 2
    assert "Say no, I am away." in str(asked[-1])
    assert env.state(place.thread_id) is EmailState.DRAFTED
    assert "I am away" in words(env)
    assert FIRST not in words(env)


def test_a_draft_that_cannot_be_written_again_costs_no_words(env: MailEnvironment) -> None:
    place = drafted(env)
    raw = only_draft(env)[0]["raw"].replace("anna@example.com", "jörg@example.com")
    env.mailbox.edit_draft(draft_id(env, place), raw=base64.urlsafe_b64encode(raw.encode()).decode())
    env.sync()
    put_rework(env, place)
    env.sync()
    assert prompts(env) == 0
    assert words(env) == " ".join(FIRST.split())
    assert "Postroom/Action Required" in labels_of(env, place)
