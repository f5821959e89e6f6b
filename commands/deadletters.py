"""`celery -A tasks deadletters replay`: what people found out about effects stands in options."""

from uuid import UUID

import click

from commands.answers import json_object, json_option, operator_option
from commands.operations import AREAS, call_of, do_each
from domain.jobs.failures import Invalid
from operations.jobs.dead_letters import MENDED, replay_dead_letter, rulings_of

deadletters: click.Group = AREAS.deadletters


@deadletters.command("replay", help=replay_dead_letter.text)
@click.argument("ids", type=click.UUID, nargs=-1, required=True)
@click.option("--payload", help="A mended payload for one letter: a JSON object, or - for standard input.")
@click.option("--happened", multiple=True, metavar="KEY", help="The doubtful effect of this key did happen.")
@click.option("--did-not-happen", multiple=True, metavar="KEY", help="The doubtful effect of this key did not happen.")
@click.option(
    "--result", "results", nargs=2, multiple=True, metavar="KEY JSON", help="What an effect that happened gave."
)
@click.option("--reason", default=MENDED, show_default=True, help="Why; it is kept with the letter.")
@operator_option
@json_option
def replay_letters(  # noqa: PLR0913, PLR0917 - one parameter per option
    ids: tuple[UUID, ...],
    payload: str | None,
    happened: tuple[str, ...],
    did_not_happen: tuple[str, ...],
    results: tuple[tuple[str, str], ...],
    reason: str,
    operator_name: str,
    as_json: bool,  # noqa: FBT001 - a flag of the command line
) -> None:
    """Replay each letter."""
    if len(ids) > 1 and (payload is not None or happened or did_not_happen):
        raise Invalid("ids", "a mended payload or a decision about an effect is for one letter at a time")
    gave = {key: json_object(text, f"result of {key}") for key, text in results}
    for key in set(gave) - set(happened):
        raise Invalid(f"result of {key}", "only an effect that happened has a result")
    answered = {key: gave.get(key, {}) for key in happened}
    rulings_of(answered, did_not_happen)
    said = {
        "payload": None if payload is None else json_object(payload, "payload"),
        "happened": answered,
        "did_not_happen": list(did_not_happen),
        "reason": reason,
    }
    call = call_of(operator_name, None)
    do_each(replay_dead_letter, call, [{"letter_id": letter_id, **said} for letter_id in ids], as_json=as_json)
