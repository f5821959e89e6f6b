"""Whether a job that a task message asks for is one that this fleet does, and its payload one that its class takes."""

from dataclasses import replace

from domain.jobs.failures import Invalid
from engine.catalogue import catalogue
from engine.messages.foreign import ForeignMessage, RefusedMessage


def accepted(received: ForeignMessage) -> ForeignMessage | RefusedMessage:
    """The message, or its refusal when its type or its payload does not fit; a type that is unknown here may exist."""
    contract, known = received.contract, catalogue.find(received.task)
    if contract is None:
        return received
    names = {received.task} if known is None else {known.name, *known.declared.aliases}
    if contract.job_type not in names:
        return received.refused("job_type", f"the message is addressed to {received.task}")
    if known is None:
        return received
    if known.declared.asked_by is not None:
        return received.refused("job_type", f"is enqueued by the fleet itself: ask by {known.declared.asked_by}")
    try:
        payload, version, is_checked = known.payload.accept(contract.payload, contract.payload_version)
    except Invalid as problem:
        return received.refused(problem.field, problem.reason)
    return replace(
        received,
        contract=contract.model_copy(update={"payload": payload, "payload_version": version}),
        is_checked=is_checked,
    )
