"""What a secret looks like: every listed kind is known, and ordinary mail and our own fields are not."""

import json
import re
import string
from collections.abc import Callable
from random import Random

import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.orgs.privacy.redaction import HIDDEN, redact, redact_document, redact_text
from domain.orgs.privacy.secrets import KEYS, LOOKS, looks_secret, names_secret, secret_in
from domain.payloads.payload import payload_types
from settings import Settings
from tests.doubles.secrets import AWS, NAMED_WAYS, NAMES, PLAIN, SHAPES, VENDORS, WAYS, ordinary_mail, random_letters


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
def test_what_looks_like_a_secret_is_not_plain(text: str) -> None:
    assert looks_secret(text)
    assert re.search(f"[^{PLAIN}]", text)


def nothing_is_left(text: str, letters: str) -> None:
    assert letters not in redact_text(text), text
    assert letters not in str(redact_document({"deep": [{"note": text}]}))
    assert letters not in str(redact({"deep": [{"note": text}]}))
    assert secret_in({"deep": [{"note": text}]}) == "note"


@pytest.mark.parametrize("vendor", VENDORS)
@given(letters=random_letters, way=st.sampled_from(WAYS))
@settings(max_examples=30)
def test_nothing_is_left_of_a_vendors_secret_however_it_is_written(vendor: str, letters: str, way: str) -> None:
    nothing_is_left(way.format(VENDORS[vendor].format(letters)), letters)


@given(st.sampled_from(KEYS).flatmap(lambda key: st.from_regex(f"^(?:{key})$", fullmatch=True)), st.sampled_from(WAYS))
def test_a_key_is_taken_out_as_a_whole(key: str, way: str) -> None:
    assert key.strip() not in redact_text(way.format(key.strip()))


spellings = st.sampled_from(
    [str, str.upper, str.title, lambda name: name.replace("_", "-"), lambda name: name.replace("_", ".")]
)


@given(
    st.sampled_from(NAMES),
    spellings,
    st.sampled_from(["", "TWILIO_", "aws-"]),
    st.sampled_from(NAMED_WAYS),
    st.randoms(),
)
def test_nothing_is_left_of_a_secret_that_has_only_a_name(
    name: str, spelt: Callable[[str], str], prefix: str, way: str, random: Random
) -> None:
    value = f"{random.getrandbits(128):032x}"
    text = way.format(name=spelt(prefix + name), value=value)
    if f"&{spelt(prefix + name)}=" in text and not prefix and name in {"token", "pwd"}:
        assert redact_text(text) == text, "the links of ordinary mail"
    else:
        nothing_is_left(text, value)


@pytest.mark.parametrize(
    "field", [name for name, kind in Settings.model_fields.items() if "SecretStr" in str(kind.annotation)]
)
def test_no_secret_of_the_settings_is_left(field: str) -> None:
    value = "postgresql://ada:swordfish@db.example.org/x" if field.endswith(("_url", "_urls")) else "swordfish"
    assert "swordfish" not in redact_text(f"POSTROOM_{field.upper()}={value}")
    assert "swordfish" not in redact_text(f'{{"{field}": "{value}"}}')


def pem(kind: str, body: str) -> str:
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----"


@pytest.mark.parametrize(
    "key",
    [
        pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A-1B\n\nSWORDFISH"),
        pem("PGP PRIVATE KEY BLOCK", "Version: x-1\n\nSWORDFISH\n=ab-d"),
        pem("ENCRYPTED PRIVATE KEY", "-----END CERTIFICATE-----\nSWORDFISH"),
        pem("SSH2 ENCRYPTED PRIVATE KEY", "Comment: a-b\nSWORDFISH").replace("-----", "----").replace("-B", "- B"),
        pem("EC PRIVATE KEY", "SWORDFISH").replace(" ", "+").replace("\n", "%0A"),
    ],
)
@pytest.mark.parametrize("write", [str, repr, json.dumps, lambda key: json.dumps({"pem": [key]})])
def test_a_private_key_is_taken_out_to_its_last_line(key: str, write: Callable[[str], str]) -> None:
    left = redact_text(f"before {write(key)} after")
    assert "SWORDFISH" not in left
    assert "END" not in left
    assert (left[:7], left[-6:]) == ("before ", " after")
    cut = f"before {write(key)}"
    nothing_is_left(cut[: cut.index("SWORDFISH") + 9], "SWORDFISH")


def test_a_quoted_value_is_taken_out_to_its_last_quotation_mark() -> None:
    assert redact_text('password="correct \\"horse\\" staple", n=1') == f'password="{HIDDEN}", n=1'
    assert redact_text("Cookie: sid=abcd; other=efgh\nHost: x") == f"Cookie: {HIDDEN}\nHost: x"
