"""A broker's URL that kombu or redis-py could not use is refused before anything is done, in words without a secret."""

import re

import pytest
from pydantic import SecretStr, ValidationError

from domain.text.broker_urls import checked_broker_url
from engine.process.publisher import connect_to
from settings import Settings, refused_settings

TAKEN = (
    "redis://127.0.0.1:6379/0",
    "redis://broker",
    "redis://:pa%2Fss%3Fw%23rd@broker:6379/12",
    "redis://[::1]:6379/0",
    "rediss://user:a@b@broker/0?ssl_ca_certs=/etc/ssl/broker.pem&ssl_check_hostname=false",
    "rediss://broker/0?ssl_cert_reqs=none",
    "amqp://user:word@broker:5672//",
    "amqp://user@broker/vhost",
    "pyamqp://broker//",
    "amqps://broker//?ssl_cert_reqs=optional&ssl_certfile=/a.pem&ssl_keyfile=/a.key&login_method=EXTERNAL",
)


@pytest.mark.parametrize("url", TAKEN)
def test_what_workers_and_publishers_can_use_is_taken_as_it_stands(url: str) -> None:
    assert Settings.model_validate({"broker_url": url}).broker_url.get_secret_value() == url
    connect_to(url).release()


REFUSED = (
    ("rediss://:hunter2@broker/0?ssl_cert_reqs=bogus", "ssl_cert_reqs must be one of required, optional, none"),
    ("amqps://u:hunter2@broker//?ssl_cert_reqs=bogus", "ssl_cert_reqs must be one of"),
    ("rediss://:hunter2@broker/0?ssl_cert_reqs=CERT_NONE", "ssl_cert_reqs must be one of"),
    ("rediss://:hunter2@broker/0?ssl_cert_reqs=", "ssl_cert_reqs is empty"),
    ("rediss://:hunter2@broker/0?ssl_check_hostname=0", "ssl_check_hostname must be one of true, false"),
    ("rediss://:hunter2@broker/0?ssl_ca_certs=", "ssl_ca_certs is empty"),
    ("rediss://:hunter2@broker/0?ssl_ca_cert=/a.pem", "an option that is not known here; .*ssl_ca_certs"),
    ("rediss://:hunter2@broker/0?ssl_keyfile=/a.key", "ssl_keyfile needs ssl_certfile"),
    ("rediss://:hunter2@broker/0?login_method=EXTERNAL", "an option that is not known here"),
    ("redis://:hunter2@broker/0?ssl_ca_certs=/a.pem", "ssl_ca_certs is for rediss:// and amqps://"),
    ("amqp://u:hunter2@broker//?ssl_cert_reqs=none", "ssl_cert_reqs is for rediss:// and amqps://"),
    ("redis://:hunter2@broker/0?virtual_host=2", "what may stand there: nothing"),
    ("amqp://u:hunter2@broker//?heartbeat=30", "what may stand there: login_method"),
    ("amqp://u:hunter2@broker//?login_method=bogus", "login_method must be one of PLAIN"),
    ("redis://broker:hunter2/0", "host or port cannot be read"),
    ("redis://:hunter2@broker:99999/0", "host or port cannot be read"),
    ("redis://:hunter2@[::1/0", "host or port cannot be read"),
    ("redis://:hun/ter2@broker:6379/0", "host or port cannot be read; .* / is written %2F"),
    ("redis://:12/hunter2@broker:6379/0", "/ is written %2F"),
    ("amqp://u:12?hunter2@broker//", "/ is written %2F there, \\? %3F"),
    ("amqp://u:12#hunter2@broker//", "# %23"),
    ("redis://:hunter2@:6379/0", "names no host"),
    ("redis://:hunter2@broker/first", "the number of a database"),
    ("http://:hunter2@broker/0", "must begin with one of redis://"),
    ("memory://", "must begin with one of redis://"),
    ("broker:6379", "must begin with one of redis://"),
    ("redis:/hunter2", "must begin with one of redis://"),
    ("", "must begin with one of redis://"),
)


@pytest.mark.parametrize(("url", "words"), REFUSED)
def test_what_they_could_not_use_is_refused_by_name_and_without_the_password(url: str, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"broker_url": url})
    said = refused_settings(caught.value)
    assert re.fullmatch(rf"settings: POSTROOM_BROKER_URL: .*{words}.*", said)
    assert "hunter2" not in f"{said}{caught.value}"


def test_a_scheme_may_be_written_in_capitals() -> None:
    assert checked_broker_url(SecretStr("Rediss://broker/0?ssl_cert_reqs=none"))


@pytest.mark.parametrize(
    "url", ["redis://two/0", "unix:///run/valkey.sock?db=1", "rediss://:a@two/0?ssl_cert_reqs=none"]
)
def test_a_redis_that_counts_is_taken(url: str) -> None:
    assert Settings.model_validate({"limits_url": url}).counting_url == url


@pytest.mark.parametrize(
    "url", ["redis://two:hunter2/0", "redis://:hunter2@two/0?x=1", "amqp://u:hunter2@two//", "http://hunter2", ""]
)
def test_a_redis_that_could_not_count_is_refused_before_a_request_or_a_job_fails_for_it(url: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"limits_url": url})
    assert refused_settings(caught.value).startswith("settings: POSTROOM_LIMITS_URL: ")
    assert "hunter2" not in str(caught.value)
