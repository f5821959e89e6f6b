"""What Discord's own description of its API (OpenAPI, version 10) says of the requests that we make.

Source: https://github.com/discord/discord-api-spec, `specs/openapi.json`, the schemas that each row names. The limit of
`content` is the narrower one of https://discord.com/developers/docs/resources/message, for a bot without Nitro: the
description allows 4,000.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """One field: what it must be, how long or large it may be, and whether it must be there."""

    kind: type | tuple[type, ...]
    least: int = 0
    most: int | None = None
    one_of: tuple[object, ...] = ()
    required: bool = False


MESSAGE: Mapping[str, Rule] = {  # MessageCreateRequest
    "content": Rule(str, 1, 2_000, required=True),
    "nonce": Rule((str, int), 0, 25),
    "enforce_nonce": Rule(bool),
    "allowed_mentions": Rule(dict, required=True),
    "flags": Rule(int),
    "components": Rule(list, 0, 40),
    "embeds": Rule(list, 0, 10),
}
EDIT: Mapping[str, Rule] = {name: rule for name, rule in MESSAGE.items() if "nonce" not in name}
WEBHOOK: Mapping[str, Rule] = {  # IncomingWebhookRequestPartial
    **EDIT,
    "username": Rule(str, 1, 80),
    "avatar_url": Rule(str, 0, 2_048),
    "thread_name": Rule(str, 0, 100),
}
ROW: Mapping[str, Rule] = {  # ActionRowComponentForMessageRequest
    "type": Rule(int, one_of=(1,), required=True),
    "components": Rule(list, 1, 5, required=True),
}
BUTTON: Mapping[str, Rule] = {  # ButtonComponentForMessageRequest
    "type": Rule(int, one_of=(2,), required=True),
    "style": Rule(int, one_of=(1, 2, 3, 4), required=True),  # 5 and 6 take no custom_id
    "custom_id": Rule(str, 1, 100, required=True),
    "label": Rule(str, 0, 80),
    "disabled": Rule(bool),
}
MENTIONS: Mapping[str, Rule] = {  # MessageAllowedMentionsRequest
    "parse": Rule(list, 0, 3),
    "users": Rule(list, 0, 100),
    "roles": Rule(list, 0, 100),
    "replied_user": Rule(bool),
}


def problems_of(request: Mapping[str, Any], rules: Mapping[str, Rule] = MESSAGE) -> list[str]:
    """What Discord would refuse, or not know, of a request."""
    return list(_problems(request, rules, ""))


def _problems(given: Mapping[str, Any], rules: Mapping[str, Rule], place: str) -> Iterator[str]:
    yield from (f"{place}{name}: is not known" for name in given if name not in rules)
    for name, rule in rules.items():
        if name in given:
            yield from _wrong(given[name], rule, f"{place}{name}")
        elif rule.required:
            yield f"{place}{name}: is missing"
    if isinstance(given.get("allowed_mentions"), dict):
        yield from _problems(given["allowed_mentions"], MENTIONS, f"{place}allowed_mentions.")
    inner = ROW if rules is not ROW else BUTTON
    parts = [one for one in given.get("components", ()) if isinstance(one, dict)]
    for number, part in enumerate(parts):
        yield from _problems(part, inner, f"{place}components.{number}.")
    if rules is not ROW and rules is not BUTTON:
        names = [button.get("custom_id") for row in parts for button in row.get("components", ())]
        yield from ("components: a custom_id is there twice" for _ in range(len(names) - len(set(names))))


def _wrong(value: object, rule: Rule, place: str) -> Iterator[str]:
    kinds = rule.kind if isinstance(rule.kind, tuple) else (rule.kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        yield f"{place}: is of another type"
    elif rule.one_of and value not in rule.one_of:
        yield f"{place}: is none of {rule.one_of}"
    elif isinstance(value, str | list) and len(value) < rule.least:
        yield f"{place}: is shorter than {rule.least}"
    elif isinstance(value, str | list) and rule.most is not None and len(value) > rule.most:
        yield f"{place}: is longer than {rule.most}"
