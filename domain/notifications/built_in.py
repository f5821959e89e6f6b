"""Templates that every org has; an org that saves one of the same name uses its own."""

from collections.abc import Mapping

from domain.jobs.job import JsonObject
from domain.notifications.template import Template, TitledText, Words, shortened

VERIFICATION = "postroom.verification"
REMINDER = "postroom.reminder"
DIGEST = "postroom.digest"
RUN_SHEET = "postroom.run_sheet"
PREFIX = "postroom."
"""What their names begin with."""
MOST_SHOWN = 50
"""Items of a digest that are written out; the others are counted."""
LONGEST_ITEM = 500

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


def digest_data(category: str, words: list[Words], count: int) -> JsonObject:
    """What the digest's template is told of its items, which are shortened; `count` is of all, shown or not."""
    shown = words[:MOST_SHOWN]
    items = [
        {
            "title": shortened(one.title or one.body, LONGEST_ITEM),
            "body": shortened(one.body, LONGEST_ITEM) if one.title else "",
        }
        for one in shown
    ]
    return {"count": count, "category": category, "items": items, "more": count - len(shown)}
