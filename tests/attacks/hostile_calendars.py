"""Calendars whose rules are made to cost."""

EVENT = "BEGIN:VEVENT\nUID:{}\nDTSTAMP:20260101T000000Z\nDTSTART:20260101T100000Z\nDURATION:PT1H\nEND:VEVENT\n"
CALENDAR = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:a\n{}END:VCALENDAR\n"

RULES = (
    f"YEARLY;BYDAY={','.join(f'{number}MO' for number in (*range(-31, 0), *range(1, 33)))}",
    f"YEARLY;COUNT=5000;BYDAY={','.join(f'{number}MO' for number in (*range(-31, 0), *range(1, 33)))}",
    "YEARLY;COUNT=5000;BYDAY=1MO,2TU,3WE,4TH,5FR",
    "YEARLY;COUNT=5000;BYDAY=MO,TU,WE,TH,FR,SA,SU",
    f"MONTHLY;COUNT=5000;BYDAY=5MO;BYMONTHDAY={','.join(str(number) for number in range(1, 32))}",
    "MONTHLY;COUNT=5000;BYMONTH=2;BYMONTHDAY=29",
    f"DAILY;COUNT=5000;BYMONTHDAY=31;BYSETPOS={','.join(str(number) for number in range(1, 63))}",
    "DAILY;COUNT=5000",
)


def repeating(rule: str) -> str:
    """A calendar of about 200 KB, or of 1,000 events, that come again by a rule since the year 1600."""
    event = EVENT.replace("20260101T10", "16000101T10").replace("END:VEVENT", f"RRULE:FREQ={rule}\nEND:VEVENT")
    return CALENDAR.format("".join(event.format(number) for number in range(min(1_000, 200_000 // len(event)))))
