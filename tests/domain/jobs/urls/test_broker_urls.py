"""A broker's URL that kombu or redis-py could not use is refused before anything is done, in words without a secret."""

import re
import subprocess
import sys

import pytest
from pydantic import SecretStr, ValidationError
from redis import Redis

from domain.jobs.urls.broker_urls import checked_broker_url, is_rabbitmq, is_redis
from domain.jobs.urls.refused_settings import refused_settings
from engine.broker.publisher import connect_to
from settings import Settings
from tests.house.reading import ROOT

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
    ("redis://:hunter2@broker..svc:6379/0", "a host or port that there cannot be"),
    ("redis://:hunter2@bro,ker:6379/0", "a host or port that there cannot be"),
    ("redis://:hunter2@broker:0/0", "a host or port that there cannot be"),
    ("redis://:hunter2 @broker:6379/0", "a blank or a line end; a blank in a password is written %20"),
    ("redis://:hunter2@broker:6379/0\n", "a blank or a line end"),
    ("redis://broker:hunter2/0", "host or port cannot be read"),
    ("redis://:hunter2@broker:99999/0", "host or port cannot be read"),
    ("redis://:hunter2@[::1/0", "host or port cannot be read"),
    ("redis://:hun/ter2@broker:6379/0", "host or port cannot be read; .* / is written %2F"),
    ("redis://:12/hunter2@broker:6379/0", "/ is written %2F"),
    ("amqp://u:12?hunter2@broker//", "/ is written %2F there, \\? %3F"),
    ("amqp://u:12#hunter2@broker//", "# %23"),
    ("redis://:hunter2@:6379/0", "names no host"),
    ("redis://:hunter2@broker/first", "the number of a database"),
    ("redis://:hunter2@broker:1/0/", "the number of a database"),
    ("redis://:hunter2@broker:1//", "the number of a database"),
    ("redis://:hunter2@broker:1/\u0663", "the number of a database"),
    ("rediss://:hunter2@broker/0?ssl_cert_reqs=required&ssl_cert_reqs=none", "ssl_cert_reqs stands there twice"),
    ("rediss://:hunter2@broker/0?ssl_cert_reqs=bogus&ssl_cert_reqs=none", "ssl_cert_reqs must be one of required"),
    ("rediss://:hunter2@broker/0?ssl_certfile=/a&ssl_certfile=/b", "ssl_certfile stands there twice"),
    ("amqp://u:hunter2@broker//?login_method=EXTERNAL", "login_method=EXTERNAL needs amqps:// and ssl_certfile"),
    ("amqps://u:hunter2@broker//?login_method=EXTERNAL", "login_method=EXTERNAL needs amqps:// and ssl_certfile"),
    ("unix:///run/hunter2", "must begin with one of redis://"),
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


OF_REDIS = ("limits_url", "results_url")
TAKEN_OF_REDIS = (
    "redis://two/0",
    "unix:///run/valkey.sock",
    "unix://:pa%2Fss@/run/valkey.sock?db=1",
    "rediss://:a@two/0?ssl_cert_reqs=none",
    "rediss://two?ssl_check_hostname=false",
)


@pytest.mark.parametrize("setting", OF_REDIS)
@pytest.mark.parametrize("url", TAKEN_OF_REDIS)
def test_a_redis_that_counts_or_takes_results_is_taken(url: str, setting: str) -> None:
    assert getattr(Settings.model_validate({setting: url}), setting).get_secret_value() == url
    Redis.from_url(url).close()
    if setting == "limits_url":
        assert Settings.model_validate({setting: url}).counting_url == url


REFUSED_OF_REDIS = (
    ("redis://two:hunter2/0", "host or port cannot be read"),
    ("redis://:hunter2@two/0?x=1", "an option that is not known here"),
    ("redis://:hunter2@two/0/", "the number of a database"),
    ("redis://:hunter2@two/0;redis://three/0", "must name one server"),
    ("rediss://:hunter2@two/0?ssl_cert_reqs=bogus", "ssl_cert_reqs must be one of"),
    ("amqp://u:hunter2@two//", "must begin with one of redis://, rediss://, unix://"),
    ("http://hunter2", "must begin with one of"),
    ("unix:///x.sock?hunter2=1", "an option that is not known here; what may stand there: db"),
    ("unix:///x.sock?db=hunter2", "db must be the number of a database"),
    ("unix:///x.sock?db=", "db is empty"),
    ("unix:///x.sock?db=1&db=2", "db stands there twice"),
    ("unix:///x.sock?ssl_cert_reqs=none", "ssl_cert_reqs is for rediss://"),
    ("unix://hunter2/x.sock", "a socket of this machine by its whole path"),
    ("unix://:12/hunter2@/x.sock", "stops being a URL in its name or password"),
    ("unix://", "a socket of this machine by its whole path"),
)


@pytest.mark.parametrize("setting", OF_REDIS)
@pytest.mark.parametrize(("url", "words"), REFUSED_OF_REDIS)
def test_a_redis_that_could_not_be_used_is_refused_before_a_request_or_a_job_fails_for_it(
    url: str, words: str, setting: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({setting: url})
    said = refused_settings(caught.value)
    assert re.fullmatch(rf"settings: POSTROOM_{setting.upper()}: .*{words}.*", said)
    assert "hunter2" not in f"{said}{caught.value}"


def test_results_go_to_a_redis_or_nowhere() -> None:
    assert Settings.model_validate({"results_url": ""}).results_url.get_secret_value() == ""
    for setting, url in (("results_url", "rpc://"), ("results_url", "RPC://:hunter2@broker"), ("limits_url", "")):
        with pytest.raises(ValidationError, match="must begin with one of") as caught:
            Settings.model_validate({setting: url})
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "redis", "rabbitmq"),
    [
        ("redis://broker/0", True, False),
        ("Rediss://broker/0", True, False),
        ("amqp://broker//", False, True),
        ("amqps://broker//", False, True),
        ("pyamqp://broker//", False, True),
        ("amqpx://broker//", False, False),
        ("unix:///broker", False, False),
    ],
)
def test_which_kind_of_broker_a_url_names(url: str, redis: bool, rabbitmq: bool) -> None:
    assert (is_redis(url), is_rabbitmq(url)) == (redis, rabbitmq)


@pytest.mark.parametrize("scheme", ["amqp", "amqps", "pyamqp"])
def test_rabbitmq_s_queues_are_declared_for_each_of_its_schemes(scheme: str) -> None:
    ask = "import celeryconfig; print(celeryconfig.QUEUE_ARGUMENTS)"
    environment = {"POSTROOM_BROKER_URL": f"{scheme}://broker//"}
    said = subprocess.run([sys.executable, "-c", ask], env=environment, cwd=ROOT, capture_output=True, check=True)  # noqa: S603 - itself
    assert said.stdout == b"{'x-queue-type': 'quorum'}\n"
