"""Whatever is asked, chosen, refused and lost: nobody is shown the same message twice by one channel."""

from collections import Counter
from datetime import timedelta
from random import Random

import pytest

from domain.notifications.channels import Channel, Choice
from domain.notifications.sender import EmailProvider
from sandbox.emulator.fault_order import FaultOrder
from tests.doubles.email_orders import set_sender
from tests.doubles.factories import pass_time
from tests.doubles.told_people import ToldPeople
from tests.servers.backup import back_up

STEPS = 25
FAULTS = (
    FaultOrder(operation="messages.*", method="POST", drop="after"),
    FaultOrder(operation="messages.*", method="POST", drop="before"),
    FaultOrder(operation="messages.*", method="POST", status=500),
    FaultOrder(operation="messages.*", method="POST", status=503, after_execution=True),
    FaultOrder(operation="messages.list", status=500),
)
MAIL_FAULTS = (FaultOrder(operation="emails.send", drop="after"), FaultOrder(operation="emails.send", status=500))


def happen(told: ToldPeople, chance: Random) -> None:
    """Somebody asks, chooses, or a provider fails."""
    match chance.randrange(5):
        case 0:
            told.choose(chance.choice(list(Channel)[:3]), chance.choice(list(Choice)))
        case 1:
            chance.choice((told.twilio, told.fcm)).order(chance.choice(FAULTS))
        case 2:
            told.resend.order(chance.choice(MAIL_FAULTS))
        case _:
            number, bucket = chance.randrange(4), str(chance.randrange(2))
            told.notify(data={"what": f"Stage {number} of {bucket}", "who": "Ada"}, bucket=bucket)


@pytest.mark.parametrize("seed", range(3))
def test_each_message_is_shown_at_most_once(told: ToldPeople, seed: int) -> None:
    """Random events, wishes and faults; each (recipient, template, data, bucket) has its own words."""
    chance = Random(seed)  # noqa: S311 - repeatable, no secret
    set_sender(told.process, told.org_id, EmailProvider.RESEND)
    told.save(subject="{{ what }}", sms="{{ what }}", digest_every_s=60)
    told.add_contact(Channel.SMS, "+4930123456")
    told.add_contact(Channel.PUSH, "device-1")
    for _ in range(STEPS):
        happen(told, chance)
        if chance.random() < 0.6:
            told.run_due()
        if chance.random() < 0.3:
            told.hurry()
    for control in (told.twilio, told.fcm, told.resend):
        control.clear_faults()
    for _ in range(8):
        # Gates of a rate open, and doubts grow old.
        pass_time(told.database, timedelta(minutes=3))
        told.hurry()
        told.run_due()
    said = {
        "sms": Counter(text for text in told.texts() if text.startswith("Stage")),
        "push": Counter(one["notification"]["title"] for one in told.fcm.shown() if "about" not in str(one)),
        "email": Counter(one["mail"]["subject"] for one in told.resend.emails() if "about" not in str(one["subject"])),
        "inbox": Counter(told.inbox()),
    }
    assert {channel: times for channel, found in said.items() for times in found.values() if times > 1} == {}
    assert said["inbox"], "the inbox is never late and never lost"
    rows = told.database.execute("select state, count(*) from deliveries group by state").fetchall()
    assert "queued" not in dict(rows), rows


@pytest.mark.parametrize("has_left", [True, False])
def test_a_text_of_after_the_restored_moment_is_found_or_left_to_a_person(told: ToldPeople, *, has_left: bool) -> None:
    told.save(sms="{{ what }}")
    told.add_contact(Channel.SMS, "+4930123456")
    told.notify(data={"what": "Stage 1", "who": "Ada"})
    backup = back_up(told.database)
    if has_left:
        told.run_due()
    backup.restore(told.process)
    for _ in range(3):
        told.run_due()
        pass_time(told.database, timedelta(minutes=3))
        told.hurry()
    assert len(told.texts()) == has_left
    ended = told.database.execute("select state from jobs where job_type = 'notifications.send_sms'").fetchall()
    assert ended == [("succeeded" if has_left else "dead",)]
