"""Gmail's methods make requests for one address, whatever the process's environment says."""

import pytest

from providers.google.gmail_methods import API_ROOT, gmail_methods


@pytest.mark.parametrize("words", ["never", "always"])
def test_an_environment_that_asks_for_mutual_tls_changes_no_address(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", words)
    made = gmail_methods.__wrapped__()
    assert made.drafts.create(userId="me", body={}).uri.startswith(f"{API_ROOT}gmail/v1/")
