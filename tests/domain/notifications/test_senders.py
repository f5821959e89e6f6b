"""Who can send for an org, and when a mail that was begun may go by another sender."""

import itertools

import pytest

from domain.jobs.failures import Invalid
from domain.notifications.sender import EmailProvider, SenderIdentity, checked_sender, may_go_by

RESEND = checked_sender(EmailProvider.RESEND, "Post <post@example.com>", None)
GRAPH = checked_sender(EmailProvider.GRAPH, "post@example.com", "post@example.com")
OTHER_BOX = checked_sender(EmailProvider.GRAPH, "post@example.com", "desk@example.com")


@pytest.mark.parametrize(
    ("provider", "from_address", "mailbox", "field"),
    [
        (EmailProvider.RESEND, "post@example.com\nBcc: a@example.com", None, "from_address"),
        (EmailProvider.RESEND, "", None, "from_address"),
        (EmailProvider.RESEND, "a@example.com, b@example.com", None, "from_address"),
        (EmailProvider.RESEND, "post@example.com", "post@example.com", "mailbox"),
        (EmailProvider.GRAPH, "post@example.com", None, "mailbox"),
        (EmailProvider.GRAPH, "post@example.com", "../users", "mailbox"),
    ],
)
def test_a_sender_that_cannot_send_is_refused_by_field(
    provider: EmailProvider, from_address: str, mailbox: str | None, field: str
) -> None:
    with pytest.raises(Invalid) as refused:
        checked_sender(provider, from_address, mailbox)
    assert refused.value.field == field


def test_only_a_mail_that_certainly_has_not_left_goes_by_another_sender() -> None:
    senders: list[SenderIdentity] = [RESEND, GRAPH, OTHER_BOX]
    for bound, sender in itertools.product([None, *senders], senders):
        assert may_go_by(bound, sender, has_begun=False)
        assert may_go_by(bound, sender, has_begun=True) == (bound in {None, sender})


def test_a_sender_s_domain_is_all_that_the_audit_log_needs() -> None:
    assert (RESEND.from_domain, RESEND.address.name) == ("example.com", "Post")
