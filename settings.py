"""The environment as one frozen record; no other module reads `os.environ`."""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from domain.jobs.urls.broker_urls import BrokerUrl, LimitsUrl, QueuePrefix, ResultsUrl, is_rabbitmq, is_redis
from domain.jobs.urls.by_name import ByName
from domain.jobs.urls.cells import CellGateways, CellName
from domain.jobs.urls.origins import check_address, check_provider, origin_of
from domain.jobs.urls.refused_settings import refused_settings
from domain.planning.files.artifact_urls import ArtifactsUrl

CLAIM_MARGIN = 1 / 12
"""The share of the lease that must be left after the longest call, to record its result (of 60 s: 5 s).

A share and not a time: with a fixed time a short lease would refuse every effect.
"""

PREFIX = "POSTROOM_"
FILE = "_FILE"  # ends the name of a variable that names a file with the value
DEVELOPMENT_SEALING_KEY = "development-only-sealing-key-do-not-use"


class Settings(BaseSettings):
    """What an operator may set, each as `POSTROOM_<NAME>` (`docs/reference/settings.md`)."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        hide_input_in_errors=True,  # an input may be a secret
        enable_decoding=False,  # JSON is read by `ByName`, from files as from the environment
    )

    environment: Literal["development", "production"] = Field(
        "development",
        description="`production` refuses the public sealing key; `doctor` fails there where `development` remarks.",
    )
    database_url: SecretStr = Field(
        SecretStr("postgresql://postgres@127.0.0.1:5432/postroom"),
        description="The owner's connection, for migrations. Without a login of its own, the engine's follows from it.",
    )
    ledger_database_url: SecretStr | None = Field(None, description="The engine's login (role postroom_ledger).")
    tenant_database_url: SecretStr | None = Field(None, description="The handlers' login (role postroom_tenant).")
    auditor_database_url: SecretStr | None = Field(None, description="That of audit.enrich (role postroom_auditor).")
    watch_database_url: SecretStr | None = Field(None, description="That of KEDA and Grafana (role postroom_watch).")
    database_pool_size: int = Field(
        10, ge=1, le=500, description="Connections per process and role; a worker's loop has one more."
    )
    statement_timeout_s: float = Field(
        15.0,
        gt=0,
        description="No statement runs longer than this many seconds. A connection whose answer is three seconds later"
        " than that is given up, so this bounds how long a silent network holds a worker.",
    )
    broker_url: BrokerUrl = Field(
        SecretStr("redis://127.0.0.1:6379/0"),
        description="One Redis, Valkey or RabbitMQ, also by `rediss://` and `amqps://`; it carries hints only.",
    )
    queue_prefix: QueuePrefix = Field(
        "",
        description="Stands before the names of the queues in the broker, `staging:` for `staging:critical`, so that"
        " several fleets can share one. All processes of a fleet need the same. `worker -Q` takes the plain names.",
    )
    results_url: ResultsUrl = Field(
        SecretStr(""),
        description="Where foreign Celery clients get their results: the `redis://`, `rediss://` or `unix://` URL of"
        " the Redis that is their result backend; `rpc://` is refused. Whoever can read there reads the outputs of"
        " jobs. Empty: results are read from the ledger only.",
    )
    sealing_keys: SecretStr = Field(
        SecretStr(DEVELOPMENT_SEALING_KEY),
        description="Comma-separated secrets that seal tokens at rest; the first seals, all of them open (rotation).",
    )

    jobs: str = Field("", description="Modules with job types of your own, by commas: `shop.orders,shop.stock`.")

    lease_s: float = Field(
        60.0, gt=0, le=3600, description="Seconds a worker may be silent before its jobs are rescued: an hour at most."
    )
    hint_timeout_s: float = Field(
        30.0, gt=0, le=3600, description="Seconds a published hint may stay unclaimed before it is published again."
    )
    retention_s: float = Field(
        7 * 86_400.0,
        gt=0,
        le=10 * 366 * 86_400.0,
        description="Seconds a finished job is kept, with its steps and output. A dead job"
        " whose letter is open stays. The audit log has a setting of its own.",
    )
    audit_retention_s: float | None = Field(
        None,
        gt=0,
        le=100 * 366 * 86_400.0,
        description="Seconds an entry of the audit log is kept before it may be deleted, once `celery -A tasks audit"
        " export` has written it to a file. Default: for ever. Entries go as they are counted for the metrics, so some"
        " worker must have a metrics port; those of a job stay as long as the job.",
    )
    burst: int = Field(
        20,
        ge=0,
        le=10_000,
        description="Due jobs of an org and queue that an enqueue publishes at once; the rest wait for the relay. It"
        " shares the queue fairly. Small, because others may have to wait for them.",
    )
    provider_call_limit_s: float = Field(
        30.0,
        gt=0,
        description="Seconds that one call which changes something outside may take in all, less than two thirds of"
        " the lease. It begins only while its claim lasts longer.",
    )
    shutdown_grace_s: float = Field(
        60.0,
        ge=0,
        description="Seconds a stopping worker lets running jobs finish before it gives them back. It ends 15 seconds"
        " after that, whatever hangs: keep the supervisor's stop period above both together.",
    )

    google_url: str | None = Field(
        None, description="An emulator's address, which stands for Gmail, for OAuth and for the certificates of pushes."
    )
    public_url: str = Field(
        "",
        description="The gateway's address as browsers see it: `https://mail.example.org`. Google sends owners of"
        " mailboxes back to `/oauth/google/callback` there. Empty: nobody can connect a mailbox by browser.",
    )
    cell: CellName = Field("", description="This cell's name, where there are several: `eu1`. Empty: the only one.")
    cells: CellGateways = Field({}, description="Gateways of other cells, as JSON by name, for moved orgs' callers.")
    cell_database_urls: ByName[SecretStr] = Field({}, description="Owners' URLs of other cells: moves, restores.")
    console: bool = Field(default=True, description="Whether `/console` is served, once there is an operator.")
    oidc_issuer: str = Field(
        "",
        description="The issuer of the OpenID Connect provider at which operators have accounts:"
        " `https://login.example.org/realms/staff`. With it go the client's id and secret, and `POSTROOM_PUBLIC_URL`."
        " Empty: operators sign in to the console with passwords only.",
    )
    oidc_client_id: str = Field("", description="The client of this installation at that provider.")
    oidc_client_secret: SecretStr = Field(SecretStr(""), description="That client's secret.")
    google_client_id: str = Field("", description="The OAuth client of this installation.")
    google_client_secret: SecretStr = Field(SecretStr(""), description="The OAuth client's secret.")
    google_request_timeout_s: float = Field(30.0, gt=0, description="Seconds of one Gmail call, its repetitions too.")
    fallback_sync_s: int = Field(
        900, ge=60, le=86_400, description="Seconds between two syncs of all mailboxes through history."
    )
    full_sync_s: int = Field(
        3_600, ge=300, le=7 * 86_400, description="Seconds between two searches of all inboxes for unclassified mail."
    )
    pubsub_topic: str = Field("projects/postroom/topics/gmail", description="The topic of Gmail's watch.")
    pubsub_audience: str = Field("", description="The audience a push token must carry; empty refuses every push.")
    pubsub_service_account: str = Field("", description="The e-mail a push token must carry; empty refuses every push.")

    anthropic_base_url: str | None = Field(None, description="Another address for the Anthropic API, for emulators.")
    anthropic_api_key: SecretStr = Field(SecretStr(""), description="The Anthropic key.")
    anthropic_timeout_s: float = Field(60.0, gt=0, description="Seconds one model call may take in all.")
    classify_model: str = Field(
        "claude-haiku-5-5", min_length=1, max_length=100, description="The model that classifies mail."
    )
    classify_first_model: str = Field(
        "",
        max_length=100,
        description="A cheaper model that is asked about each message first. The one of `POSTROOM_CLASSIFY_MODEL` is"
        " asked only where this one is unsure, asks for caution, or gives no answer to use. Empty: there is none.",
    )
    classify_sure_from: float = Field(
        0.8,
        ge=0,
        le=1,
        description="How sure of itself the first model must be for its answer to be taken. Models differ in how they"
        " estimate this: compare with what your users correct.",
    )
    draft_model: str = Field(
        "claude-sonnet-5-5", min_length=1, max_length=100, description="The model that writes drafts."
    )

    daily_budget_microcents: int = Field(
        1_000_000_000,
        ge=0,
        le=10**18,
        description="What an org without a budget of its own may spend on the model per day (UTC)."
        " One cent is 1,000,000 microcents; 0 lets nobody ask the model.",
    )
    limits_url: LimitsUrl = Field(
        None,
        description="The Redis or Valkey that counts calls to providers, for the whole fleet. Default: the broker when"
        " it is one; with another broker each process counts for itself, which `doctor` reports.",
    )
    rate_limits: ByName[int] = Field(
        {},
        description="Your own figures for the limits of providers, as JSON, by the names of"
        ' `domain/jobs/scheduling/limits.py`: `{"gmail.user": 15000, "anthropic.requests": 4000}`.',
    )

    api_requests_per_minute: int = Field(
        600, ge=1, le=1_000_000, description="Requests of one API key a minute, counted where calls to providers are."
    )

    alert_format: Literal["webhook", "discord"] = Field(
        "webhook", description="What stands at the alert URL: a receiver of your own, or a webhook of Discord."
    )
    alert_url: SecretStr = Field(
        SecretStr(""), description="Where alerts are posted. Empty: they are only logged and audited."
    )
    alert_secret: SecretStr = Field(
        SecretStr(""), description="Signs each alert to a receiver of your own; Discord needs none."
    )

    resend_api_url: str = Field("https://api.resend.com", description="Resend's API, for orgs that send e-mail by it.")
    graph_api_url: str = Field(
        "https://graph.microsoft.com/v1.0", description="Microsoft Graph, for orgs that send e-mail from a mailbox."
    )
    microsoft_login_url: str = Field(
        "https://login.microsoftonline.com", description="Where tokens for Microsoft Graph come from."
    )
    email_timeout_s: float = Field(
        30.0, gt=0, description="Seconds one call of Resend or of Microsoft Graph may take in all."
    )
    approval_expires_after_s: float = Field(
        3 * 86_400.0,
        ge=60,
        le=30 * 86_400.0,
        description="Seconds an action waits for a person's approval; then it expires, and is never executed.",
    )
    discord_api_url: str = Field("https://discord.com/api/v10", description="Discord's REST API, for the bot.")
    discord_bot_token: SecretStr = Field(
        SecretStr(""), description="The bot that asks for approvals. Empty: nobody is asked on Discord."
    )
    discord_public_key: str = Field(
        "",
        pattern="^([0-9a-fA-F]{64})?$",
        description="The public key of the bot's application: verifies presses. Empty refuses every press.",
    )

    twilio_api_url: str = Field("https://api.twilio.com", description="Twilio's API, for orgs that send text messages.")
    fcm_api_url: str = Field("https://fcm.googleapis.com", description="FCM, for orgs that send messages to devices.")
    fcm_token_url: str = Field("https://oauth2.googleapis.com/token", description="Where FCM's tokens come from.")
    artifacts_url: ArtifactsUrl = Field(
        SecretStr("file:///var/lib/postroom/artifacts"),
        description="Where artifacts lie: a folder that gateway and workers share, or a bucket of S3's kind,"
        " `s3://ID:SECRET@bucket/prefix?region=…&endpoint=https://…`; without a key, what Amazon's tools take.",
    )
    artifact_bytes: int = Field(20_000_000, ge=1, le=100_000_000, description="Bytes of an upload, at most.")

    log_level: str = Field("INFO", description="The least severe level that is logged.")
    runbook_url: str = Field(
        "docs/runbooks/{alert}.md",
        description="Where the page is that `doctor` and the console name for an alert, which `{alert}` stands for.",
    )
    traces_url: SecretStr | None = Field(
        None, description="Where spans are sent by OTLP over HTTP: `http://collector:4318/v1/traces`. Default: nowhere."
    )
    traces_ratio: float = Field(
        1.0, ge=0, le=1, description="The part of the traces that begin here and are kept; others say it themselves."
    )
    metrics_port: int = Field(
        0,
        ge=0,
        le=65_535,
        description="The port on which a worker, beat or gateway serves `/metrics` for Prometheus and `/healthz` for"
        " supervisors, each process its own; 0 serves none. The fleet's jobs are counted while a worker has one.",
    )
    metrics_host: str = Field("127.0.0.1", description="The address of that port; `0.0.0.0` in a container.")
    notify_socket: str = Field(
        "",
        validation_alias=AliasChoices("POSTROOM_NOTIFY_SOCKET", "NOTIFY_SOCKET"),
        description="Where systemd hears that the process lives. systemd itself sets it, as `NOTIFY_SOCKET`.",
    )
    watchdog_usec: int = Field(
        0,
        ge=0,
        validation_alias=AliasChoices("POSTROOM_WATCHDOG_USEC", "WATCHDOG_USEC"),
        description="Microseconds within which it must hear so. systemd itself sets it, as `WATCHDOG_USEC`.",
    )

    @property
    def broker_is_rabbitmq(self) -> bool:
        """Whether the broker is RabbitMQ, by the scheme of its URL."""
        return is_rabbitmq(self.broker_url.get_secret_value())

    @property
    def counting_url(self) -> str | None:
        """The Redis that counts calls and requests: the one that is set, else the broker; None when there is none."""
        if self.limits_url is not None:
            return self.limits_url.get_secret_value()
        broker = self.broker_url.get_secret_value()
        return broker if is_redis(broker) else None

    @property
    def counting_setting(self) -> str:
        """The variable that names it."""
        return f"{PREFIX}BROKER_URL" if self.limits_url is None else f"{PREFIX}LIMITS_URL"

    @property
    def heartbeat_s(self) -> float:
        """Seconds between two renewals of a lease: two may be late before it ends."""
        return self.lease_s / 4

    @property
    def counting_interval_s(self) -> float:
        """Seconds between two countings of the fleet's jobs; another worker counts after four, a third of a lease."""
        return self.lease_s / 12

    @property
    def relay_interval_s(self) -> float:
        """Seconds the relay sleeps when no notification wakes it: a small part of the wait for a lost hint."""
        return min(1.0, self.hint_timeout_s / 15)

    @model_validator(mode="after")
    def _check_times(self) -> Self:
        """Refuse times under which claims or effects could never hold; names the field that is too long."""
        left = self.lease_s * (1 - CLAIM_MARGIN) - self.heartbeat_s
        if self.provider_call_limit_s >= left:
            raise ValueError(
                f"provider_call_limit_s: {self.provider_call_limit_s:g} must be less than {left:g}, which is lease_s"
                " less heartbeat_s and a twelfth of the lease: no call could begin with time to end under its claim"
            )
        return self

    @model_validator(mode="after")
    def _check_alerts(self) -> Self:
        """Refuse an address that no alert could go to, and an alert that its receiver could not tell from a forgery."""
        if url := self.alert_url.get_secret_value():
            check_address("alert_url", url, may_be_plain=self.environment != "production")
        if url and self.alert_format == "webhook" and not self.alert_secret.get_secret_value():
            raise ValueError("alert_secret: a receiver of your own needs one, or it could not tell who sent an alert")
        return self

    @model_validator(mode="after")
    def _check_oidc(self) -> Self:
        """Refuse half a provider, by the name of what is missing."""
        secret = self.oidc_client_secret.get_secret_value()
        given = {"oidc_issuer": self.oidc_issuer, "oidc_client_id": self.oidc_client_id, "oidc_client_secret": secret}
        check_provider(given, self.public_url, may_be_plain=self.environment != "production")
        return self

    @field_validator("public_url")
    @classmethod
    def _is_an_origin(cls, url: str, info: ValidationInfo) -> str:
        """The path is ours."""
        is_development = info.data.get("environment") == "development"
        return origin_of(url, may_be_plain_here=is_development) if url else url

    @field_validator("sealing_keys")
    @classmethod
    def _production_has_keys_of_its_own(cls, keys: SecretStr, info: ValidationInfo) -> SecretStr:
        """Roles' passwords follow from the first key, and every key opens tokens: one that all know protects none."""
        given = [key.strip() for key in keys.get_secret_value().split(",")]
        if info.data.get("environment") == "production" and (DEVELOPMENT_SEALING_KEY in given or "" in given):
            raise ValueError("set POSTROOM_SEALING_KEYS to secrets of this installation, none of them empty or public")
        return keys


def named_in_environment() -> Sequence[str]:
    """The variables of the environment that are named as settings are, whether they set something or not."""
    return [name for name in os.environ if name.startswith(PREFIX)]


@cache
def load() -> Settings:
    """Read the environment once, and the files it names; a bad value raises with the setting's name and the reason."""
    return Settings.model_validate(kept_in_files())


def kept_in_files() -> Mapping[str, str]:
    """What is in the files that `POSTROOM_<NAME>_FILE` names, by field; `OSError` for one that cannot be read."""
    given = {name.removesuffix(FILE): os.environ[name] for name in named_in_environment() if name.endswith(FILE)}
    for name, path in given.items():
        if path and os.environ.get(name):
            raise OSError(f"{name} and {name}{FILE} are both set: leave one of them out")
    return {name.removeprefix(PREFIX).lower(): _text_of(name, path) for name, path in given.items() if path}


def _text_of(name: str, path: str) -> str:
    """What a file says, without the white space around it; its bytes may be a secret, so no error shows them."""
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except UnicodeDecodeError:
        raise OSError(f"{name}{FILE}: {path} is no text in UTF-8") from None
    except OSError as error:
        raise OSError(f"{name}{FILE}: {path} cannot be read: {error.strerror}") from None


def load_or_end() -> Settings:
    """As `load`, for a process that begins: a bad value ends it with one line instead of a traceback."""
    try:
        return load()
    except (ValidationError, OSError) as error:
        reason = refused_settings(error) if isinstance(error, ValidationError) else f"settings: {error}"
        raise SystemExit(f"Error: {reason}") from None
