"""Every parser that strangers' text reaches, with the longest text that it takes and what it is at its worst on."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl
from zoneinfo import ZoneInfo

from pydantic_core import from_json

from bench.mail_bombs import BOMBS
from domain.documents.yaml_source import LONGEST_SOURCE as LONGEST_YAML
from domain.documents.yaml_source import UnreadableYaml, read_yaml
from domain.instants import read_instant, read_time
from domain.jobs.failures import Failure
from domain.jobs.scheduling.cron import Missed, Timetable, next_after
from domain.jobs.scheduling.recurrence import Recurrence
from domain.mail.correspondence import label_key
from domain.mail.mail_fence import neutralise
from domain.mail.outgoing.subjects import forward_subject, plain_subject, reply_subject
from domain.mail.parsing.addresses import parse_addresses
from domain.mail.parsing.auth_results import kept_results, vouches_for
from domain.mail.parsing.encoded_words import decode_words, parse_parameters
from domain.mail.parsing.header_text import bare_text
from domain.mail.parsing.html_text import read_page
from domain.mail.parsing.limits import (
    LONGEST_AUTH_RESULTS,
    LONGEST_HEADER,
    LONGEST_HTML,
    LONGEST_SUBJECT,
    LONGEST_TEXT,
)
from domain.mail.parsing.mail_encoding import decode_transfer, guess_text
from domain.mail.parsing.mime import parse_message
from domain.mail.parsing.quoted_text import visible_text
from domain.mail.rule_language.rule_file import read_rule_file
from domain.mail.rule_language.safe_pattern import LONGEST_PATTERN, check_boundaries, compiled, matches_everything
from domain.notifications import liquid
from domain.notifications.channels import Channel
from domain.notifications.contact_addresses import checked_contact
from domain.notifications.receipts import sms_receipt
from domain.notifications.sms_text import measure
from domain.notifications.template import LONGEST_TOGETHER, one_line, read_template
from domain.orgs.privacy.personal_data import without_addresses
from domain.orgs.privacy.redaction import redact_text
from domain.orgs.spelling.normal_form import normalized, searched_forms, visible
from domain.payloads.mail_address import address_key, check_address, domain_key
from domain.payloads.mail_fields import mailbox_parts
from domain.planning.calendars.availability import CalendarOptions
from domain.planning.calendars.availability_calendar import read_calendar
from domain.planning.calendars.availability_csv import read_table
from domain.planning.calendars.ranges import wanted_range
from domain.planning.files.digests import read_content_digest
from domain.workflows.definition import read_duration, read_until
from domain.workflows.expressions import evaluate, facts_of
from domain.workflows.inputs import InputCheck, schema_misfits
from domain.workflows.references import LONGEST_EXPRESSION, joined, parsed
from gateway.http.bodies import LONGEST_JSON, MOST_FIELDS
from gateway.http.receipt_callers import LONGEST_CALLBACK
from providers.discord import webhook
from providers.discord.interactions import LONGEST_BODY as LONGEST_PRESS
from providers.discord.interactions import parse as parse_press
from providers.discord.messages import code, read_custom_id
from providers.google.push import LONGEST_BODY as LONGEST_PUSH
from providers.google.push import parse_push
from tests.attacks.hostile_calendars import CALENDAR, EVENT, RULES, repeating

NOW = datetime(2026, 11, 29, tzinfo=UTC)
ZONE = "Europe/Berlin"
PIECES = (
    " ",
    "\n",
    *'a9([<"\\',
    '\\"',
    "'",
    ",",
    ".",
    "-",
    "@",
    "é",
    "\u0301",
    "a@",
    "a.",
    "${",
)
"""What most parsers look for, or skip."""
FILE = 256 * 1024
"""Characters of a file that is tried here; what a file may have is more, and its reader is for a job alone."""
LONG_DATA: dict[str, Any] = {
    "a": "x",
    "yes": True,
    "list": ["x"] * 1_000,
    "numbers": list(range(4_000)),
    "nested": [[list(range(2_000))]],
    "long": "ж" * 8_000,
    "marks": "<" * 16_000,
    "big": 10**4_000,
}


@dataclass(frozen=True)
class Parser:
    """A parser, the longest text it takes, and texts that are made to cost it."""

    read: Callable[[str], object]
    longest: int
    pieces: Iterable[str] = ()
    """Each is repeated up to the longest text; those of `PIECES` are tried besides."""
    whole: Iterable[str] = ()
    """Each is tried as it is."""
    usual: int = 128 * 1024
    """Characters that may take as long as any text may; fewer where two of them are a row or a tag."""

    def try_on(self, text: str) -> None:
        """Read a text; a refusal is an answer."""
        with suppress(Failure, UnreadableYaml, ValueError):
            self.read(text)

    def texts(self) -> Iterable[str]:
        """What is tried."""
        yield from (piece * (self.longest // len(piece)) for piece in (*PIECES, *self.pieces))
        yield from self.whole


def _of_bytes(read: Callable[[bytes], object]) -> Callable[[str], object]:
    return lambda text: read(text.encode(errors="replace"))


def filled(body: str, before: str = "", after: str = "", size: int = liquid.LONGEST_SOURCE) -> str:
    """As many of a body as there is room for."""
    return before + body * ((size - len(before) - len(after)) // len(body)) + after


def blocks(body: str) -> str:
    """As many in a loop over a thousand values, within the bound on tags."""
    return filled(body, "{%for i in list%}", "{%endfor%}", len(body) * (900 // body.count("{")) + 30)


_WIDE = 490
TEMPLATES = (
    "{{" + " " * 19_990,
    "{{" + " " * 19_990 + "a}}",
    "{% comment %}{{" + " " * 19_900 + "{% endcomment %}",
    "{%" + " " * 19_990,
    filled("{%" + " " * 98),
    filled("{%comment%}"),
    "{%comment%}" * 800 + "{%endcomment%}" * 800,
    filled("{%raw%}"),
    filled("{%raw%}{%endraw%}"),
    "{%raw%}" + filled("{%endraw" + " " * 50, size=19_000),
    filled("{{a}}", size=5_000),
    filled(" " * 40 + "{{-a-}}", size=20_000),
    filled("{%if yes%}{%endif%}"),
    filled("{%if " + "numbers==numbers or " * 20 + "a%}{%endif%}"),
    filled("{{a" + "|size" * 90 + "}}"),
    filled("{{long" + "|upcase" * 65 + "|size}}"),
    *(
        filled("{{" + piece * (_WIDE // len(piece)) + "}}")
        for piece in ("(", "['a' ", "['a',", "'", "a[", "a.", "9", "|a")
    ),
    filled("{%case numbers%}{%when " + "numbers," * 50 + "a%}{%endcase%}"),
    filled("{%if numbers contains 9.5 %}{%endif%}"),
    blocks("{%if yes%}{%endif%}"),
    blocks("{%if nested==nested%}{%endif%}"),
    *map(
        blocks, ("{%assign x=a%}", "{%capture x%}{%endcapture%}", "{%for j in a%}{%endfor%}", "{%case 1%}{%endcase%}")
    ),
    *map(blocks, ("{{a}}", "{{''}}", "{{1|plus:1}}", "{{forloop.index}}", "{%if 1==1%}{%endif%}")),
    filled("{%if " + "1==2 or " * 58 + "a%}{%endif%}", "{%for i in list%}", "{%endfor%}"),
    filled("{%case 1%}{%when " + "2," * 200 + "2%}{%endcase%}", "{%for i in list%}", "{%endfor%}"),
    "{%case 1%}{%when 1,1,1,1,1,1,1,1,1%}" * 25 + "{%endcase%}" * 25,
    filled("{%for i in list%}{{i}}{%endfor%}"),
    filled("{%for i in list%}{%endfor%}"),
    filled("{%for i in numbers reversed limit:1%}{%endfor%}"),
    "".join(f"{{%assign x{number}=a%}}" for number in range(1_000)),
    filled("{%capture x%}{{marks}}{%endcapture%}"),
    filled("{{list|join:long|size}}"),
    filled("{{numbers|join|size}}"),
    filled("{{'2026-11-24T09:30:00Z'|date:'" + "%A" * 40 + "'}}"),
    filled("{{big|plus:big|size}}"),
    filled("{{long|truncate:7999|size}}"),
    "{%if yes%}" * 29 + filled("{{a}}", size=4_000) + "{%endif%}" * 29,
)


def _template(source: str) -> None:
    for escapes in (False, True):
        liquid.render("text", source, LONG_DATA, escapes=escapes)
    liquid.check("text", source, LONG_DATA)


def _template_document(source: str) -> None:
    part = source[: LONGEST_TOGETHER // 10]
    titled = {"title": part, "body": part, "link": part}
    texts = {"subject": part, "text": part, "html": part, "sms": part, "push": titled, "inbox": titled}
    read_template({"category": "bookings", **texts, "sample": LONG_DATA})


def _pattern(text: str) -> None:
    check_boundaries(text)
    compiled(text)
    matches_everything(text, has_lines=True)


def _schema(text: str) -> None:
    schema = json.loads(text)
    if not list(schema_misfits(schema)):
        InputCheck(schema).check({"a": ["x" * 60_000], "b": list(range(9_000))})


SCHEMAS = (
    {"properties": {f"a{number}": {"pattern": "(a|b)*a(a|b){9}c"} for number in range(100)}},
    {"properties": {"a": {"items": {"pattern": "^(a+)+$"}}}},
    {"properties": {"b": {"uniqueItems": True, "items": {"enum": list(range(200))}}}},
    {"allOf": [{"properties": {"b": {"items": {"type": "integer"}}}}] * 500},
    {"properties": {"a": {"items": {"format": "email"}}}},
    {"properties": {"a": {"items": {"format": "idn-hostname"}}}},
    {"required": ["x" * 10] * 4_900},
)


def _expression(text: str) -> None:
    given = {"a": list(range(5_000)), "b": "x" * 30_000, "c": [[1]] * 3_000}
    evaluate("x", [f"${{{text}}}"], facts_of(given, {}, {}))


def _cron(text: str) -> None:
    for expression in (text, f"{text} * * * *", f"0 0 {text} * *"):
        next_after(Timetable(expression[:LONGEST_CRON], ZONE, Missed.SKIP), NOW)


LONGEST_CRON = 200


def _rule(text: str) -> None:
    for rule in (text, f"FREQ=DAILY;BYDAY={text}", f"FREQ=YEARLY;BYMONTHDAY={text}"):
        found = Recurrence.parse(rule)
        found.next_after(NOW, start=datetime(1970, 1, 1, 9), zone=ZoneInfo(ZONE))  # noqa: DTZ001 # by the wall clock


def _calendar(data: bytes) -> object:
    return read_calendar(data, zone=ZONE, now=NOW, options=CalendarOptions())


def _table(text: str) -> object:
    return read_table(text.encode(errors="replace"), zone=ZONE, needs_collaborator=False)


def _composed(text: str) -> None:
    normalized("NFC", text)
    normalized("NFKC", text)


def _address(text: str) -> None:
    for read in (address_key, domain_key, label_key, read_custom_id):
        read(text)
        read(f"a@{text}")


def _words_of_time(text: str) -> None:
    for read in (read_instant, read_time, read_duration, read_until):
        try:
            read(text)
        except ValueError:
            continue


PAGES = (
    *(piece * (LONGEST_HTML // len(piece)) for piece in ("<table>x", "<![<", "&#", "\n", "<b><p>")),
    "<div>" * 20_000,
    *(f"<svg>{f'<{name}>' * 10_000}{'</x>' * 10_000}" for name in ("g", "style", "script", "title")),
    "<ul><li>" * 10_000,
    "<div><table><td></div>" * 5_000,
    "<li><center>" * 10_000,
    "<template>" * 10_000,
    ("<p " + " ".join(f"a{number}" for number in range(190)) + ">") * 500,
    '<p style="width:' + "0" * FILE + 'x">x',
    "<style>" + ".c{top:0}" * 99 + "</style>" + "<p class='c d e f g h'>x" * 10_000,
    "<q>" * 10_000 + "</p>" * 10_000,
    "".join(f"<b a={number}>" for number in range(10_000)) + "<p>x" * 10_000,
    "".join(f"<a href={number}><table><td>" for number in range(6_000)),
    "<style>" + "a,b.c,#d{color:red}" * (FILE // 19) + "</style><p class='c'>x",
    "<style>" + "a," * (FILE // 2) + "{color:red}</style>",
    "<style>" + "{" * FILE,
    "<style>" + "".join(f".a{n} p{{top:0}}" for n in range(99)) + "</style>" + "<div class=a9><p>x" * 10_000,
    '<p style="' + "color:red;" * (FILE // 10) + '">x',
    '<p style="font:' + "1" * FILE + '">x',
    "<a " + " ".join(f"a{number}" for number in range(FILE // 7)),
)
HEADER_PIECES = ('"\\', "<a", 'a"', "<@", '<"', '"\\" ', '<"\\', '"x,', "@ ", ". ", '">', '("', "a,", "a@b.c ")
WORD_PIECES = ('"\\', "=?a?q?", "=?a?q?=", "?=AA", ";a=", "; a*0=b", ';a="', " x-=", "=?a?q??", '"a"\n')
TEXT_PIECES = ("\n>", ">\n", "a:\n\n", "On a wrote:\n", "From: a\n", "\u200b", "\n \t", "\u2060\ufe0f", "a\u0315\u0300")
SECRET_PIECES = ("page_token=", "key=", "pwd=aaaa ", 'pwd:"', "token:aa ", "-----BEGIN PRIVATE KEY", "://a:", "bearer ")
YAML_PIECES = ("- ", "-\n", "- - ", "a: ", "? ", "&a *a ", "[a, ", "{a: ", "| \n", "# \n", "- x\n", '"\\u0020')

PARSERS: Mapping[str, Parser] = {
    "Liquid": Parser(_template, liquid.LONGEST_SOURCE, ("{{", "{%", "{%-", "}}%}", "{{-a-}}"), TEMPLATES),
    "template": Parser(_template_document, LONGEST_TOGETHER, (), TEMPLATES),
    "YAML": Parser(_of_bytes(read_yaml), LONGEST_YAML, YAML_PIECES),
    "rules": Parser(_of_bytes(lambda data: read_rule_file(data, "r.yaml")), LONGEST_YAML, YAML_PIECES),
    "JSON": Parser(from_json, LONGEST_JSON, ("[1,", '{"a":', '"\\u0061', "1e1", "-1,")),
    "expression": Parser(
        _expression,
        LONGEST_EXPRESSION,
        ("\\'", "[?", "[*]", "||", "a||", "!", "`1`|", "sort(", "{a:", "&a"),
        ("input.a[*].[@]", "sort_by(input.c, &[0])", "input.a[?@ > `1`] | [?@ > `2`]", "join('', input.a)"),
    ),
    "text with expressions": Parser(joined, FILE, ("${a", "${a}", "$${", "}")),
    "expression's syntax": Parser(parsed, LONGEST_EXPRESSION, ("\\'", "'\\'", '"\\"', "`\\`")),
    "schema and input": Parser(_schema, 0, (), [json.dumps({"type": "object", **one}) for one in SCHEMAS]),
    "pattern of a rule": Parser(
        _pattern, LONGEST_PATTERN, ("(a?)", ".*", "(a|b)*", "\\w+", "[^a]", "a{9}", "\\Q", "[[:", "(?i)", "\\b")
    ),
    "CSV": Parser(
        _table,
        FILE,
        ("1,", "a\n", '"a\n', '",', "a,id,", "\n1"),
        ("a," * 20_000 + "id," * 20_000, "," * 9_000 + "\n1" * 9_000),
    ),
    "CSV with its header": Parser(
        lambda text: _table(f"id,kind,from,until\n{text}"), FILE, ("-\n", ",,,\n", '"\n', ","), usual=16 * 1024
    ),
    "calendar": Parser(
        _of_bytes(_calendar),
        0,
        (),
        (
            CALENDAR.format("".join(EVENT.format(number) for number in range(100))),
            CALENDAR.format("X:" + "a" * FILE + "\n"),
            CALENDAR.format("X" + ";a=b" * 10_000 + ":c\n"),
            CALENDAR.format("BEGIN:VEVENT\n" * 5_000),
        ),
    ),
    # What rules cost is counted: a file ends within about 2 s of CPU, however long it is.
    "calendar of rules": Parser(_of_bytes(_calendar), 0, (), [repeating(rule) for rule in RULES], usual=16 * 1024),
    "page": Parser(read_page, FILE, ("<", "<a", "<p>", "<!--", "<a a='"), PAGES, usual=64 * 1024),
    # The tree has 150,000 nodes. Its reader is in Python, where other threads get their turns.
    "page of formatting that stays open": Parser(
        read_page, 0, (), ["<p>" + "".join(f"<b a={n}>" for n in range(10)) + "<p>x" * 15_000], usual=4 * 1024
    ),
    "mail": Parser(
        _of_bytes(parse_message),
        FILE,
        ("a: b\n\n", "--\n"),
        [bomb(FILE).decode("latin-1") for bomb in BOMBS.values()],
        usual=64 * 1024,
    ),
    "addresses of a header": Parser(parse_addresses, LONGEST_HEADER, HEADER_PIECES),
    "words of a header": Parser(decode_words, LONGEST_HEADER, WORD_PIECES),
    "parameters of a header": Parser(parse_parameters, LONGEST_HEADER, WORD_PIECES),
    "comments of a header": Parser(bare_text, LONGEST_HEADER, WORD_PIECES),
    "Authentication-Results": Parser(
        lambda text: vouches_for(kept_results(f"h; {text}"), frozenset({"h"}), "a.b"),
        LONGEST_AUTH_RESULTS,
        ("spf=pass ", "spf=pass a.b=c;", "(a", "()", "a=b;", '"a" ', "a@b.c "),
    ),
    "subject": Parser(
        lambda text: (reply_subject(text), forward_subject(text), plain_subject(text)),
        LONGEST_SUBJECT,
        ("re: ", "re[1]:"),
    ),
    **{
        f"text: {read.__name__}": Parser(read, LONGEST_TEXT, TEXT_PIECES)
        for read in (visible, visible_text, searched_forms, without_addresses, one_line, code, webhook.plain, _composed)
    },
    "fence": Parser(lambda text: neutralise(text, "A" * 32, LONGEST_TEXT), LONGEST_TEXT, TEXT_PIECES),
    "charset": Parser(_of_bytes(guess_text), FILE, ("\x1b$B", "ж", "あ")),
    "base64": Parser(_of_bytes(lambda data: decode_transfer(data, "base64")), FILE, ("=", "a=\n")),
    "quoted-printable": Parser(
        _of_bytes(lambda data: decode_transfer(data, "quoted-printable")), FILE, ("=", "=4", "= ")
    ),
    "address": Parser(_address, LONGEST_TEXT, ("xn--", "xn--a.", "ß", "\u0661.")),
    "address of an order": Parser(lambda text: check_address("to", text), LONGEST_TEXT, ("xn--", "ß.")),
    "mailbox": Parser(mailbox_parts, LONGEST_TEXT, ("<a", '"\\', '"a" <', "a <")),
    "telephone": Parser(
        lambda text: checked_contact(Channel.SMS, f"+49{text}"), LONGEST_TEXT, ("+", "tel:", ";ext=", "x")
    ),
    "recurrence": Parser(_rule, 1_000, ("MO,", "1,", "-1MO,", "FREQ=", ";"), ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",)),
    "cron": Parser(_cron, LONGEST_CRON, ("1,", "*/", "*,", "1-9,", "L"), ("0 0 30 2 *", "* * * * *", "59 23 29 2 1#5")),
    "time": Parser(_words_of_time, LONGEST_TEXT, ("2026-", "P1D", "T1", "1:", "+00:00")),
    "Content-Digest": Parser(read_content_digest, LONGEST_CALLBACK, ("sha-256=:", "a=::,", "a,", "=:")),
    "Range": Parser(lambda text: wanted_range(f"bytes={text}", 9), LONGEST_CALLBACK, ("1-", "-1", "1-1,")),
    "form": Parser(
        lambda text: sms_receipt(dict(parse_qsl(text, max_num_fields=MOST_FIELDS))),
        LONGEST_CALLBACK,
        ("&", "a=b&", "%", "%4"),
    ),
    "press in Discord": Parser(_of_bytes(parse_press), LONGEST_PRESS, ("[1,", '{"a":')),
    "push": Parser(_of_bytes(parse_push), LONGEST_PUSH, ("[1,", '{"a":')),
    "secrets in a log": Parser(redact_text, 32 * 1024, SECRET_PIECES),
    "text message": Parser(measure, liquid.LONGEST_RESULT, ("€", "😀")),
}
