"""The URL of the store of artifacts: what it may say, and that no part of a key is in what is said of a wrong one."""

import pytest
from pydantic import SecretStr

from domain.planning.files.artifact_urls import ArtifactsPlace, read_artifacts_url
from providers.artifacts.obstore_store import open_store


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("file:///var/lib/a%20b", ArtifactsPlace(folder="/var/lib/a b")),
        ("s3://bucket", ArtifactsPlace(bucket="bucket")),
        ("s3://bucket/a/b/?region=eu-central-1", ArtifactsPlace(bucket="bucket", prefix="a/b", region="eu-central-1")),
        (
            "s3://id:se%2Fcret@bucket?endpoint=http://127.0.0.1:9000",
            ArtifactsPlace(bucket="bucket", endpoint="http://127.0.0.1:9000", access_key="id", secret_key="se/cret"),
        ),
    ],
)
def test_a_folder_and_a_bucket_are_named(url: str, place: ArtifactsPlace) -> None:
    assert read_artifacts_url(SecretStr(url)) == place


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "a folder's whole path"),
        ("file://host/folder", "a folder's whole path"),
        ("file:///", "a folder's whole path"),
        ("folder", "a folder's whole path"),
        ("gs://bucket", "a folder's whole path"),
        ("s3://[bucket", "a folder's whole path"),
        ("s3:///prefix", "a folder's whole path"),
        ("s3://id:hush@bucket#x", "a folder's whole path"),
        ("s3://id:hush@bucket?key=hush", "option"),
        ("s3://id:hush@bucket?endpoint=ftp://hush", "endpoint"),
        ("s3://hush@bucket", "as a whole"),
    ],
)
def test_another_url_is_refused_without_its_key(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as caught:
        read_artifacts_url(SecretStr(url))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://[::1",
        "http://[fe80::1%25eth0]",
        "http://",
        "http:///path",
        "http://a b",
        "http://a%0Ab",
        "http://%zz",
        "http://m\u00fcnchen.example.org",
        "http://xn--a.example.org",
        "http://a..b",
        "http://a:b",
        "http://a:0",
        "http://a:99999",
        "http://1.2.3.4.5",
        "http://256.1.1.1",
        "http://a/\u00fc",
        "http://u:hush@127.0.0.1",
        "http://hush@127.0.0.1",
        "http://a?hush",
        "http://a%23hush",
    ],
)
def test_an_endpoint_is_an_address_and_carries_no_secret(endpoint: str) -> None:
    with pytest.raises(ValueError, match="endpoint") as caught:
        read_artifacts_url(SecretStr(f"s3://id:secret@bucket?endpoint={endpoint}"))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://127.0.0.1:9000",
        "https://MinIO.example.org/",
        "http://[::1]:9000",
        "http://minio_1:9000/s3",
        "https://xn--mnchen-3ya.example.org",
    ],
)
def test_a_bucket_opens_at_its_endpoint(endpoint: str) -> None:
    url = SecretStr(f"s3://id:secret@bucket?endpoint={endpoint}")
    assert read_artifacts_url(url).endpoint == endpoint
    assert open_store(url, 1.0)
