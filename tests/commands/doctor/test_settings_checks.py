"""What `doctor` says of the settings and the installed packages alone."""

import sys

import pytest
from pydantic import SecretStr

from commands.settings_checks import extras_checks, misspelt_settings, one_broker_check, settings_checks
from engine.app import app
from settings import Settings
from tests.commands.doctor.test_doctor import wrong


def test_the_development_key_is_wrong_in_production_only(settings: Settings) -> None:
    production = settings.model_copy(update={"environment": "production"})
    assert wrong(settings_checks(settings)) == set()
    assert wrong(settings_checks(production)) == {"sealing key", "push settings"}
    set_up = {"sealing_keys": SecretStr("a secret"), "pubsub_audience": "a", "pubsub_service_account": "b"}
    assert wrong(settings_checks(production.model_copy(update=set_up))) == set()


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
