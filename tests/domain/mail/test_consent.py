"""What a consent must cover, and whose it must be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.failures import Conflict
from domain.mail.consent import (
    FULL,
    MODIFY,
    WORDS,
    ConsentAnswer,
    ConsentRefusal,
    Expected,
    MailboxOwners,
    RefusedConsent,
    check_set_up,
    mail_scopes,
    missing_scopes,
    refusal_by_google,
    refusal_for,
    refusal_of,
)

SCOPES = st.sampled_from([MODIFY, FULL, "openid", "https://www.googleapis.com/auth/userinfo.email"])
ADDRESSES = st.sampled_from(["anna@example.com", "Anna@Example.com", "ben@example.com"])
SUBJECTS = st.sampled_from(["1", "2"])


@given(st.booleans(), st.sets(SCOPES))
def test_a_scope_is_missing_unless_it_or_the_full_one_was_granted(deletes: bool, granted: set[str]) -> None:
    wanted = mail_scopes(deletes=deletes)
    missing = missing_scopes(wanted, granted)
    assert set(missing) <= set(wanted)
    assert (not missing) == (FULL in granted or set(wanted) <= granted)


@given(ADDRESSES, ADDRESSES, st.frozensets(SCOPES))
def test_a_consent_is_taken_exactly_when_mailbox_and_scopes_fit(
    email: str, granted_email: str, scopes: frozenset[str]
) -> None:
    expected, granted = Expected(email, (MODIFY,)), ConsentAnswer(granted_email, scopes)
    fits = email.lower() == granted_email.lower() and not scopes.isdisjoint({MODIFY, FULL})
    assert (refusal_of(expected, granted) is None) == fits


@given(st.none() | SUBJECTS, st.booleans(), st.none() | SUBJECTS, st.booleans())
def test_a_mailbox_stays_with_its_google_user_and_its_org(
    known: str | None, known_before: bool, subject: str | None, elsewhere: bool
) -> None:
    was_known = known is not None or known_before
    refused = refusal_for(MailboxOwners(known, was_known, elsewhere), "anna@example.com", subject)
    if subject is None and was_known:
        assert refused is not None
        assert refused.why is ConsentRefusal.UNKNOWN_USER
    elif known not in {None, subject}:
        assert refused is not None
        assert refused.why is ConsentRefusal.OTHER_USER
    else:
        assert (refused is not None) == elsewhere


@given(st.text())
def test_what_anybody_may_write_into_an_address_is_not_repeated(error: str) -> None:
    refused = refusal_by_google(error)
    assert refused.detail in {"", "an unknown error"} or error.replace("_", "").isalpha()
    assert len(refused.words()) < 300


def test_each_refusal_has_words() -> None:
    assert set(WORDS) == set(ConsentRefusal)
    assert all(RefusedConsent(why, "the detail").words() for why in ConsentRefusal)


def test_missing_settings_are_named() -> None:
    check_set_up("https://mail.example.org", "client", "its secret")
    with pytest.raises(Conflict, match="POSTROOM_PUBLIC_URL and POSTROOM_GOOGLE_CLIENT_ID"):
        check_set_up("", "", "")
    with pytest.raises(Conflict, match=r"POSTROOM_GOOGLE_CLIENT_SECRET$"):
        check_set_up("https://mail.example.org", "client", "")
