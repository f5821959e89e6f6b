"""What a log says of a person's address: its domain and a hash, wherever the address stands."""

import json
import logging

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from domain.orgs.privacy.personal_data import address_mark, marked, without_addresses
from observability.logs import hide_secrets

MARK = address_mark("ada@example.org")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ada@example.org", MARK),
        ("to Ada Lovelace <Ada@Example.ORG>, twice", f"to Ada Lovelace <{MARK}>, twice"),
        ("'to': ['ada@example.org']", f"'to': ['{MARK}']"),
        ("mailto:ada@example.org?subject=x", f"mailto:{MARK}?subject=x"),
        ("redis://user@redis.example.org:6379/0", "redis://user@redis.example.org:6379/0"),
        ("celery@worker-1.example.org ready.", "celery@worker-1.example.org ready."),
        ("a@b and @example.org and ada@", "a@b and @example.org and ada@"),
    ],
)
def test_an_address_in_a_text_is_marked(text: str, shown: str) -> None:
    assert without_addresses(text) == shown


def test_one_address_has_one_mark_however_it_is_written() -> None:
    assert {address_mark(one) for one in ("ada@example.org", "Ada@EXAMPLE.org", '"ada"@example.org')} == {MARK}
    assert MARK.startswith("example.org#")
    assert address_mark("bob@example.org") != MARK


@given(st.emails())
@example("//@example.org")
def test_no_log_record_holds_an_address(address: str) -> None:
    event = {"event": f"sent to {address}", "facts": {"to": [address, (address,)]}, "n": 1}
    shown = json.dumps(hide_secrets(logging.getLogger(), "info", dict(event)))
    assert json.dumps(address)[1:-1] not in shown
    assert marked(event) == marked(marked(event))
