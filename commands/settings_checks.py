"""What `doctor` says of the settings and the installed packages alone, without asking anybody."""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from celery.app.utils import Settings as CelerySettings
from pydantic import AliasChoices
from pydantic.fields import FieldInfo

from domain.jobs.urls.one_broker import REMEDY, trouble_with_broker
from domain.mail.consent import missing_settings
from observability.on_demand import EXTRAS, Extra, missing_packages
from settings import DEVELOPMENT_SEALING_KEY, FILE, PREFIX, Settings, named_in_environment
from storage.postgres.readiness import Check

NEARLY = 0.9
"""Similarity from which a name counts as misspelt. 0.9 allows two wrong letters in twenty; POSTROOM_KEY stays below it.
"""


def settings_checks(settings: Settings) -> Sequence[Check]:
    """What must not stay at its default outside development, and what was meant to be set."""
    production = settings.environment == "production"
    default_key = DEVELOPMENT_SEALING_KEY in settings.sealing_keys.get_secret_value()
    secret = settings.google_client_secret.get_secret_value()
    missing = missing_settings(settings.public_url, settings.google_client_id, secret)
    misspelt = misspelt_settings()
    return (
        Check(
            "names of settings",
            ok=not misspelt,
            finding=f"no setting: {', '.join(misspelt)}" if misspelt else "known",
            remedy=f"write {', '.join(misspelt.values())}" if misspelt else "",
        ),
        Check(
            "sealing key",
            ok=not (production and default_key),
            finding="the development key, which everybody knows" if default_key else "set",
            remedy="set POSTROOM_SEALING_KEYS to a secret of this installation" if default_key else "",
        ),
        push_check(settings),
        # Without a public address nobody is meant to connect by browser.
        Check(
            "consent by browser",
            ok=not missing or not settings.public_url,
            finding=f"no mailbox can be connected by browser: {missing} not set" if missing else "set up",
            remedy=f"set {missing}" if missing else "",
        ),
    )


def push_check(settings: Settings) -> Check:
    """Whether Gmail's pushes are taken. Without Google's client no mailbox is connected, and nothing pushes."""
    name, pushes = "push settings", (settings.pubsub_audience, settings.pubsub_service_account)
    if all(pushes):
        return Check(name, ok=True, finding="set")
    if not has_google(settings) and not any(pushes):
        return Check(
            name, ok=True, finding="Google is off: POSTROOM_GOOGLE_CLIENT_ID is not set; no mailbox is connected"
        )
    remedy = "set POSTROOM_PUBSUB_AUDIENCE and POSTROOM_PUBSUB_SERVICE_ACCOUNT"
    finding = "no audience or service account: every push is refused"
    return Check(name, ok=settings.environment != "production", finding=finding, remedy=remedy)


def model_check(settings: Settings) -> Check:
    """Whether the language model's key is set; one that is refused parks the provider, which `provider_check` names."""
    if settings.anthropic_api_key.get_secret_value():
        return Check("model key", ok=True, finding="set")
    if not has_google(settings):
        return Check("model key", ok=True, finding="Anthropic is off: POSTROOM_ANTHROPIC_API_KEY is not set")
    finding, remedy = "none is set: no mail is classified", "set POSTROOM_ANTHROPIC_API_KEY"
    return Check("model key", ok=settings.environment != "production", finding=finding, remedy=remedy)


def has_google(settings: Settings) -> bool:
    """Whether mailboxes can be connected."""
    return bool(settings.google_client_id or settings.google_client_secret.get_secret_value())


def misspelt_settings() -> Mapping[str, str]:
    """Variables of the environment that are nearly named as a setting and set nothing, each with that setting."""
    known = [f"{PREFIX}{name.upper()}" for name in Settings.model_fields]
    also = {alias.upper() for field in Settings.model_fields.values() for alias in _aliases(field)}
    unknown = [
        name for name in named_in_environment() if name not in {*known, *also, *(f"{one}{FILE}" for one in known)}
    ]
    near = {name: get_close_matches(name.removesuffix(FILE), known, n=1, cutoff=NEARLY) for name in sorted(unknown)}
    return {name: found[0] + FILE * name.endswith(FILE) for name, found in near.items() if found}


def _aliases(field: FieldInfo) -> list[str]:
    alias = field.validation_alias
    return [str(one) for one in alias.choices] if isinstance(alias, AliasChoices) else []


def extras_checks() -> Sequence[Check]:
    """Which extras are not installed here. That is no fault: a fleet that neither plans nor exports needs none."""
    return [_extra_check(extra) for extra in EXTRAS]


def _extra_check(extra: Extra) -> Check:
    name, missing = f"extra {extra.name}", missing_packages(extra)
    if not missing:
        return Check(name, ok=True, finding="installed here")
    finding = f"{', '.join(missing)} not installed here: {extra.without} would fail"
    return Check(name, ok=True, finding=finding, remedy=extra.remedy)


def one_broker_check(celery: CelerySettings, settings: Settings) -> Check:
    """Whether Celery goes by the broker of our settings: workers, beat and Flower end at their start when not."""
    own = settings.broker_url.get_secret_value()
    found = [trouble_with_broker(url, own) for url in (celery.broker_read_url, celery.broker_write_url)]
    trouble = next(filter(None, found), None)
    return Check("one broker", ok=trouble is None, finding=trouble or "the same", remedy=REMEDY if trouble else "")
