"""`celery -A tasks deadletters`: look at what died, replay it, mend and replay it, or discard it."""

from collections.abc import Callable, Mapping
from uuid import UUID

import click

from commands.answers import (
    FleetGroup,
    diagnosis_line,
    json_object,
    json_option,
    operator,
    operator_option,
    show_document,
    show_rows,
)
from domain.jobs.failures import Failure, Gone, Invalid
from domain.jobs.job import JsonObject, Origin
from engine.catalogue import catalogue
from engine.runtime import runtime
from storage.ledger import dead_letters, payload_names
from storage.operators import replays
from storage.operators.replays import Mended, Ruling
from storage.postgres.database import Transaction

STATES = ("open", "replayed", "discarded", "all")
LINE = ("letter_id", "job_id", "job_type", "state", "reason", "plan", "created_at")
ids_argument = click.argument("ids", type=click.UUID, nargs=-1, required=True)


@click.group(cls=FleetGroup)
def deadletters() -> None:
    """Look at what died, replay it, or discard it. A letter goes by its own id or by its job's."""


@deadletters.command("list")
@click.option("--state", type=click.Choice(STATES), default="open", show_default=True, help="Only this state.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many at most.")
@json_option
def list_letters(state: str, limit: int, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """List dead letters, the newest first."""
    with runtime().database.ledger() as tx:
        found = dead_letters.listed(tx, state=None if state == "all" else state, limit=limit)
    show_rows(found, LINE, as_json=as_json)


@deadletters.command("show")
@click.argument("letter_id", type=click.UUID)
@json_option
def show_letter(letter_id: UUID, as_json: bool) -> None:  # noqa: FBT001 - a flag of the command line
    """Show a dead letter, its diagnostics and what can be done about it."""
    with runtime().database.ledger() as tx:
        letter = dead_letters.get(tx, letter_id)
    if letter is None:
        raise Gone(f"there is no dead letter {letter_id}")
    show_document("dead letter", letter, as_json=as_json)


@deadletters.command("replay")
@ids_argument
@click.option("--payload", help="A mended payload for one letter: a JSON object, or - for standard input.")
@click.option("--happened", multiple=True, metavar="KEY", help="The doubtful effect of this key did happen.")
@click.option("--did-not-happen", multiple=True, metavar="KEY", help="The doubtful effect of this key did not happen.")
@click.option(
    "--result", "results", nargs=2, multiple=True, metavar="KEY JSON", help="What an effect that happened gave."
)
@click.option("--reason", default="the cause is mended", show_default=True, help="Why; it is kept with the letter.")
@operator_option
@json_option
@click.pass_context
def replay_letters(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: click.Context,
    ids: tuple[UUID, ...],
    payload: str | None,
    happened: tuple[str, ...],
    did_not_happen: tuple[str, ...],
    results: tuple[tuple[str, str], ...],
    reason: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Enqueue dead jobs again, each under a new id that names the old one. Exit status 1 if one could not be."""
    by, rulings = operator(operator_name), rulings_of(happened, did_not_happen, results)
    if len(ids) > 1 and (payload is not None or rulings):
        raise Invalid("ids", "a mended payload or a decision about an effect is for one letter at a time")
    given = None if payload is None else json_object(payload, "payload")

    def replay(tx: Transaction, letter_id: UUID) -> JsonObject:
        mended = check_payload(tx, letter_id, given)
        job_id = replays.replay(tx, letter_id, by=by, reason=reason, mended=mended, rulings=rulings)
        return {"state": "replayed", "job_id": str(job_id)}

    _one_by_one(ctx, ids, replay, as_json=as_json)


@deadletters.command("discard")
@ids_argument
@click.option("--reason", required=True, help="Why; it is kept with the letter.")
@operator_option
@json_option
@click.pass_context
def discard_letters(
    ctx: click.Context,
    ids: tuple[UUID, ...],
    reason: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Close dead letters for good. Exit status 1 if one could not be."""
    by: Origin = operator(operator_name)

    def discard(tx: Transaction, letter_id: UUID) -> JsonObject:
        replays.discard(tx, letter_id, by=by, reason=reason)
        return {"state": "discarded"}

    _one_by_one(ctx, ids, discard, as_json=as_json)


def check_payload(tx: Transaction, letter_id: UUID, given: JsonObject | None) -> Mended | None:
    """Check what the replay will read against its type's schema; raises `Invalid` with the field and the reason."""
    letter = replays.opened(tx, letter_id)
    job_type = catalogue.find(letter.job_type)
    if job_type is None:
        raise Invalid("job_type", f"{letter.job_type} is no job type of this release")
    if given is None:
        job_type.read(letter.payload, letter.payload_version)
        return None
    version = job_type.declared.version
    document = payload_names.resolve(tx, job_type.payload, given, org_id=letter.org_id)
    return Mended(job_type.read(document, version).document(), version)


def rulings_of(
    happened: tuple[str, ...], did_not_happen: tuple[str, ...], results: tuple[tuple[str, str], ...]
) -> Mapping[str, Ruling]:
    """What the options say of each effect; raises `Invalid` when they contradict each other."""
    gave = {key: json_object(text, f"result of {key}") for key, text in results}
    for key in set(happened) & set(did_not_happen):
        raise Invalid(f"effect {key}", "cannot have happened and not have happened")
    for key in set(gave) - set(happened):
        raise Invalid(f"result of {key}", "only an effect that happened has a result")
    return {key: Ruling(happened=True, result=gave.get(key, {})) for key in happened} | {
        key: Ruling(happened=False) for key in did_not_happen
    }


def _one_by_one(
    ctx: click.Context, ids: tuple[UUID, ...], action: Callable[[Transaction, UUID], JsonObject], *, as_json: bool
) -> None:
    """Do it to each letter in a transaction of its own, so that one that cannot be done keeps no other back."""
    rows = []
    for letter_id in ids:
        try:
            with runtime().database.ledger() as tx:
                rows.append({"id": letter_id, **action(tx, letter_id)})
        except Failure as failure:
            rows.append({"id": letter_id, "state": "unchanged", "trouble": diagnosis_line(failure)})
    show_rows(rows, ("id", "state", "job_id", "trouble"), as_json=as_json)
    if any("trouble" in row for row in rows):
        ctx.exit(1)
