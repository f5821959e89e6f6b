"""Made-up secrets of every listed kind, and texts that are none, for the tests of each door."""

import string

from hypothesis import strategies as st

SHAPES = (
    "Bearer {}", "Authorization: Basic {}", "ya29.{}", "1//{}", "sk-{}", "sk-ant-api03-{}", "sk_live_{}", "whsec_{}",
    "ghp_{}",    "github_pat_{}", "xoxb-{}", "AIzaSy{}", "npm_{}", "hf_{}", "glpat-{}", "eyJhbGciOiJ9.{}.x",
    "SG.{0}.{0}", "re_Abcdefgh_{}",
    "postgresql://user:{}@host/db", "redis://:{}@host/0", "https://api.example.com/x?access_token={}", "?api_key={}",
    "password={}", "host=db password='{}'", "client_secret={}", "https://hooks.slack.com/services/T0/B0/{}",
    "https://discord.com/api/webhooks/1234/{}", "https://example.webhook.office.com/webhookb2/{}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY-----\n{}",
)  # fmt: skip
"""What secrets look like, with a place for their random part."""

AWS = "AKIAIOSFODNN7EXAMPLE"

NAMES = (
    "password", "passwd", "pwd", "passphrase", "token", "auth_token", "access_token", "refresh_token", "jwt", "cookie",
    "set_cookie", "secret", "client_secret", "api_key", "private_key", "credentials", "authorization", "signing_key",
    "sealing_keys",
)  # fmt: skip
"""Names of fields that hold a secret."""

random_letters = st.text(string.ascii_letters + string.digits, min_size=32, max_size=60)


VENDORS = {
    "google client secret": "GOCSPX-{}", "google access token": "ya29.{}", "google refresh token": "1//0{}",
    "google consent code": "4/0A{}", "google consent code in a link": "4%2F0A{}", "google api key": "AIzaSy{}",
    "json web token": "eyJhbGciOiJ9.{0}.{0}", "microsoft client secret": "abc8Q~{}", "microsoft code": "0.AXoA{0}.{0}",
    "microsoft refresh token": "M.C507_BAY.0.U.-{}", "microsoft compact ticket": "EwBwA8l6{0}{0}",
    "discord bot": "MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.{}", "discord interaction": "aW50ZXJhY3Rpb246{}",
    "discord webhook": "https://discord.com/api/webhooks/1234/{}", "resend": "re_Abcdefgh_{}", "webhook": "whsec_{}",
    "anthropic": "sk-ant-api03-{}", "firebase server": "AAAAabcdefg:APA91b{}", "aws session": "IQoJb3JpZ2luX2Vj{}",
    "our own": "sk-postroom-0123456789abcdef-{}",
}  # fmt: skip
"""Secrets of the vendors that we call, known by their look, with a place for their random part."""

WAYS = (
    "X-Key: {}", "Authorization: Bot {}", "authorization:{}", "VENDOR_CREDENTIAL={}", "export OTHER={}",
    '{{"some": "{}", "n": 1}}', r'{{\"some\": \"{}\"}}', "{{'some': '{}'}}", r"first\n{}\nlast",
    "https://x.example.org/?a=1&b={}&c=2",
    "https://x.example.org/?a=1%26b%3D{}", "the vendor refused {} at noon", "({}),", "{}",
)  # fmt: skip
"""How a text shows a secret that is known by its look."""

NAMED_WAYS = (
    "{name}={value}", "{name} = {value}", "export {name}='{value}'", "?a=1%26x_{name}%3D{value}",
    '{{"{name}": "{value}", "n": 1}}', "{{'{name}': '{value}'}}",
    r'{{\"{name}\": \"{value}\"}}', "?a=1&{name}={value}&b=2", "{name}: {value}", '{name}: "{value}"',
    "a.{name}={value};b=c",
    "the {name}={value} was refused", '"{name}" => "{value}"', '{{"{name}":\n  "{value}"}}',
)  # fmt: skip
"""How a text names a secret that has no look of its own."""


PLAIN = "0-9a-fhijl-wyz-"
"""What is made of this class of characters alone, as ids are, is no secret: the database looks no further."""


def ordinary_mail() -> list[str]:
    """Sentences of ordinary mail, with the words that secrets begin with."""
    return [
        "Basic understanding of the bearer certificates is enough.",
        "The password is with Ada; I have reset my password. Password: see the letter.",
        "A risk-management-committee-of-the-board will ask the desk-sharing-working-group.",
        "Join https://zoom.us/j/12345?pwd=abcdef at noon, or https://example.com/unsubscribe?token=abc123def456",
        "See https://example.com/path?page=2&sort=1 and https://example.com:8443/@ada.",
        "Write to ada@example.com or mailto:bob@example.com; the key points: tokens, cookies and secrets of baking.",
        "Password: changed on 2026-11-26. Your passcode: 123456.",
        "Secrets of baking: flour. Authorization: please sign by Friday.",
        "Message-ID: <0a1b2c3d4e5f60718293a4b5c6d7e8f9.1764@mail.example.org>; ETag: 7c9e6679742540de944be07fc1f90ae7",
        "account_id=7c9e6679-7425-40de-944b-e07fc1f90ae7 history_id=18446744073709551615",
        "asked for by api_key:7c9e6679-7425-40de-944b-e07fc1f90ae7",
        "idempotency_key=gmail.sync:7c9e6679 key=0123456789abcdef0123456789abcdef",
        '{"page_token": "CAUQAA0123456789abcdef", "input_tokens": 12, "key": "0123456789abcdef", "token_type": "x"}',
        "https://example.com/reset?code=DE&state=open&keyword=value0123456789abcdef and keys: 0123, tokens: 4567",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "re_engagement_campaign and sk-SK, 50% of 1//2, x=y, token = see above",
    ]
