"""Settings are read from the environment, and refused by name."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import ValidationError

from domain.jobs.urls.refused_settings import refused_settings
from settings import DEVELOPMENT_SEALING_KEY, Settings, load, load_or_end


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"lease_s": 45}, "provider_call_limit_s: 30 must be less than 30"),
        ({"provider_call_limit_s": 40}, "provider_call_limit_s: 40 must be less than 40"),
    ],
)
def test_times_under_which_no_claim_or_call_could_hold_are_refused_by_name(given: dict[str, float], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        Settings.model_validate(given)


@pytest.mark.parametrize(
    ("name", "value"),
    [("fallback_sync_s", 59), ("fallback_sync_s", 86_401), ("full_sync_s", 299), ("full_sync_s", 604_801)],
)
def test_an_interval_that_no_mailbox_could_bear_is_refused_by_name(name: str, value: int) -> None:
    for given in (value, 900.5, "hourly"):
        with pytest.raises(ValidationError) as caught:
            Settings.model_validate({name: given})
        assert refused_settings(caught.value).startswith(f"settings: POSTROOM_{name.upper()}: ")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mail.example.org", "must be an address with https"),
        ("http://mail.example.org", "must be an address with https"),
        ("https://", "nothing else"),
        ("https://[mail", "must be an address such as"),
        ("https://mail.example.org:99999", "must be an address such as"),
        ("https://mail.example.org:port", "must be an address such as"),
        ("https://mail.example.org/mail", "nothing else"),
        ("https://mail.example.org//", "nothing else"),
        ("https://mail.example.org?", "nothing else"),
        ("https://mail.example.org#top", "nothing else"),
        ("https://mail.example.org\r", "nothing else"),
        ("https://mail.example.org ", "nothing else"),
        ("https://:pw@mail.example.org", "nothing else"),
        ("https://mail.example.org\\@evil.test", "nothing else"),
        ("https://müll.example.org", "nothing else"),
    ],
)
def test_a_public_address_that_google_would_not_take_is_refused(url: str, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"public_url": url})
    assert re.fullmatch(rf"settings: POSTROOM_PUBLIC_URL: .*{words}.*", refused_settings(caught.value))


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("", ""),
        ("https://Mail.example.org/", "https://mail.example.org"),
        ("https://mail.example.org:8443", "https://mail.example.org:8443"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("http://[::1]:8000", "http://[::1]:8000"),
    ],
)
def test_a_public_address_is_kept_as_google_compares_it(url: str, kept: str) -> None:
    assert Settings.model_validate({"public_url": url}).public_url == kept


@pytest.mark.parametrize(
    "prefix", ["amq.", "amq.gen:", " ", "a b", "a,b", "ü:", ":", "-", "a\n", "a\0", "a\x06", "x" * 61, "{a}:"]
)
def test_a_prefix_that_a_broker_or_a_command_line_would_not_take_is_refused(prefix: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"queue_prefix": prefix})
    assert refused_settings(caught.value).startswith("settings: POSTROOM_QUEUE_PREFIX: ")
    assert Settings.model_validate({"queue_prefix": "staging:"}).queue_prefix == "staging:"


def test_a_list_of_brokers_is_refused_and_not_shown() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate({"broker_url": "rediss://:hunter2@one;rediss://two"})
    assert refused_settings(caught.value).startswith("settings: POSTROOM_BROKER_URL: ")
    assert "hunter2" not in str(caught.value)


def test_schemes_are_kept_in_lower_case_and_all_else_as_it_was_written() -> None:
    written = "REDISS://User:PassWord@Broker:6379/0?ssl_ca_certs=/A.pem"
    settings = Settings.model_validate(dict.fromkeys(("broker_url", "results_url", "limits_url"), written))
    kept = f"rediss{written.removeprefix('REDISS')}"
    assert settings.broker_url.get_secret_value() == settings.results_url.get_secret_value() == kept
    assert settings.counting_url == kept
    assert Settings.model_validate({"broker_url": "Redis://one/0"}).counting_url == "redis://one/0"
    assert Settings.model_validate({"results_url": ""}).results_url.get_secret_value() == ""


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            {"alert_url": "ftp://hunter2/x", "alert_format": "discord"},
            "alert_url: must be an address with https or http",
        ),
        ({"alert_url": "https://", "alert_format": "discord"}, "alert_url: must be an address"),
        ({"alert_url": "https://[hunter2/", "alert_format": "discord"}, "alert_url: must be an address"),
        ({"alert_url": "https://alerts.test/hunter2"}, "alert_secret: a receiver of your own needs one"),
        ({"alert_url": "http://a.test/hunter2", "environment": "production", "sealing_keys": "k"}, "with https$"),
    ],
)
def test_an_address_to_which_no_alert_could_go_is_refused_and_not_shown(given: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(given)
    assert re.search(words, refused_settings(caught.value))
    assert "hunter2" not in str(caught.value)


def test_the_times_of_a_quick_fleet_are_taken() -> None:
    Settings(lease_s=3, provider_call_limit_s=1)


@pytest.mark.parametrize(
    "keys", [None, DEVELOPMENT_SEALING_KEY, f"hunter2hunter2,{DEVELOPMENT_SEALING_KEY}", "hunter2hunter2,"]
)
def test_production_refuses_a_sealing_key_that_everybody_knows(
    monkeypatch: pytest.MonkeyPatch, keys: str | None
) -> None:
    monkeypatch.setenv("POSTROOM_ENVIRONMENT", "production")
    if keys is not None:
        monkeypatch.setenv("POSTROOM_SEALING_KEYS", keys)
    with pytest.raises(ValidationError, match=r"sealing_keys\n.*set POSTROOM_SEALING_KEYS") as caught:
        Settings()
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("POSTROOM_SEALING_KEYS", "one of our own,another")
    assert Settings().environment == "production"


@pytest.fixture
def anew() -> Iterator[None]:
    """The environment is read, and forgotten afterwards."""
    load.cache_clear()
    yield
    load.cache_clear()


@pytest.mark.usefixtures("anew")
def test_a_setting_may_lie_in_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = tmp_path / "anthropic_api_key"
    key.write_text("hunter2hunter2\n")
    monkeypatch.setenv("POSTROOM_ANTHROPIC_API_KEY_FILE", str(key))
    monkeypatch.setenv("POSTROOM_ALERT_URL_FILE", "")
    found = load_or_end()
    assert found.anthropic_api_key.get_secret_value() == "hunter2hunter2"
    assert found.alert_url.get_secret_value() == ""


@pytest.mark.usefixtures("anew")
def test_an_empty_file_is_an_empty_setting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").touch()
    monkeypatch.setenv("POSTROOM_ANTHROPIC_API_KEY_FILE", str(tmp_path / "key"))
    assert load_or_end().anthropic_api_key.get_secret_value() == ""


@pytest.mark.usefixtures("anew")
def test_a_setting_that_is_given_twice_or_in_a_file_that_is_away_ends_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POSTROOM_SEALING_KEYS_FILE", str(tmp_path / "away"))
    with pytest.raises(SystemExit, match=r"POSTROOM_SEALING_KEYS_FILE: .*away cannot be read: No such file"):
        load_or_end()
    monkeypatch.setenv("POSTROOM_SEALING_KEYS_FILE", str(tmp_path))
    with pytest.raises(SystemExit, match=r"POSTROOM_SEALING_KEYS_FILE: .* cannot be read: Is a directory"):
        load_or_end()
    monkeypatch.setenv("POSTROOM_SEALING_KEYS", "hunter2hunter2")
    with pytest.raises(SystemExit, match="POSTROOM_SEALING_KEYS and POSTROOM_SEALING_KEYS_FILE are both set") as ended:
        load_or_end()
    assert "hunter2" not in str(ended.value)


@pytest.mark.usefixtures("anew")
def test_a_value_in_a_file_is_checked_and_not_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("hunter2hunter2,")
    monkeypatch.setenv("POSTROOM_ENVIRONMENT", "production")
    monkeypatch.setenv("POSTROOM_SEALING_KEYS_FILE", str(tmp_path / "key"))
    with pytest.raises(SystemExit, match="POSTROOM_SEALING_KEYS: set POSTROOM_SEALING_KEYS to secrets") as ended:
        load_or_end()
    assert "hunter2" not in str(ended.value)


BY_NAME = [name for name, field in Settings.model_fields.items() if isinstance(field.default, dict)]


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("name", BY_NAME)
def test_values_by_name_may_lie_in_a_file_too(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given = '{"eu2": 2}' if name == "rate_limits" else '{"eu2": "https://eu2.example.org"}'
    (tmp_path / "file").write_text(f"{given}\n")
    monkeypatch.setenv(f"POSTROOM_{name.upper()}_FILE", str(tmp_path / "file"))
    kept = getattr(load_or_end(), name)
    monkeypatch.delenv(f"POSTROOM_{name.upper()}_FILE")
    monkeypatch.setenv(f"POSTROOM_{name.upper()}", given)
    load.cache_clear()
    assert kept == getattr(load_or_end(), name)
    assert list(kept) == ["eu2"]


@pytest.mark.usefixtures("anew")
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("text", ["{hunter2", '"hunter2"', "[]"])
def test_what_is_no_object_in_json_ends_the_process_by_name_and_is_not_shown(
    name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"POSTROOM_{name.upper()}", text)
    with pytest.raises(SystemExit, match=f"settings: POSTROOM_{name.upper()}: must be an object in JSON") as ended:
        load_or_end()
    assert "hunter2" not in str(ended.value)


@pytest.mark.usefixtures("anew")
def test_an_empty_text_names_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in BY_NAME:
        monkeypatch.setenv(f"POSTROOM_{name.upper()}", "")
    assert [getattr(load_or_end(), name) for name in BY_NAME] == [{}] * len(BY_NAME)


@pytest.mark.usefixtures("anew")
def test_a_file_of_other_bytes_than_text_ends_the_process_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_bytes(b"\xff\xfehunter2")
    monkeypatch.setenv("POSTROOM_SEALING_KEYS_FILE", str(tmp_path / "key"))
    with pytest.raises(SystemExit, match=r"POSTROOM_SEALING_KEYS_FILE: .*key is no text in UTF-8$") as ended:
        load_or_end()
    assert "0xff" not in str(ended.value)
