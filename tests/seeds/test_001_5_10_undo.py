"""Ashford (docs: seeds.md#001-510-undoaction): each supported inverse, its link, and what is refused."""

import pytest

from domain.mail.actions.status import ActionStatus
from engine.catalogue import catalogue
from tests.doubles.mail_actions import ask, do, labels, look, stored_letter, undo
from tests.doubles.mail_environment import MailEnvironment
from tests.seeds.test_001_5_7_actions import AT_FIRST, SUPPORTED, requested

INVERSES = [(kind, inverse) for kind, _, inverse in SUPPORTED if inverse != "none"]


def test_the_job_has_the_seeds_name_and_payload() -> None:
    job = catalogue.find("undo.action")
    assert job is not None
    assert (job.name, job.queue, job.retry.attempts) == ("actions.undo", "critical", 5)
    assert set(job.payload.model_fields) == {"account_id", "original_action_id"}
    assert job.declared.unique is not None
    assert job.declared.unique.fields == ("account_id", "original_action_id")


@pytest.mark.parametrize(("kind", "inverse"), INVERSES, ids=[kind for kind, _ in INVERSES])
def test_each_inverse_restores_what_was(env: MailEnvironment, kind: str, inverse: str) -> None:
    place = stored_letter(env)
    env.mailbox.label_message(place.message_id, add=tuple(AT_FIRST.get(kind, [])))
    if kind == "mark_unread":
        env.mailbox.label_message(place.message_id, remove=("UNREAD",))
    before = labels(env, place)
    done = do(env, place, requested(kind))
    assert labels(env, place) != before
    assert done.undo_hint is not None
    assert done.undo_hint["inverse_action"] == inverse
    job_id = undo(env, done.action_id)
    assert env.job(job_id)["state"] == "succeeded"
    assert labels(env, place) == before
    taken_back = look(env, done.action_id)
    assert taken_back.state is ActionStatus.UNDONE
    assert taken_back.undone_by is not None
    made = look(env, taken_back.undone_by)
    assert (made.state, made.job_id, made.undo_of) == (ActionStatus.DONE, job_id, done.action_id)
    assert made.undo_hint is not None
    assert made.undo_hint["irreversible"] is True


@pytest.mark.parametrize("kind", ["delete", "forward", "auto_reply"])
def test_the_irreversible_is_refused(env: MailEnvironment, kind: str) -> None:
    place = stored_letter(env)
    env.mailbox.grant("https://mail.google.com/")
    made = ask(env, place, requested(kind))
    env.drain(only="actions.execute")
    env.database.execute(
        "update actions set state = 'done', finished_at = now(), undo_hint = %s where id = %s and state = 'executing'",
        (f'{{"action": "{kind}", "inverse_action": "none", "irreversible": true}}', made),
    )
    job_id = undo(env, made)
    assert env.job(job_id)["state"] == "failed"
    assert env.job(job_id)["error"]["code"] == "action.not_undoable"
    assert env.count("select count(*) from action_links") == 0
