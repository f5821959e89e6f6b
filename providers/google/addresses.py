"""Where Google's OAuth answers: at Google's own addresses, or all of it at an emulator's."""


def token_uri(emulator: str | None) -> str:
    """Where codes are exchanged and tokens are refreshed."""
    return f"{emulator}/token" if emulator else "https://oauth2.googleapis.com/token"


def authorize_url(emulator: str | None) -> str:
    """Google's consent screen."""
    return f"{emulator or 'https://accounts.google.com'}/o/oauth2/v2/auth"


def certs_url(emulator: str | None) -> str:
    """The certificates that sign tokens of Pub/Sub's pushes."""
    return f"{emulator}/certs" if emulator else "https://www.googleapis.com/oauth2/v1/certs"
