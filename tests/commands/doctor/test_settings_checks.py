"""What `doctor` says of the settings and the installed packages alone."""

import sys

import pytest
from pydantic import SecretStr

from commands.settings_checks import (
    extras_checks,
    misspelt_settings,
    model_check,
    one_broker_check,
    push_check,
    settings_checks,
)
from engine.app import app
from settings import Settings
from tests.commands.doctor.test_doctor import wrong


def test_the_development_key_is_wrong_in_production_only(settings: Settings) -> None:
    production = settings.model_copy(update={"environment": "production"})
    assert wrong(settings_checks(settings)) == set()
    assert wrong(settings_checks(production)) == {"sealing key"}
    set_up = {"sealing_keys": SecretStr("a secret"), "pubsub_audience": "a", "pubsub_service_account": "b"}
    assert wrong(settings_checks(production.model_copy(update=set_up))) == set()


def test_a_vendor_of_which_nothing_is_set_is_off_and_no_fault(settings: Settings) -> None:
    production = settings.model_copy(update={"environment": "production"})
    off = {one.name: one for one in (push_check(production), model_check(production))}
    assert [one.ok for one in off.values()] == [True, True]
    assert off["push settings"].finding.startswith("Google is off: POSTROOM_GOOGLE_CLIENT_ID is not set")
    assert off["model key"].finding.startswith("Anthropic is off: POSTROOM_ANTHROPIC_API_KEY is not set")


def test_what_connected_mailboxes_need_is_missed(settings: Settings) -> None:
    google = {"environment": "production", "google_client_id": "c", "google_client_secret": SecretStr("a secret")}
    production = settings.model_copy(update=google)
    assert wrong([push_check(production), model_check(production)]) == {"push settings", "model key"}
    half = settings.model_copy(update={"environment": "production", "pubsub_audience": "a"})
    assert wrong([push_check(half)]) == {"push settings"}
    whole = {"pubsub_audience": "a", "pubsub_service_account": "b", "anthropic_api_key": SecretStr("key")}
    found = production.model_copy(update=whole)
    assert [one.finding for one in (push_check(found), model_check(found))] == ["set", "set"]


def test_a_setting_in_a_file_is_known_and_a_misspelt_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_SEALING_KEYS_FILE", "/run/secrets/sealing_keys")
    assert misspelt_settings() == {}
    monkeypatch.setenv("POSTROOM_SEALNG_KEYS_FILE", "/run/secrets/sealing_keys")
    assert misspelt_settings() == {"POSTROOM_SEALNG_KEYS_FILE": "POSTROOM_SEALING_KEYS_FILE"}


def test_a_misspelt_setting_is_named_with_the_one_that_was_meant(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROOM_KEY", "what a script of the operator's keeps for itself")
    monkeypatch.setenv("POSTROOM_CLASIFY_MODEL", "a value that may be a secret")
    (check,) = [one for one in settings_checks(settings) if not one.ok]
    assert "POSTROOM_CLASIFY_MODEL" in check.finding
    assert check.remedy == "write POSTROOM_CLASSIFY_MODEL"


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_no_setting_is_taken_for_a_misspelt_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"POSTROOM_{name.upper()}", "")
    assert misspelt_settings() == {}


def test_a_half_set_up_consent_by_browser_is_named(settings: Settings) -> None:
    assert "consent by browser" not in wrong(settings_checks(settings)), "nobody wants it"
    half = settings.model_copy(update={"public_url": "https://mail.example.org", "google_client_id": "c"})
    (check,) = [one for one in settings_checks(half) if not one.ok]
    assert check.name == "consent by browser"
    assert "POSTROOM_GOOGLE_CLIENT_SECRET" in check.remedy
    whole = half.model_copy(update={"google_client_secret": SecretStr("a secret")})
    assert wrong(settings_checks(whole)) == set()


def test_an_extra_that_is_missing_is_named_with_what_needs_it_and_fails_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert {one.finding for one in extras_checks()} == {"installed here"}
    monkeypatch.setitem(sys.modules, "typst", None)
    planning, exports = extras_checks()
    assert (planning.finding, exports.ok) == ("installed here", True)
    assert exports.finding.startswith("typst not installed here: exports.project_plan as PDF")
    assert "postroom[exports]" in exports.remedy


@pytest.mark.parametrize("variable", ["CELERY_BROKER_URL", "CELERY_BROKER_READ_URL", "CELERY_BROKER_WRITE_URL"])
def test_another_broker_that_celery_was_given_is_named(
    settings: Settings, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = settings.model_copy(update={"broker_url": SecretStr(app.conf.broker_url)})
    assert one_broker_check(app.conf, own).ok
    monkeypatch.setenv(variable, "redis://:hunter2@other.example/0")
    found = one_broker_check(app.conf, own)
    assert not found.ok
    assert "POSTROOM_BROKER_URL" in found.finding
    assert variable in found.remedy
    assert "hunter2" not in f"{found}"
