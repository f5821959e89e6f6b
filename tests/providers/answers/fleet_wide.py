"""What closes a provider's gate for the whole fleet, and why no tenant's data can draw it."""

from collections.abc import Mapping

from providers.answers import Table
from providers.anthropic import failures as anthropic
from providers.artifacts import failures as artifacts
from providers.discord import failures as discord
from providers.fcm import failures as fcm
from providers.google import failures as google
from providers.microsoft import failures as microsoft
from providers.resend import failures as resend
from providers.twilio import failures as twilio
from providers.webhooks import post

TABLES: Mapping[str, Table] = {
    "anthropic": anthropic.OF_INSTALLATION,
    "anthropic of a profile": anthropic.OF_PROFILE,
    "gmail": google.TABLE,
    "graph": microsoft.TABLE,
    "graph with a kept token": microsoft.WITH_KEPT_TOKEN,
    "graph tokens": microsoft.TOKENS,
    "resend": resend.TABLE,
    "twilio": twilio.TABLE,
    "fcm": fcm.TABLE,
    "fcm with a kept token": fcm.WITH_KEPT_TOKEN,
    "fcm tokens": fcm.TOKENS,
    "discord": discord.TABLE,
    "alerts": post.TABLE,
    "artifacts": (*artifacts.OF_MARK, *artifacts.OF_READS),
}

OUR_KEY = "the fleet has one key, and no tenant gives another"
OUR_ACCOUNT = "a code of the vendor's for the organization that owns the fleet's one key"
OUR_CREDIT = "the text begins so; a mail that it quotes comes later"
OUR_CLIENT = "the OAuth client is the fleet's; a token of another client is `unauthorized_client`"
OUR_PROJECT = "the project is the fleet's"
OUR_STORE = "the installation has one folder or bucket and one key for it; a tenant names neither"
OUR_MODEL = "the settings name the model; one of a tenant's profile parks nobody"

OF_ACCOUNT: Mapping[str, str] = {
    "spend_limit": OUR_CREDIT,
    "organization_disabled": OUR_CREDIT,
    **dict.fromkeys(anthropic.OUR_ACCOUNT.split(), OUR_ACCOUNT),
    "payment_required": "the fleet pays, whosever request it is",
    "unauthorised": OUR_KEY,
}
WHY_NO_TENANT: Mapping[tuple[str, str], str] = {
    **{(vendor, word): why for vendor in ("anthropic", "anthropic of a profile") for word, why in OF_ACCOUNT.items()},
    ("anthropic", "no_such_model"): OUR_MODEL,
    ("anthropic", "rate_limit"): "the limit is the organization's for the settings' model; a minute, or as asked",
    ("anthropic", "any"): "503 and 529 speak of the vendor's load, not of a request; an hour at most",
    **{("gmail", word): OUR_CLIENT for word in ("invalid_client", "deleted_client", "disabled_client")},
    **{
        ("gmail", word): OUR_PROJECT
        for word in ("accessNotConfigured", "SERVICE_DISABLED", "CONSUMER_SUSPENDED", "BILLING_DISABLED")
    },
    ("gmail", "dailyLimitExceeded"): "403 is the project's day; a mailbox's own limits are 429, or speak of sending",
    ("discord", "unauthorised"): "the fleet has one bot; a tenant has a channel",
    ("alerts", "rate_limit"): "the channel is the operator's, and nothing but alerts waits",
    **{("artifacts", code): OUR_STORE for code in ("away", "broken", "full", "no_bucket", "read_only", "refused")},
    ("alerts", "any"): "the same; an hour at most",
}
