"""What beat's schedule may name: job types of this release that need no payload."""

import pytest

from beat_schedule import EVERY
from domain.payloads.maintenance import FullSyncPayload
from engine.beat import tick_payload


def test_a_name_of_the_schedule_becomes_a_payload_without_fields() -> None:
    assert tick_payload("maintenance.full_sync") == FullSyncPayload()
    assert all(tick_payload(name).document() == {} for name in EVERY)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("maintenance.nobody", "the schedule names maintenance.nobody, which is no job type of this release"),
        ("sync", "the schedule names sync; the name of that job type is gmail.sync"),
        ("gmail.sync", "the schedule names gmail.sync, whose payload needs the field account_id"),
    ],
)
def test_a_name_that_the_schedule_may_not_have_is_refused_with_the_reason(name: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        tick_payload(name)
