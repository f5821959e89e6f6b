"""The S3 emulator refuses what S3 refuses: other keys, other bytes than were signed, another time."""

from collections.abc import Iterator
from datetime import timedelta

import obstore
import pytest
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError
from obstore.store import S3Store

from sandbox.s3.s3 import S3Control, s3_emulator
from sandbox.s3.service import ACCESS_KEY, BUCKET, SECRET_KEY


@pytest.fixture
def s3() -> Iterator[S3Control]:
    with s3_emulator() as emulator:
        yield S3Control(emulator.url)


def client(s3: S3Control, *, key: str = ACCESS_KEY, secret: str = SECRET_KEY) -> S3Store:
    return S3Store(
        BUCKET,
        config={"endpoint": s3.url, "access_key_id": key, "secret_access_key": secret, "region": "eu-west-1"},
        client_options={"allow_http": True, "timeout": timedelta(seconds=5)},
        retry_config={"max_retries": 0},
    )


def test_objects_are_put_once_read_listed_and_deleted(s3: S3Control) -> None:
    store = client(s3)
    obstore.put(store, "a/ä +&<", b"12345", mode="create")
    with pytest.raises(AlreadyExistsError):
        obstore.put(store, "a/ä +&<", b"other", mode="create")
    assert obstore.head(store, "a/ä +&<")["size"] == 5
    assert bytes(obstore.get(store, "a/ä +&<", options={"range": (1, 3)}).bytes()) == b"23"
    assert [one["path"] for page in obstore.list(store) for one in page] == ["a/ä +&<"]
    obstore.delete(store, "a/ä +&<")
    assert s3.objects() == {}
    assert {call.account for call in s3.journal()} == {ACCESS_KEY}


def test_a_long_list_comes_in_pages(s3: S3Control) -> None:
    for number in range(1001):
        s3.put_object(f"a/{number:04}", "x")
    assert sum(len(page) for page in obstore.list(client(s3), chunk_size=1000)) == 1001
    assert len(s3.journal("objects.list")) == 2


@pytest.mark.parametrize(
    ("key", "secret", "reason"),
    [(ACCESS_KEY, "another", "SignatureDoesNotMatch"), ("another", SECRET_KEY, "InvalidAccessKeyId")],
)
def test_a_foreign_signature_is_refused(s3: S3Control, key: str, secret: str, reason: str) -> None:
    with pytest.raises(PermissionDeniedError):
        obstore.put(client(s3, key=key, secret=secret), "a/b", b"1")
    assert [call.summary["refused"] for call in s3.journal()] == [reason]
    assert s3.objects() == {}


def test_an_old_signature_is_refused(s3: S3Control) -> None:
    s3.advance_clock(16 * 60)
    with pytest.raises(BaseError):
        obstore.put(client(s3), "a/b", b"1")
    assert [call.summary["refused"] for call in s3.journal()] == ["RequestTimeTooSkewed"]
