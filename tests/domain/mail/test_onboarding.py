"""What is done for a new mailbox, and its summary."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from domain.jobs.job import JsonObject
from domain.mail.onboarding import LONGEST_PREVIEW, OLDER_MAIL, OnboardingPart, older_mail_since, preview

NOW = datetime(2026, 11, 25, 13, 30, tzinfo=UTC)


@given(st.text(max_size=320), st.dictionaries(st.sampled_from(OnboardingPart), st.text(max_size=300)))
def test_a_summary_has_at_most_500_characters(email: str, failed: dict[OnboardingPart, str]) -> None:
    assert len(preview(email, {OnboardingPart.LABELS: {"labels": 12}}, failed, NOW)) <= LONGEST_PREVIEW


def test_a_summary_names_what_was_done_and_what_was_not() -> None:
    done: dict[OnboardingPart, JsonObject] = {
        OnboardingPart.LABELS: {"labels": 12},
        OnboardingPart.WATCH: {"expires_at": "2026-12-02T10:00:00+00:00"},
    }
    assert preview("a@example.com", done, {}, NOW) == (
        "a@example.com is being set up. Labels: 12 are known. Gmail reports new mail until 2026-12-02. Mail since"
        " 2026-11-25 is being read, and the owner's way of writing learned from sent mail."
    )
    assert "watch (gmail.domainPolicy)" in preview("a@b", {}, {OnboardingPart.WATCH: "gmail.domainPolicy"}, NOW)


@given(st.timedeltas(timedelta(0), timedelta(hours=10)))
def test_the_window_is_the_same_all_day(later: timedelta) -> None:
    since = older_mail_since(NOW + later)
    assert since == older_mail_since(NOW)
    assert OLDER_MAIL <= NOW - since <= OLDER_MAIL + timedelta(days=1)
