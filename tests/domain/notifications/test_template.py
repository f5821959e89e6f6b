"""Templates with hostile data and hostile templates: bounded, escaped, on one line where a header is made."""

from email.header import decode_header, make_header
from email.parser import BytesHeaderParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Invalid
from domain.notifications.built_in import BUILT_IN, check_replacement, digest_data
from domain.notifications.channels import Channel
from domain.notifications.liquid import FILTERS, render
from domain.notifications.sms_text import measure
from domain.notifications.template import RenderedWords, frame, one_line, preview, read_template, words_of
from tests.house.reading import ROOT

TEMPLATE = read_template(
    {
        "category": "bookings",
        "subject": "{{ a }}",
        "text": "{{ a }}",
        "html": '<p>{{ a }}</p><a href="{{ a }}">x</a>',
        "inbox": {"title": "{{ a }}", "body": "{{ a }}"},
        "sample": {"a": "x"},
    }
)


def test_names_and_subjects_of_real_mail_are_harmless_data() -> None:
    """Strangers wrote them, in every charset."""
    before = frame(words_of(TEMPLATE, Channel.EMAIL, {"a": "x"}), "bookings", None).count("<")
    values = 0
    for file in (ROOT / "tests" / "mail").rglob("*.eml"):
        heads = BytesHeaderParser().parsebytes(file.read_bytes())
        for value in (*heads.get_all("from", []), *heads.get_all("subject", [])):
            for text in (str(value), str(make_header(decode_header(str(value)), header_name="x"))):
                mail = words_of(TEMPLATE, Channel.EMAIL, {"a": f"x{text}"})
                assert len(mail.title.splitlines()) == 1
                assert frame(mail, "bookings", None).count("<") == before
                values += 1
    assert values > 400


@given(st.text(min_size=1, max_size=300))
def test_no_value_begins_another_header_or_ends_the_page(value: str) -> None:
    try:
        mail = words_of(TEMPLATE, Channel.EMAIL, {"a": f"x{value}"})
    except Invalid:
        return
    assert len(mail.title.splitlines()) == 1
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) <= 0x9F for letter in mail.title)
    page = frame(mail, "bookings", None)
    before = frame(words_of(TEMPLATE, Channel.EMAIL, {"a": "x"}), "bookings", None)
    assert page.count("<") == before.count("<"), "no value makes a tag"


def test_what_turns_the_direction_of_a_title_is_left_out() -> None:
    assert one_line("a\u202ebad\u2066\r\nBcc: x") == "abad Bcc: x"


@pytest.mark.parametrize(
    "source",
    [
        "{% for i in (1..1000000) %}x{% endfor %}",
        "{% for i in (1..1000) %}{% for j in (1..1000) %}x{% endfor %}{% endfor %}",
        "{% for i in (1..1000) %}{{ i }}{% endfor %}" * 450,
        "{% assign a = 'aaaaaaaaaaaaaaaa' %}" + "{% capture a %}{{ a }}{{ a }}{% endcapture %}" * 60,
        "{{ list | join: long }}",
        "{% assign b = list | join: long %}{% assign b = b | join: long %}{{ b }}",
        "{{ (1..100000000000) | join: ',' }}",
        "{{ '2026-11-24T09:30:00Z' | date: '%999999999d' }}",
        "{{ 'now' | date }}",
        "{{ a.__class__.__mro__ }}",
        "{{ a | append: a }}",
        "{% render 'x' %}",
        "{% if " + "(" * 5_000 + " %}",
        "{{ " + "a[" * 3_000 + " }}",
        "x" * 20_001,
        "{% for i in list %}{% for j in list %}x{% endfor %}{% endfor %}",
        "{% for i in list %}{{ i }}{% endfor %}" * 450,
        "{% if (1..60000000) contains 1.5 %}x{% endif %}",
        "{% unless a == 'x' %}{% elsif (1..n) contains 1.5 %}x{% endunless %}",
        "{% if true %}{% assign r = (1..n) %}{% if r contains 1.5 %}x{% endif %}{% endif %}",
        "{% case (1..n) %}{% when 1 %}x{% endcase %}",
        "{% for i in list limit: 1 %}{{ a | default: (1..n) }}{% endfor %}",
    ],
    ids=range(22),
)
def test_a_hostile_template_stops_soon_and_small(source: str) -> None:
    """pallets/jinja#2149, and a `replace` that built a gigabyte in one call."""
    with pytest.raises(Invalid) as refused:
        render("text", source, {"a": "x", "list": ["x"] * 900, "long": "y" * 9_000, "n": 300_000_000})
    assert refused.value.field == "text"


BRANCHES = "".join(f"{{% when 'state {n}' %}}{{{{ i.state }}}} {n} {'{{ long }}' * 10}" for n in range(7))
BY_STATE = (
    "{% for i in items %}{% case i.state %}{% when 'new' %}{{ i.title }}, " + BRANCHES + "{% endcase %}{% endfor %}"
)


@pytest.mark.parametrize(
    "source",
    [
        BY_STATE,
        "{% for i in items %}{% if i.state == 'new' %}{{ i.title }}, {% else %}"
        + "{{ long }}" * 300
        + "{% endif %}{% endfor %}",
        "{% for i in items %}{% unless i.state == 'new' %}"
        + BY_STATE
        + "{% else %}{{ i.title }}, {% endunless %}{% endfor %}",
        "{% for i in items %}{% comment %}" + "a note " * 1_000 + "{% endcomment %}{{ i.title }}, {% endfor %}",
    ],
    ids=["case", "if", "nested", "comment"],
)
def test_branches_that_are_not_taken_are_no_work(source: str) -> None:
    items = [{"state": "new", "title": f"Stage {number}"} for number in range(1_000)]
    written = render("text", source, {"items": items, "long": "y" * 9_000})
    assert written == "".join(f"{item['title']}, " for item in items)


def test_a_loop_over_500_values_may_have_eight_branches_with_ten_outputs_in_each() -> None:
    """What write-a-template.md says."""
    branches = "".join(f"{{% when 'state {n}' %}}{'{{ i.who }}' * 10}" for n in range(8))
    source = f"{{% for i in items %}}{{% case i.state %}}{branches}{{% endcase %}}{{% endfor %}}"
    items = [{"state": f"state {number % 8}", "who": "Ann"} for number in range(500)]
    assert render("text", source, {"items": items}) == "Ann" * 5_000


def test_no_filter_of_the_replace_family_is_there() -> None:
    grow = {"replace", "replace_first", "append", "prepend", "times", "split", "map", "concat", "base64_encode"}
    assert not FILTERS & grow


def test_times_are_in_the_readers_zone() -> None:
    source = "{{ at | date: '%d.%m. %H:%M %Z' }}"
    data = {"at": "2026-11-24T23:30:00Z"}
    assert render("text", source, data, zone="Asia/Tokyo") == "25.11. 08:30 JST"
    assert render("text", source, data, zone="America/New_York") == "24.11. 18:30 EST"


def test_the_templates_that_every_org_has_can_be_said_on_every_channel() -> None:
    for name, template in BUILT_IN.items():
        shown = preview(read_template(template.model_dump(mode="json")), template.sample)
        assert shown.sms is None or shown.sms.segments <= template.most_segments, name


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("postroom.reminder", {}, None),
        ("postroom.reminder", {"subject": "Do not forget: {{ title }}", "push": None, "inbox": None}, "push"),
        ("postroom.reminder", {"category": "news"}, "category"),
        ("postroom.reminder", {"sms": "{{ place }}", "sample": {"title": "a", "body": "b", "place": "c"}}, "sms"),
        ("postroom.news", {}, "name"),
        ("news", {"category": "news"}, None),
    ],
)
def test_what_stands_in_for_a_template_of_every_org_says_what_that_says(
    name: str, changes: dict[str, object], field: str | None
) -> None:
    document = BUILT_IN["postroom.reminder"].model_dump(mode="json") | changes
    template = read_template({key: value for key, value in document.items() if value is not None})
    if field is None:
        check_replacement(name, template)
        return
    with pytest.raises(Invalid) as refused:
        check_replacement(name, template)
    assert refused.value.field == field


def test_a_digest_of_many_is_shown_in_part_and_counted() -> None:
    items = [RenderedWords(f"Stage {number}", "ж" * 900) for number in range(50)]
    words = words_of(BUILT_IN["postroom.digest"], Channel.EMAIL, digest_data("bookings", items, 400))
    assert words.title == "400 messages about bookings"
    assert words.body.endswith("and 350 more\n")


@pytest.mark.parametrize(
    ("text", "encoding", "segments"),
    [
        ("", "GSM-7", 0),
        ("a" * 160, "GSM-7", 1),
        ("a" * 161, "GSM-7", 2),
        ("a" * 306, "GSM-7", 2),
        ("a" * 307, "GSM-7", 3),
        ("€" * 80, "GSM-7", 1),
        ("€" * 81, "GSM-7", 2),
        # An escape does not stand at the end of a segment with its letter in the next.
        ("a" * 152 + "€" + "a" * 152, "GSM-7", 3),
        ("ü" * 160, "GSM-7", 1),
        ("ę" * 70, "UCS-2", 1),
        ("ę" * 71, "UCS-2", 2),
        ("😀" * 35, "UCS-2", 1),
        ("😀" * 36, "UCS-2", 2),
        ("a" * 66 + "😀" + "a" * 66, "UCS-2", 3),
    ],
)
def test_the_segments_of_a_text_message(text: str, encoding: str, segments: int) -> None:
    """3GPP TS 23.038 and TS 23.040."""
    found = measure(text)
    assert (found.encoding, found.segments) == (encoding, segments)
