"""The part of the settings that handlers see."""

from dataclasses import dataclass, fields
from typing import Literal, Self

from pydantic import SecretStr

from settings import Settings


@dataclass(frozen=True, slots=True)
class HandlerSettings:
    """What of the settings a handler may read: its providers, what is kept, and no way into the database.

    Each field is the field of the same name of `Settings`.
    """

    google_url: str | None
    google_client_id: str
    google_client_secret: SecretStr
    google_request_timeout_s: float
    pubsub_topic: str
    anthropic_base_url: str | None
    anthropic_api_key: SecretStr
    anthropic_timeout_s: float
    classify_model: str
    classify_first_model: str
    classify_sure_from: float
    draft_model: str
    alert_format: Literal["webhook", "discord"]
    alert_url: SecretStr
    alert_secret: SecretStr
    approval_expires_after_s: float
    discord_api_url: str
    discord_bot_token: SecretStr
    public_url: str
    twilio_api_url: str
    fcm_api_url: str
    fcm_token_url: str
    resend_api_url: str
    graph_api_url: str
    microsoft_login_url: str
    artifacts_url: SecretStr
    retention_s: float
    audit_retention_s: float | None

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The handlers' part of these settings."""
        return cls(**{field.name: getattr(settings, field.name) for field in fields(cls)})
