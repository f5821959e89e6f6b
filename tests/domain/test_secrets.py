"""What a secret looks like: every listed kind is known, and ordinary mail and our own fields are not."""

import re
import string

import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from domain.payloads.payload import payload_types
from domain.redaction import HIDDEN, redact, redact_document, redact_text
from domain.secrets import LOOKS, MARKS, PLAIN, looks_secret, names_secret, secret_in
from tests.doubles.secrets import AWS, NAMES, SHAPES, ordinary_mail, random_letters


@given(st.sampled_from(SHAPES), random_letters)
def test_a_listed_secret_is_known_by_its_look_and_taken_out(shape: str, letters: str) -> None:
    text = "before " + shape.format(letters) + " after"
    assert looks_secret(text)
    assert letters not in redact_text(text)
    assert secret_in({"deep": [{"note": text}]}) == "note"
    assert letters not in str(redact_document({"deep": [{"note": text}]}))
    assert not looks_secret(redact_text(text))


@given(st.sampled_from(NAMES), st.text(string.ascii_letters, min_size=4))
def test_a_telling_name_is_known_however_it_is_spelt(name: str, value: str) -> None:
    for spelt in (name, name.upper(), name.replace("_", "-"), name.replace("_", ""), f"user_{name}", f"x-{name}"):
        assert names_secret(spelt), spelt
        assert secret_in({"a": [{spelt: 1}]}) == spelt
        assert redact({spelt: value}) == {spelt: HIDDEN}
    camel = re.sub("_(.)", lambda found: found[1].upper(), f"user_{name}")
    assert names_secret(camel)


@pytest.mark.parametrize(
    "name",
    [
        "page_token", "nextPageToken", "next_token", "sync_token", "draft_token", "input_tokens", "max_tokens",
        "tokenizer", "secretary", "history_id", "token_type", "token_version", "token_uri", "key", "keyboard",
        "idempotency_key", "author", "passenger", "password_reset_at", "secret_name", "cookie_banner",
    ],
)  # fmt: skip
def test_a_name_that_only_sounds_alike_is_none(name: str) -> None:
    assert not names_secret(name)


def test_no_field_of_our_own_payloads_is_refused() -> None:
    fields = {name for kind in payload_types for name in kind.model_fields}
    assert {"account_id", "message_id", "history_id"} <= fields
    assert [name for name in fields if names_secret(name)] == []


@pytest.mark.parametrize("mail", ordinary_mail())
def test_ordinary_mail_passes(mail: str) -> None:
    assert not looks_secret(mail)


secrets = st.builds(str.format, st.sampled_from(SHAPES), random_letters) | st.just(AWS)
neighbours = st.lists(secrets, min_size=2, max_size=20)


@given(neighbours, st.sampled_from(["", "-", "x", " ", "="]))
def test_nothing_is_left_of_secrets_that_stand_side_by_side(secrets: list[str], between: str) -> None:
    left = redact_text(between.join(secrets))
    assert not looks_secret(left)
    assert redact_text(left) == left


def test_a_text_of_more_neighbours_than_there_are_passes_is_hidden() -> None:
    assert redact_text("x " + AWS * 100) == HIDDEN


@given(st.lists(st.sampled_from("".join(SHAPES) + "é\ud800"), max_size=60).map("".join))
def test_what_is_redacted_looks_like_no_secret(text: str) -> None:
    assert not looks_secret(redact_text(text))


@pytest.mark.parametrize("look", LOOKS)
def test_a_pattern_has_one_group_and_nothing_that_a_linear_engine_refuses(look: str) -> None:
    assert re2.compile(look).groups == 1


@given(st.from_regex("|".join(LOOKS)))
def test_what_looks_like_a_secret_has_a_mark_and_is_not_plain(text: str) -> None:
    assert looks_secret(text)
    assert any(mark in text for mark in MARKS)
    assert re.search(f"[^{PLAIN}]", text)
