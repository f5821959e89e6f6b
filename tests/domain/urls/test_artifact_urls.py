"""The URL of the store of artifacts: what it may say, and that no part of a key is in what is said of a wrong one."""

import pytest
from pydantic import SecretStr

from domain.urls.artifact_urls import ArtifactsPlace, read_artifacts_url


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
