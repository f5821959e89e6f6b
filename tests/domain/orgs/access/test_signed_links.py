"""A link is good for what it was signed for, and for nothing else."""

import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.approvals.links import DecisionLink
from domain.notifications.unsubscribing import UnsubscribeLink
from domain.orgs.access.signed_links import SignedLink
from domain.planning.files.links import ArtifactLink

ONE, TWO = UUID(int=1), UUID(int=2)
UNTIL = datetime(2026, 11, 27, 12, tzinfo=UTC)
ARTIFACT, DECISION = ArtifactLink(ONE, TWO, UNTIL, 3), DecisionLink(ONE, TWO)
UNSUBSCRIBE = UnsubscribeLink(ONE, "bookings")
ALL = (
    ARTIFACT,
    replace(ARTIFACT, artifact_id=TWO),
    replace(ARTIFACT, org_id=ONE),
    replace(ARTIFACT, until=UNTIL + timedelta(seconds=1)),
    replace(ARTIFACT, number=4),
    DECISION,
    replace(DECISION, approval_id=TWO),
    replace(DECISION, user_id=ONE),
    UNSUBSCRIBE,
    replace(UNSUBSCRIBE, user_id=TWO),
    replace(UNSUBSCRIBE, category="booking"),
    replace(UNSUBSCRIBE, category="bookings&sig="),
)
each = pytest.mark.parametrize("link", [ARTIFACT, DECISION, UNSUBSCRIBE], ids=lambda one: type(one).__name__)


def sign(message: bytes) -> bytes:
    return hmac.digest(b"key", message, hashlib.sha256)[:16]


def is_signed(message: bytes, signature: bytes) -> bool:
    return hmac.compare_digest(sign(message), signature)


def signature_of(link: SignedLink) -> str:
    return parse_qs(urlsplit(link.address("https://mail.example.org", sign)).query)["sig"][0]


@pytest.mark.parametrize("link", ALL)
def test_a_signature_is_good_for_one_link_of_one_kind(link: SignedLink) -> None:
    assert [one for one in ALL if one.is_signed_by(signature_of(link), is_signed)] == [link]


@each
def test_what_proves_a_link_is_in_no_log_of_requests_and_no_part_of_it_proves_it(link: SignedLink) -> None:
    """The path alone is logged."""
    proof = signature_of(link)
    assert proof not in urlsplit(link.address("https://mail.example.org", sign)).path
    for odd in (*(proof[:cut] for cut in range(len(proof))), f"{proof}00", f"{proof}\n", proof.upper()):
        assert not link.is_signed_by(odd, is_signed) or odd == proof


@each
@given(text=st.text(max_size=100))
def test_no_text_is_a_signature_by_chance(link: SignedLink, text: str) -> None:
    assert not link.is_signed_by(text, is_signed)
