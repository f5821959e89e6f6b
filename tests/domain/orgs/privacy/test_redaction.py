"""Nothing that is logged or kept shows a secret (promise P9)."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.orgs.privacy.redaction import HIDDEN, redact, redact_text

secret_letters = string.ascii_letters + string.digits


@given(st.text(secret_letters, min_size=20, max_size=60))
def test_a_secret_under_a_telling_name_never_shows(secret: str) -> None:
    for name in ("password", "access_token", "Refresh-Token", "api_key", "client_secret", "Authorization", "token"):
        assert secret not in str(redact({"deep": [{name: secret}]}))


@given(st.text(secret_letters, min_size=20, max_size=60))
def test_a_secret_is_known_by_its_look(secret: str) -> None:
    for shape in ("Bearer {}", "ya29.{}", "1//{}", "sk-{}", "postgresql://user:{}@host/db", "redis://:{}@host/0"):
        assert secret not in redact_text("before " + shape.format(secret) + " after")


@pytest.mark.parametrize("text", ["a plain sentence.", "https://example.com/path?x=1", "input_tokens: 12", "sk-1"])
def test_what_is_no_secret_is_kept(text: str) -> None:
    assert redact_text(text) == text


def test_names_that_only_sound_alike_are_kept() -> None:
    kept = {"input_tokens": 3, "tokenizer": "x", "secretary": "y"}
    assert redact(kept) == kept


def test_endless_nesting_does_not_exhaust_the_stack() -> None:
    deep: object = "x"
    for _ in range(10_000):
        deep = [deep]
    assert HIDDEN in str(redact(deep))
