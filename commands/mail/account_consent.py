"""`celery -A tasks accounts connect`: the link by which a mailbox's owner connects it in a browser."""

import webbrowser

import click

from commands.answers import json_option, operator, operator_option, show_document
from engine.runtime import runtime
from storage.mail.accounts import accounts as stored
from storage.mail.accounts import consents
from storage.mail.accounts.consents import ConsentWish


@click.command("connect")
@click.argument("email")
@click.option("--org", required=True, help="The org: its id or name; a name that no org has makes one.")
@click.option("--owner", help="The owner's address; by default the mailbox's own.")
@click.option("--deletes", is_flag=True, help="Also ask for the right to delete mail for good.")
@click.option("--browser", is_flag=True, help="Open the link in this machine's browser, too.")
@operator_option
@json_option
def connect_by_browser(  # noqa: PLR0913, PLR0917 - one parameter per option
    email: str,
    org: str,
    owner: str | None,
    deletes: bool,  # noqa: FBT001 - a flag of the command line
    browser: bool,  # noqa: FBT001 - a flag of the command line
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Make a link by which the owner of the mailbox EMAIL connects it, or connects it again. It works once."""
    wish = ConsentWish.of(email, owner, deletes=deletes)
    with runtime().database.ledger() as tx:
        link = consents.invite(tx, runtime().settings, stored.ensure_org(tx, org), wish, by=operator(operator_name))
    document = {"email": wish.email, "expires_at": link.expires_at}
    show_document("link", document | ({"link": link.address} if as_json else {}), as_json=as_json)
    if not as_json:
        # In a line of its own: folded by a table, it could not be copied.
        click.echo(f"\n{link.address}\n\nIt works once. Send it to the mailbox's owner, or open it in a browser.")
    if browser and not webbrowser.open(link.address):
        click.echo("This machine has no browser: open the link yourself.", err=True)
