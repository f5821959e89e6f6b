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


def ordinary_mail() -> list[str]:
    """Sentences of ordinary mail, with the words that secrets begin with."""
    return [
        "Basic understanding of the bearer certificates is enough.",
        "The password is with Ada; I have reset my password. Password: see the letter.",
        "A risk-management-committee-of-the-board will ask the desk-sharing-working-group.",
        "Join https://zoom.us/j/12345?pwd=abcdef at noon, or https://example.com/unsubscribe?token=abc123def456",
        "See https://example.com/path?page=2&sort=1 and https://example.com:8443/@ada.",
        "Write to ada@example.com or mailto:bob@example.com; the key points: tokens, cookies and secrets of baking.",
        "re_engagement_campaign and sk-SK, 50% of 1//2, x=y, token = see above",
    ]
