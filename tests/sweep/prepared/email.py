"""Prepares mail that is to leave by a vendor."""

from uuid import UUID

from domain.notifications.sender import EmailProvider
from tests.doubles.email_orders import order, set_sender
from tests.doubles.mail_environment import MailEnvironment


def mail_by_resend(env: MailEnvironment) -> UUID:
    """An order of an org that sends by a provider which knows keys."""
    set_sender(env.process, env.account.org_id, EmailProvider.RESEND)
    return order(env.process, env.account.org_id)[1]


def mail_by_graph(env: MailEnvironment) -> UUID:
    """An order of an org that sends by a provider which makes a draft first."""
    set_sender(env.process, env.account.org_id, EmailProvider.GRAPH)
    return order(env.process, env.account.org_id)[1]
