"""When a scheduled full sync orders again what has failed, a classification or a draft: each time may be paid for."""

from datetime import datetime, timedelta

FIRST_AGE = timedelta(hours=1)
LONGEST_STEP = timedelta(days=1)


def is_due_again(since: datetime, *, last_look: datetime, now: datetime) -> bool:
    """Whether a sync orders again what has waited since then: after 1, 2, 4, 8 and 16 hours, then once a day.

    `last_look` is the sync before; each of these ages is met by one sync, however far apart they are.
    """
    return _ages_passed(now - since) > _ages_passed(last_look - since)


def _ages_passed(age: timedelta) -> int:
    passed, due = 0, FIRST_AGE
    while due < LONGEST_STEP and due <= age:
        passed, due = passed + 1, due * 2
    return passed + max(0, age // LONGEST_STEP)
