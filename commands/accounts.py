"""`celery -A tasks accounts`: `add`, `connect`, `backfill`, `backfills` and `reseal`, beside what the area declares."""

import sys
from datetime import timedelta

import click
from pydantic import SecretStr

from commands.answers import json_option, operator, operator_option, show_document, show_rows
from commands.mail.account_consent import connect_by_browser
from commands.operations import AREAS
from domain.jobs.contract import check_text
from domain.jobs.failures import Conflict, Invalid
from domain.mail.backfill import check_wish
from domain.mail.consent import RefusedConsent
from domain.payloads.gmail import MOST_BACKFILLED, BackfillPayload
from domain.payloads.mail_address import check_address
from engine.enqueue import enqueue, enqueue_jobs
from engine.runtime import runtime
from operations.mail.accounts import account_of, target_to_write
from storage.mail import backfills
from storage.mail.accounts import accounts as stored
from storage.mail.accounts import connecting, tokens
from storage.mail.accounts.accounts import Consent
from storage.mail.accounts.connecting import OrgMailbox
from storage.orgs.secrets.sealing import Sealer

BACKFILL_COLUMNS = (
    "backfill_id",
    "state",
    "query",
    "since",
    "until_at",
    "pages",
    "found",
    "ordered",
    "handled",
    "stored",
)
LONGEST_SUBJECT = 255
"""Google's own bound of `sub`."""
accounts: click.Group = AREAS.accounts
accounts.add_command(connect_by_browser)


@accounts.command("add")
@click.option("--org", required=True, help="The org: its id or name; a name that no org has makes one.")
@click.option("--email", required=True, help="The mailbox.")
@click.option("--owner", help="The owner's address; by default the mailbox's own.")
@click.option("--access-token", envvar="POSTROOM_ACCOUNT_ACCESS_TOKEN", help="Better in the environment, or asked for.")
@click.option("--refresh-token", envvar="POSTROOM_ACCOUNT_REFRESH_TOKEN", help="Likewise.")
@click.option("--expires-in", type=click.IntRange(0), default=3600, help="Seconds the access token is still good for.")
@click.option("--scope", "scopes", multiple=True, help="A scope that the consent covers; may be repeated.")
@click.option("--google-user", help="The id of the Google user who consented: `sub` of the ID token.")
@operator_option
@json_option
def add_account(  # noqa: PLR0913, PLR0917 - one parameter per option
    org: str,
    email: str,
    owner: str | None,
    access_token: str | None,
    refresh_token: str | None,
    expires_in: int,
    scopes: tuple[str, ...],
    google_user: str | None,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Connect a mailbox, or renew its consent, and start its first jobs.

    A token that is neither an option nor in the environment is read from standard input, a line each, the access
    token first. A mailbox that another org has, or that another Google user connected, is refused, as by browser.
    """
    email, owner = check_address("email", email).lower(), check_address("owner", owner or email).lower()
    by = operator(operator_name)
    consent = Consent(
        access_token=_token("access_token", access_token),
        refresh_token=_token("refresh_token", refresh_token),
        access_expires_at=runtime().clock() + timedelta(seconds=expires_in),
        scopes=scopes,
        subject=None if google_user is None else check_text("google_user", google_user, LONGEST_SUBJECT),
    )
    sealer = Sealer.of(runtime().settings)
    with runtime().database.ledger() as tx:
        mailbox = OrgMailbox(stored.ensure_org(tx, org), email, owner)
        added = connecting.connect(tx, sealer, mailbox, consent, by=by)
        if isinstance(added, RefusedConsent):
            raise Conflict(added.words(), code=f"oauth.{added.why}")
        answers = enqueue_jobs(tx, added.first_jobs(by))
    document = {
        "account_id": added.account.account_id,
        "org_id": added.account.org_id,
        "email": added.account.email,
        "created": added.created,
        "jobs": [{"job_type": a.hint.job_type, "job_id": str(a.job_id), "created": a.created} for a in answers],
    }
    show_document("account", document, as_json=as_json)


@accounts.command("backfill")
@click.argument("account")
@click.option("--query", default="", help="Gmail's search words, as 'from:anna@example.com'; by default all mail.")
@click.option("--since", help="Not before this RFC 3339 time.")
@click.option("--until", help="Not after this RFC 3339 time; by default now.")
@click.option("--classify", is_flag=True, help="Have inbox messages classified as if they were new.")
@click.option(
    "--most",
    type=click.IntRange(1, MOST_BACKFILLED),
    default=MOST_BACKFILLED,
    show_default=True,
    help="How many messages at most.",
)
@operator_option
@json_option
def backfill_account(  # noqa: PLR0913, PLR0917 - one parameter per option
    account: str,
    query: str,
    since: str | None,
    until: str | None,
    classify: bool,  # noqa: FBT001 - a flag of the command line
    most: int,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Take in older mail of an ACCOUNT (its id or address); what is stored is passed over."""
    document = {"query": query, "since": since, "until": until, "classify": classify, "most": most}
    with runtime().database.ledger() as tx:
        found = target_to_write(tx, account, None)
        named = document | {"account_id": str(found.account_id)}
        payload = BackfillPayload.read(named, BackfillPayload.declaration.version)
        check_wish(payload, runtime().clock())
        made = enqueue(tx, payload, org_id=found.org_id, origin=operator(operator_name))[0]
    show_document("job", {"job_id": made.job_id, "created": made.created, **document}, as_json=as_json)


@accounts.command("backfills")
@click.argument("account")
@json_option
def list_backfills(account: str, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show how far the backfills of an ACCOUNT (its id or address) have come."""
    with runtime().database.ledger() as tx:
        rows = backfills.list_all(tx, account_of(tx, account).account_id)
    show_rows(rows, BACKFILL_COLUMNS, as_json=as_json)


@accounts.command("reseal")
@json_option
def reseal(as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Seal every token anew under the first sealing key; may run while the fleet works."""
    process, resealed = runtime(), 0
    while True:
        with process.database.ledger() as tx:
            batch = tokens.reseal_some(tx, process.sealer)
        resealed += batch
        if not batch:
            break
    show_document("resealed", {"accounts": resealed}, as_json=as_json)


def _token(field: str, given: str | None) -> SecretStr:
    if given is None and sys.stdin.isatty():
        given = click.prompt(field, hide_input=True)
    elif given is None:
        given = sys.stdin.readline()
    if not given.strip():
        raise Invalid(field, "is missing: give it as an option, in the environment, or on standard input")
    return SecretStr(given.strip())
