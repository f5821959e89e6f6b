"""The Gmail emulator: `python -m sandbox.google.gmail --port N`, or `gmail_emulator()` inside a test."""

from sandbox.emulator.emulator import Emulator, parser, run
from sandbox.emulator.journal import Journal
from sandbox.google.api.service import GmailService
from sandbox.google.control import control_routes


def gmail_emulator(port: int = 0) -> Emulator:
    """An emulator of the Gmail API, Google's token endpoint and Pub/Sub push; a context manager."""
    journal = Journal()
    service = GmailService(journal)
    return Emulator(service, journal, port, control_routes(service))


def main() -> None:
    """Serve until a signal comes; accounts come from `--account` or later from the control API."""
    arguments = parser("An emulator of the Gmail API, Google's token endpoint and Pub/Sub push.")
    arguments.add_argument(
        "--account",
        action="append",
        default=[],
        metavar="EMAIL:ACCESS:REFRESH",
        help="an account with its access and refresh token; may be given several times",
    )
    options = arguments.parse_args()
    journal = Journal()
    service = GmailService(journal)
    for text in options.account:
        email, access_token, refresh_token = text.split(":", 2)
        service.open_account(email)
        service.tokens.grant(email, access_token, refresh_token)
    run(Emulator(service, journal, options.port, control_routes(service)))


if __name__ == "__main__":
    main()
