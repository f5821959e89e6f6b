"""A mail for any vendor is refused by field when it is none, so that no vendor makes another mail of it."""

import pytest

from domain.jobs.failures import Invalid
from domain.payloads.mail_address import Address
from providers.ports.email import DraftRef
from tests.providers.emails import ADA, make_email, make_file


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"to": ()}, "to"),
        ({"to": (), "bcc": (ADA,)}, "to"),
        ({"to": (Address("Ada\r\nBcc: eve@example.net", "ada@example.org"),)}, "to"),
        ({"cc": (Address("", "ada@example.org\n"),)}, "cc"),
        ({"sender": Address("Desk\x00", "desk@example.com")}, "sender"),
        ({"subject": "Hello\nBcc: eve@example.net"}, "subject"),
        ({"subject": "Hello\u2028there"}, "subject"),
        ({"headers": {"X-A": "b\r\nX-C: d"}}, "headers"),
        ({"headers": {"X-A\n": "b"}}, "headers"),
        ({"headers": {"X A": "b"}}, "headers"),
        ({"headers": {"X-A": "ä"}}, "headers"),
        ({"headers": {"X-A": "b" * 901}}, "headers"),
        ({"attachments": (make_file("a\nb"),)}, "attachments"),
        ({"text": None}, "text"),
        ({"reference": ""}, "reference"),
        ({"reference": "with space"}, "reference"),
        ({"reference": "x" * 201}, "reference"),
    ],
)
def test_what_is_no_mail_is_refused_by_field(given: dict[str, object], field: str) -> None:
    with pytest.raises(Invalid) as refused:
        make_email(**given)
    assert refused.value.field == field


def test_a_mail_that_is_logged_shows_its_reference_alone() -> None:
    shown = repr(make_email(headers={"X-A": "b"}, attachments=(make_file(),), html="<p>Hello"))
    assert shown == "OutgoingEmail(reference='email-1')"


def test_a_draft_survives_the_ledger() -> None:
    draft = DraftRef("AAMk=", "<a@example.com>", "email-1")
    assert DraftRef.from_json(draft.as_json()) == draft
