"""When a message that nobody has decided is classified again: each time may have to be paid for."""

from datetime import datetime, timedelta

FIRST = timedelta(hours=1)
LONGEST = timedelta(days=1)


def is_due_again(received_at: datetime, *, last_look: datetime, now: datetime) -> bool:
    """Whether a look at the mailbox asks about a message again: at the age of 1, 2, 4, 8, 16 hours, then each day.

    `last_look` is the look before; each age is met by one look, however far apart they are.
    """
    return _ages_passed(now - received_at) > _ages_passed(last_look - received_at)


def _ages_passed(age: timedelta) -> int:
    passed, due = 0, FIRST
    while due < LONGEST and due <= age:
        passed, due = passed + 1, due * 2
    return passed + max(0, age // LONGEST)
