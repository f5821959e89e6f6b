"""Templates that every org has; an org that saves one of the same name uses its own."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from domain.jobs.failures import Invalid
from domain.jobs.job import JsonObject
from domain.notifications.template import RenderedWords, Template, TitledText, in_bytes, words_of

VERIFICATION = "postroom.verification"
REMINDER = "postroom.reminder"
DIGEST = "postroom.digest"
APPROVAL = "postroom.approval"
ALERT = "postroom.alert"
RUN_SHEET = "postroom.run_sheet"
AGENT = "postroom.agent"
PREFIX = "postroom."
"""What their names begin with."""
MOST_SHOWN = 50
"""Items of a digest that are written out; the others are counted."""
LONGEST_ITEM = 500
"""Bytes: fifty items stay well below what a text may have."""

LONGEST_BODY = 6_000
"""Bytes of what somebody is told of a run sheet: as JSON each may take two, and a notification holds 16,384 in all."""

BUILT_IN: Mapping[str, Template] = {
    VERIFICATION: Template(
        category="security",
        subject="Your code is {{ code }}",
        text="Enter this code to confirm your address: {{ code }}\n\nIt is good for {{ minutes }} minutes."
        " If you did not ask for it, do nothing.\n",
        sms="{{ code }} is your code. It is good for {{ minutes }} minutes.",
        sample={"code": "123456", "minutes": 15},
        max_age_s=900,
    ),
    REMINDER: Template(
        category="reminder",
        subject="{{ title }}",
        text="{{ body }}\n",
        sms="{{ title | truncate: 200 }}",
        push=TitledText(title="{{ title }}", body="{{ body }}"),
        inbox=TitledText(title="{{ title }}", body="{{ body }}"),
        sample={"title": "Reminder: call the garage", "body": "Call the garage"},
    ),
    # By e-mail and in the app: a text message is paid for, and an org that wants one saves its own template.
    APPROVAL: Template(
        category="approvals",
        subject="{{ title }}",
        text="{% for fact in facts %}{{ fact.name }}: {{ fact.value }}\n{% endfor %}\n"
        "Decide until {{ until | date: '%d %B, %H:%M %Z' }}: after that it expires.\n",
        push=TitledText(title="{{ title }}", body="Decide until {{ until | date: '%d %B, %H:%M %Z' }}"),
        inbox=TitledText(
            title="{{ title }}",
            body="{% for fact in facts %}{{ fact.name }}: {{ fact.value }}\n{% endfor %}"
            "Decide until {{ until | date: '%d %B, %H:%M %Z' }}",
        ),
        sample={
            "approval_id": "01936e5c-8a00-7000-8000-000000000000",
            "title": "Forward waits for approval",
            "facts": [{"name": "Subject", "value": "Lunch?"}],
            "until": "2026-11-27T09:30:00+00:00",
        },
    ),
    ALERT: Template(
        category="alerts",
        subject="{{ title }}",
        text="{{ text }}\n",
        push=TitledText(title="{{ title }}", body="{{ text }}"),
        inbox=TitledText(title="{{ title }}", body="{{ text }}"),
        sample={"title": "A mailbox must be connected again", "text": "Its jobs wait."},
    ),
    AGENT: Template(
        category="agents",
        subject="The agent {{ profile }} calls you",
        text="{{ text }}\n",
        push=TitledText(title="The agent {{ profile }} calls you", body="{{ text | truncate: 200 }}"),
        inbox=TitledText(title="The agent {{ profile }} calls you", body="{{ text }}"),
        sample={"profile": "assistant", "text": "Somebody wants to cancel a contract. I was not told what to do then."},
    ),
    RUN_SHEET: Template(
        category="planning",
        subject="{{ title }}",
        text="{{ body }}\n",
        push=TitledText(title="{{ title }}", body="{{ body | truncate: 200 }}"),
        inbox=TitledText(title="{{ title }}", body="{{ body }}"),
        sample={"title": "Friday: your times have changed", "body": "New: Load-in, 2026-05-01 08:00 to 10:00"},
    ),
    DIGEST: Template(
        category="account",
        subject="{{ count }} messages about {{ category }}",
        text="{% for item in items %}* {{ item.title }}\n{% if item.body != '' %}  {{ item.body }}\n{% endif %}"
        "{% endfor %}{% if more > 0 %}and {{ more }} more\n{% endif %}",
        sms="{{ count }} messages about {{ category }}",
        push=TitledText(title="{{ count }} messages about {{ category }}", body="{{ items[0].title }}"),
        sample={"count": 3, "category": "bookings", "items": [{"title": "a", "body": "b"}], "more": 2},
    ),
}


def digest_data(category: str, words: list[RenderedWords], count: int) -> JsonObject:
    """What the digest's template is told of its items, which are shortened; `count` is of all, shown or not."""
    shown = words[:MOST_SHOWN]
    items = [
        {
            "title": in_bytes(one.title or one.body, LONGEST_ITEM),
            "body": in_bytes(one.body, LONGEST_ITEM) if one.title else "",
        }
        for one in shown
    ]
    return {"count": count, "category": category, "items": items, "more": count - len(shown)}


def check_replacement(name: str, template: Template) -> None:
    """Raise `Invalid` for a template that could not stand in for the one of this name that every org has.

    Postroom itself asks for those: what an org saves in their place says the same data, by the same channels at least.
    """
    if not name.startswith(PREFIX):
        return
    replaced = BUILT_IN.get(name)
    if replaced is None:
        raise Invalid("name", f"begins with {PREFIX}, as only these do: {', '.join(sorted(BUILT_IN))}")
    if template.category != replaced.category:
        raise Invalid("category", f"must be {replaced.category}: what {name} says is about that")
    for channel in replaced.channels:
        if channel not in template.channels:
            raise Invalid(channel.value, f"is missing: {name} is said there, too")
    for channel in template.channels:
        words_of(template, channel, replaced.sample)


def body_of(lines: Sequence[str]) -> str:
    """The first lines, as many as fit into a message."""
    more = "and more, in the run sheet"
    sizes = accumulate(len(line.encode()) + 1 for line in lines)
    kept = sum(size <= LONGEST_BODY - len(more) for size in sizes)
    return "\n".join(lines if kept == len(lines) else [*lines[:kept], more])
