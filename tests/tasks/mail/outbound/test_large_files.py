"""What an action accepts of words and files together, its order to send can carry."""

import base64
from pathlib import Path

import pytest

from domain.jobs.failures import Invalid
from domain.mail.actions.requested_action import LARGEST_MAIL, AutoReply, Forward, RequestedAction
from domain.mail.actions.status import ActionStatus
from domain.payloads.mail_fields import LARGEST_ATTACHMENT
from storage.planning.artifacts import StoredArtifact
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.outgoing_orders import action_of, approved, taken_in, the_sent
from tests.doubles.stored_artifacts import store_artifact

LONG_ADDRESSES = tuple(f"{place:02}{'x' * 60}@{'y' * 60}.example" for place in range(20))


def a_file(size: int) -> dict[str, str]:
    data = base64.b64encode(b"x" * size).decode()
    return {"filename": "Übersicht.bin", "content_type": "application/octet-stream", "data": data}


@pytest.mark.parametrize(
    "action",
    [
        AutoReply(text="漢" * 3_000 + "x" * 700),
        Forward(to=LONG_ADDRESSES, cc=LONG_ADDRESSES, note="漢" * 1_200),
    ],
    ids=["reply", "forward"],
)
def test_the_largest_file_leaves_with_many_words(env: MailEnvironment, action: RequestedAction) -> None:
    place = taken_in(env)
    action_id = approved(env, place.message_id, action, a_file(LARGEST_ATTACHMENT))
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    env.drain()
    ended = action_of(env, action_id)
    assert ended.state is ActionStatus.DONE, ended.error


def test_words_and_files_that_no_order_could_carry_are_refused_before_anybody_is_asked(env: MailEnvironment) -> None:
    place = taken_in(env)
    with pytest.raises(Invalid, match=f"at most {LARGEST_MAIL} fit"):
        approved(env, place.message_id, AutoReply(text="漢" * 10_000), a_file(LARGEST_ATTACHMENT))


def test_a_file_in_an_artifact_leaves_as_it_was_approved(env: MailEnvironment) -> None:
    data = bytes(range(256)) * 8_000
    place, file = taken_in(env), stored(env, data)
    action_id = approved(env, place.message_id, AutoReply(text="Here it is."), {"artifact_id": str(file.artifact_id)})
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    env.drain()
    assert action_of(env, action_id).state is ActionStatus.DONE
    (part,) = the_sent(env)[1].iter_attachments()
    assert (part.get_filename(), part.get_payload(decode=True)) == ("plan.bin", data)


def test_a_file_that_changed_after_its_approval_does_not_leave(env: MailEnvironment, tmp_path: Path) -> None:
    place, file = taken_in(env), stored(env, b"approved")
    action_id = approved(env, place.message_id, AutoReply(text="Here it is."), {"artifact_id": str(file.artifact_id)})
    (tmp_path / "artifacts" / file.place).write_bytes(b"replaced")
    env.enqueue("actions.execute", {"action_id": str(action_id)})
    env.drain()
    ended = action_of(env, action_id)
    assert (ended.state, (ended.error or {})["code"]) == (ActionStatus.FAILED, "artifacts.altered")
    assert not env.mailbox.state().labelled("SENT")


def stored(env: MailEnvironment, data: bytes) -> StoredArtifact:
    with env.process.database.ledger() as tx:
        return store_artifact(tx, env.process.settings, env.account.org_id, data, name="plan.bin")
