"""Prepares the store of artifacts: files whose time is over, and bytes of jobs that died before they wrote a row."""

from datetime import timedelta
from uuid import UUID, uuid4

from domain.jobs.job import SYSTEM_ORG
from domain.notifications.sender import EmailProvider
from domain.planning.files.artifact_urls import read_artifacts_url
from domain.planning.files.artifacts import place_of
from sandbox.s3.s3 import S3Control
from storage.planning import artifacts
from storage.planning.artifacts import StoredArtifact
from tests.doubles.email_orders import order, set_sender
from tests.doubles.mail_environment import MailEnvironment
from tests.doubles.stored_artifacts import store_artifact
from tests.sweep.prepared.places import Prepare, enqueue

OLD_S, YOUNG_S = timedelta(days=2).total_seconds(), 0.0


def ended_artifacts(env: MailEnvironment) -> UUID:
    """An artifact whose time is over, one that a person has deleted, and one that stays."""
    expired, deleted, _kept = (stored(env) for _ in range(3))
    env.database.execute("update artifacts set expires_at = now() where id = %s", (expired.artifact_id,))
    with env.process.database.ledger() as tx:
        artifacts.delete(tx, deleted.artifact_id)
    return enqueue(env, "maintenance.expire_artifacts", {}, SYSTEM_ORG)


def orphaned_bytes(env: MailEnvironment) -> UUID:
    """Bytes that two attempts left, one of them just now; and an artifact that stays, however old its bytes are."""
    bucket = S3Control(read_artifacts_url(env.process.settings.artifacts_url).endpoint)
    for age_s in (OLD_S, YOUNG_S):
        bucket.put_object(place_of(env.account.org_id, uuid4()), "half of a job", age_s=age_s)
    bucket.put_object(stored(env).place, "some bytes", age_s=OLD_S)
    return enqueue(env, "maintenance.sweep_artifacts", {}, SYSTEM_ORG)


def mail_with_file(provider: EmailProvider) -> Prepare:
    """An order of a mail with a file that lies in an artifact."""

    def prepare(env: MailEnvironment) -> UUID:
        set_sender(env.process, env.account.org_id, provider)
        return order(env.process, env.account.org_id, attachments=[str(stored(env).artifact_id)])[1]

    return prepare


def stored(env: MailEnvironment) -> StoredArtifact:
    """A file of the environment's org."""
    with env.process.database.ledger() as tx:
        return store_artifact(tx, env.process.settings, env.account.org_id)
