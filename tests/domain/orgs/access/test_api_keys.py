"""A key is found by its prefix, known by its digest, and hidden wherever it might be shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from beat_schedule import EVERY
from domain.jobs.failures import Forbidden
from domain.jobs.job import SYSTEM_ORG
from domain.orgs.access.api_keys import (
    NOISE,
    Role,
    check_job_type,
    check_org,
    digest_of,
    is_housekeeping,
    make_key,
    matches,
    prefix_of,
)
from domain.orgs.privacy.redaction import HIDDEN, redact_text
from domain.payloads import payload_types

noise = st.binary(min_size=NOISE, max_size=NOISE)


@given(noise, noise)
def test_a_key_matches_itself_and_no_other(one: bytes, other: bytes) -> None:
    key = make_key(one)
    assert prefix_of(key.text) == key.prefix
    assert matches(key.text, key.digest)
    assert matches(make_key(other).text, key.digest) == (one == other)
    assert key.text.encode() not in key.digest
    assert key.digest == digest_of(key.text)


@given(noise)
def test_a_key_is_never_shown_in_a_log(one: bytes) -> None:
    key = make_key(one).text
    assert redact_text(f"the key {key} was given") == f"the key {HIDDEN} was given"


@given(st.text())
def test_what_is_no_key_has_no_prefix(text: str) -> None:
    assert prefix_of(text) is None
    assert prefix_of(make_key(bytes(NOISE)).text + text) == (None if text else "0" * 12)


def test_a_key_takes_as_much_noise_as_it_says() -> None:
    with pytest.raises(ValueError, match="38 random bytes"):
        make_key(b"few")


@pytest.mark.parametrize("role", list(Role))
def test_each_role_includes_those_before_it(role: Role) -> None:
    order = [Role.READER, Role.WRITER, Role.OPERATOR]
    assert [needed for needed in order if role.includes(needed)] == order[: order.index(role) + 1]


def test_the_system_org_gets_no_key() -> None:
    with pytest.raises(Forbidden, match="system org"):
        check_org(SYSTEM_ORG)


def test_housekeeping_is_the_fleets_own() -> None:
    housekeeping = {kind.declaration.job_type for kind in payload_types if is_housekeeping(kind.declaration.job_type)}
    assert housekeeping >= {*EVERY, "deadletter.quarantine", "budgets.alert"}
    declared = {kind.declaration.job_type: kind.declaration for kind in payload_types}
    check_job_type(declared["gmail.sync"])
    for refused in ("maintenance.full_sync", "notifications.deliver", "notifications.send_sms"):
        with pytest.raises(Forbidden, match=f"job_type: {refused}"):
            check_job_type(declared[refused])
