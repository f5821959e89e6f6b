"""Whose jobs a connected mailbox runs (docs: mail.md#accounts)."""

from domain.payloads.actions import UnsnoozePayload
from domain.payloads.gmail import IngestPayload, RenewWatchPayload, SyncLabelsPayload, SyncPayload

FOR_ANYONE = frozenset(
    one.declaration.job_type
    for one in (SyncPayload, IngestPayload, SyncLabelsPayload, RenewWatchPayload, UnsnoozePayload)
)
"""Job types that are done for whoever has connected the mailbox by then, also when their jobs were made before.

They carry out nobody's order: they look, and the next owner's are folded into those that wait. Nobody else would bring
a snoozed message back.
"""
