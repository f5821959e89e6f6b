"""A sealed token opens with any of the keys, in its own place, unchanged, and nowhere else."""

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from settings import Settings
from storage.orgs.secrets.sealing import SealBroken, SealedField, SealedToken, Sealer, UnknownSealKey

TOKENS = st.text(st.characters(codec="utf-8"), max_size=300)
KEYS = st.text(min_size=1, max_size=40)
PLACE = SealedField(UUID(int=1), "refresh_token")


@given(token=TOKENS, key=KEYS)
def test_what_was_sealed_opens(token: str, key: str) -> None:
    sealer = Sealer([key])
    sealed = sealer.seal(SecretStr(token), PLACE)
    assert sealer.open(sealed, PLACE).get_secret_value() == token


@given(token=st.text(min_size=4), key=KEYS)
def test_no_two_records_are_alike_and_none_shows_its_token(token: str, key: str) -> None:
    sealer = Sealer([key])
    first, second = sealer.seal(SecretStr(token), PLACE), sealer.seal(SecretStr(token), PLACE)
    assert first.data != second.data
    assert token.encode(errors="surrogatepass") not in first.data
    assert repr(first) == str(first) == f"SealedToken({len(first.data)} bytes)"


@given(token=TOKENS, place=st.integers(min_value=0), bit=st.integers(min_value=0, max_value=7))
def test_any_changed_bit_is_noticed(token: str, place: int, bit: int) -> None:
    sealer = Sealer(["key"])
    data = bytearray(sealer.seal(SecretStr(token), PLACE).data)
    data[place % len(data)] ^= 1 << bit
    with pytest.raises((SealBroken, UnknownSealKey)):
        sealer.open(SealedToken(bytes(data)), PLACE)


@given(data=st.binary(max_size=200))
def test_what_was_never_sealed_does_not_open(data: bytes) -> None:
    with pytest.raises((SealBroken, UnknownSealKey)):
        Sealer(["key"]).open(SealedToken(data), PLACE)


@pytest.mark.parametrize(
    "elsewhere", [SealedField(uuid4(), "refresh_token"), SealedField(PLACE.account_id, "access_token")]
)
def test_a_record_opens_in_its_own_place_only(elsewhere: SealedField) -> None:
    sealer = Sealer(["key"])
    with pytest.raises(SealBroken, match="changed or moved"):
        sealer.open(sealer.seal(SecretStr("token"), PLACE), elsewhere)


def test_the_wrong_key_is_told_without_the_content() -> None:
    sealed = Sealer(["old"]).seal(SecretStr("very-secret-token"), PLACE)
    with pytest.raises(UnknownSealKey) as caught:
        Sealer(["new"]).open(sealed, PLACE)
    assert "very-secret" not in str(caught.value)


def test_keys_are_rotated_by_putting_a_new_one_first() -> None:
    old, both, new = Sealer(["old"]), Sealer(["new", "old"]), Sealer(["new"])
    sealed = old.seal(SecretStr("token"), PLACE)
    assert both.open(sealed, PLACE).get_secret_value() == "token"
    resealed = both.reseal(sealed, PLACE)
    assert new.open(resealed, PLACE).get_secret_value() == "token"
    assert both.reseal(resealed, PLACE) is resealed


def test_the_keys_come_from_the_settings() -> None:
    sealer = Sealer.of(Settings(sealing_keys=SecretStr(" new , old ")))
    assert sealer.open(Sealer(["old"]).seal(SecretStr("token"), PLACE), PLACE).get_secret_value() == "token"
    assert sealer.key_id == Sealer(["new"]).key_id


@pytest.mark.parametrize("keys", [[], [""], ["key", ""]])
def test_an_empty_key_is_refused(keys: list[str]) -> None:
    with pytest.raises(ValueError, match="sealing key"):
        Sealer(keys)
