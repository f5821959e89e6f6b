"""The scripted model's rules over mail and schema, whatever the names in the schema are."""

from typing import Any

import pytest

from sandbox.anthropic.scripted_model import fill_tool
from sandbox.anthropic.scripted_reading import read_mail

SENDER = "From: Ana Prado <ana@example.org>"


def asked(properties: dict[str, Any], mail: str, **schema: Any) -> dict[str, Any]:  # noqa: ANN401  # JSON schema words
    whole = {"type": "object", "properties": properties, "required": list(properties), **schema}
    request = {"messages": [{"role": "user", "content": [{"type": "text", "text": mail}]}]}
    return fill_tool({"name": "t", "input_schema": whole}, request)


@pytest.mark.parametrize(
    ("mail", "kind"),
    [
        (f"Subject: Friday\n{SENDER}\n\nAre you free on Friday?", "question"),
        (f"Subject: Report\n{SENDER}\n\nPlease send me the report when you can.", "question"),
        (f"Subject: Re: Report\n{SENDER}\n\nThanks, got it.\n\n> Did it reach you?\n", "statement"),
        ("Subject: Your receipt\nFrom: shop@example.com\n\nOrder number 7. Any questions?", "receipt"),
        ("Subject: Weekly newsletter\nFrom: news@example.com\n\nWhat is new? Click to unsubscribe.", "newsletter"),
        ("Subject: Build 7 failed\nFrom: ci <noreply@example.com>\n\nSee the log.", "notification"),
        (f"Subject: A list\n{SENDER}\n\nWhich version do you run?\n______________\nTo unsubscribe, write", "question"),
    ],
)
def test_kinds_of_mail(mail: str, kind: str) -> None:
    assert read_mail(mail).kind == kind


@pytest.mark.parametrize(
    "prompt",
    [
        f"Does this need a reply?\n\n{SENDER}\nSubject: Re: Porto\n\nIt was fine.",
        "<mail><from>Ana Prado</from><subject>Re: Porto</subject><body>It was fine.</body></mail>",
        '{"from": "Ana Prado", "subject": "Re: Porto", "body": "It was fine."}',
        '```json\n{\n  "subject": "Re: Porto",\n  "from": "Ana Prado <a@example.org>",\n  "body": "Fine.\\nBye"}\n```',
    ],
)
def test_the_mail_is_found_in_any_wrapping(prompt: str) -> None:
    reading = read_mail(prompt)
    assert (reading.subject, reading.sender.split(" <")[0], reading.kind) == ("Re: Porto", "Ana Prado", "statement")


def test_of_a_thread_the_last_message_is_read() -> None:
    first = f"Subject: Friday\n{SENDER}\n\nAre you free on Friday?"
    last = "Subject: Re: Friday\nFrom: Ben <ben@example.org>\n\nI booked a table.\n\nDo you like fish?\n<<<end abc>>>"
    reading = read_mail(f"Answer the last message of this thread.\n\n{first}\n\n--- next message ---\n\n{last}")
    assert (reading.sender, reading.question) == ("Ben <ben@example.org>", "Do you like fish?")


QUESTION = f"Subject: Friday\n{SENDER}\n\nAre you free on Friday?"
NEWS = "Subject: Weekly newsletter\nFrom: news@example.com\n\nClick to unsubscribe."


@pytest.mark.parametrize(
    ("values", "question", "news"),
    [
        (["no_response_needed", "needs_response"], "needs_response", "no_response_needed"),
        (["ACTION_REQUIRED", "NEEDS_REVIEW", "NONE"], "ACTION_REQUIRED", "NONE"),
        (["reply", "newsletter", "receipt", "fyi"], "reply", "newsletter"),
        (["respond", "archive"], "respond", "archive"),
    ],
)
def test_labels_are_chosen_from_the_schemas_own_words(values: list[str], question: str, news: str) -> None:
    schema = {"triage_label": {"type": "string", "enum": values}}
    assert asked(schema, QUESTION) == {"triage_label": question}
    assert asked(schema, NEWS) == {"triage_label": news}


def test_references_nullables_and_every_type_are_filled() -> None:
    schema = {
        "decision": {"$ref": "#/$defs/Decision"},
        "needs_reply": {"type": "boolean"},
        "is_automated": {"type": "boolean"},
        "confidence": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]},
        "percent_confidence": {"type": "integer", "minimum": 0, "maximum": 100},
        "tags": {"type": "array", "items": {"type": "string"}},
        "priority": {"enum": ["low", "normal", "high"]},
        "danger": {"enum": ["dangerous", "reversible", "safe"]},
        "version": {"const": 1},
        "detail": {"type": "object", "properties": {"reason": {"type": ["string", "null"]}}, "required": ["reason"]},
    }
    definitions = {"Decision": {"type": "string", "enum": ["respond", "ignore"]}}
    said = asked(schema, QUESTION, **{"$defs": definitions})
    assert said.pop("detail")["reason"]
    assert said == {
        "decision": "respond", "needs_reply": True, "is_automated": False, "confidence": 0.91,
        "percent_confidence": 91, "tags": [], "priority": "normal", "danger": "safe", "version": 1,
    }  # fmt: skip


@pytest.mark.parametrize(("wish", "said"), [("Shorter, please.", "I will come back to you."), ("In red.", "In red.")])
def test_a_draft_is_written_anew_as_its_owner_asks(wish: str, said: str) -> None:
    asks = f"The owner is not content with your draft and asks for this: {wish}\n\nWrite it anew. "
    letter = "From: Ada <ada@example.org>\nSubject: Lunch?\n\nCould you tell me whether noon suits you?"
    prompt = f"{asks}Answer the last message of this thread.\n\n{letter}"
    assert read_mail(prompt).wish == wish
    assert read_mail(f"Answer the last message of this thread.\n\n{letter}\n{asks}").wish == ""
    body = {"type": "object", "properties": {"body": {"type": "string"}}, "required": ["body"]}
    request = {"messages": [{"role": "user", "content": prompt}]}
    assert said in fill_tool({"name": "t", "input_schema": body}, request)["body"]


def test_only_known_or_required_properties_are_filled() -> None:
    schema = {"body": {"type": "string"}, "mystery": {"type": "string"}}
    assert set(asked(schema, QUESTION, required=[])) == {"body"}
