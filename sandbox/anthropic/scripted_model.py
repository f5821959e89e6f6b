"""The scripted language model: fills a tool's JSON schema by simple rules over the prompt."""

import json
import re
from collections.abc import Sequence
from typing import Any

from sandbox.anthropic.scripted_reading import Kind, Reading, first_name, read_mail, topic
from sandbox.emulator.exchange import Json

NEGATED = re.compile(r"(^|[^a-z])(no|not|none|without|never)([^a-z]|$)|unneed|^un|^non", re.IGNORECASE)
CHOICES: dict[Kind, str] = {
    "question": r"respon|reply|answer|action",
    "spam": r"spam|junk|phish|scam|suspic|fraud",
    "receipt": r"receipt|transact|invoice|order|purchase|billing|financ|notif",
    "newsletter": r"newsletter|marketing|promo|bulk|list|announce",
    "notification": r"notif|automat|update|alert",
    "statement": r"fyi|info|personal",
}
PASSIVE = r"fyi|info|ignore|skip|archive|other|low|read|done"
NEUTRAL = ("none", "safe", "normal", "medium", "neutral", "other", "unknown", "low")
CONFIDENCE: dict[Kind, float] = {
    "question": 0.91, "spam": 0.88, "receipt": 0.96, "newsletter": 0.95, "notification": 0.93, "statement": 0.78,
}  # fmt: skip
WHY: dict[Kind, str] = {
    "question": "The sender asks something of the reader.",
    "spam": "The text carries several marks of unsolicited mail.",
    "receipt": "It records a purchase or a payment and asks for nothing.",
    "newsletter": "It went to many readers and offers to unsubscribe.",
    "notification": "A machine wrote it.",
    "statement": "It informs and asks for nothing.",
}


def last_user_text(request: Json) -> str:
    """The text of the last user turn, which contains the mail."""
    turns = [message for message in request["messages"] if message["role"] == "user"]
    content = turns[-1]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content if block.get("type") == "text")


def fill_tool(tool: Json, request: Json) -> Json:
    """Arguments for a tool that its schema allows, filled from the mail's text."""
    schema = tool.get("input_schema", {})
    filled: Json = _fill(schema, schema, read_mail(last_user_text(request)), "")
    return filled


def free_text(request: Json) -> str:
    """An answer without a tool: JSON when a schema for the output is given, else a sentence."""
    schema = request.get("output_config", {}).get("format", {}).get("schema")
    reading = read_mail(last_user_text(request))
    if schema is not None:
        return json.dumps(_fill(schema, schema, reading, ""))
    return f"{WHY[reading.kind]} (subject: {topic(reading)})"


def _fill(schema: Json, root: Json, reading: Reading, name: str) -> Any:  # noqa: ANN401  # any JSON value
    schema = _resolve(schema, root)
    if "const" in schema or "enum" in schema:
        return schema["const"] if "const" in schema else _choose(schema["enum"], name, reading)
    match _type(schema):
        case "object":
            return _fill_object(schema, root, reading)
        case "array":
            return [_fill(schema.get("items", {}), root, reading, name) for _ in range(schema.get("minItems", 0))]
        case kind:
            return _scalar(kind, schema, reading, name)


def _scalar(kind: str, schema: Json, reading: Reading, name: str) -> str | float | bool | None:
    match kind:
        case "boolean":
            return _truth(name, reading)
        case "number" | "integer":
            return _number(schema, name, reading, whole=kind == "integer")
        case "null":
            return None
        case _:
            return _text(schema, name, reading)


def _fill_object(schema: Json, root: Json, reading: Reading) -> Json:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    names = [name for name in properties if name in required or _is_known(name)]
    return {name: _fill(properties[name], root, reading, name) for name in names}


def _resolve(schema: Json, root: Json) -> Json:
    if "$ref" in schema:
        target: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            target = target[key]
        return _resolve(target, root)
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            options = [option for option in schema[word] if option.get("type") != "null"]
            return _resolve(options[0], root) if options else {"type": "null"}
    return schema


def _type(schema: Json) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    return str(next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind)


def _is_known(name: str) -> bool:
    pattern = r"class|label|categor|confiden|rationale|reason|explan|needs|require|body|text|reply|draft|subject|summar"
    return re.search(pattern, name, re.IGNORECASE) is not None


def _choose(values: Sequence[Any], name: str, reading: Reading) -> Any:  # noqa: ANN401  # an enum may hold anything
    words = [value for value in values if isinstance(value, str)]
    if re.search(r"priority|urgen|importance", name, re.IGNORECASE):
        wanted = "high|urgent" if reading.urgent else "normal|medium"
        return _first(words, wanted) or values[0]
    if re.search(r"danger|risk|tone", name, re.IGNORECASE):
        return _neutral(words) or values[0]
    chosen = _first(words, CHOICES[reading.kind], negated=False)
    if chosen is None and not reading.needs_answer:
        chosen = next((word for word in words if NEGATED.search(word)), None) or _first(words, PASSIVE)
    return chosen or _neutral(words) or values[-1]


def _first(words: Sequence[str], pattern: str, *, negated: bool = True) -> str | None:
    """Try the pattern's alternatives in order; return the first word that one matches."""
    for alternative in pattern.split("|"):
        for word in words:
            if re.search(alternative, word, re.IGNORECASE) and (negated or not NEGATED.search(word)):
                return word
    return None


def _neutral(words: Sequence[str]) -> str | None:
    return next((word for neutral in NEUTRAL for word in words if word.lower() == neutral), None)


def _truth(name: str, reading: Reading) -> bool:
    if re.search(r"respon|reply|answer|action", name, re.IGNORECASE):
        return reading.needs_answer
    if re.search(r"automat|bulk|newsletter", name, re.IGNORECASE):
        return reading.kind in ("newsletter", "notification", "receipt", "spam")
    if re.search(r"urgent", name, re.IGNORECASE):
        return reading.urgent
    return re.search(r"spam|suspic|caution", name, re.IGNORECASE) is not None and reading.kind == "spam"


def _number(schema: Json, name: str, reading: Reading, *, whole: bool) -> float:
    low, high = schema.get("minimum", 0), schema.get("maximum", 1)
    value = low + (high - low) * CONFIDENCE[reading.kind] if "confiden" in name.lower() else low
    return int(value) if whole else round(float(value), 4)


def _text(schema: Json, name: str, reading: Reading) -> str:
    if re.search(r"subject|title", name, re.IGNORECASE):
        text = f"Re: {topic(reading)}"
    elif re.search(r"body|text|reply|draft|message|content", name, re.IGNORECASE):
        text = _letter(reading)
    elif re.search(r"label|class|categor", name, re.IGNORECASE):
        text = "needs_response" if reading.needs_answer else "no_response"
    else:
        text = f"{WHY[reading.kind]} Subject: {topic(reading)}."
    return text[: schema.get("maxLength", len(text))]


def _letter(reading: Reading) -> str:
    asked = f'You wrote: "{reading.question}" ' if reading.question else ""
    if re.search(r"\bshort", reading.wish, re.IGNORECASE):
        return f"Hi {first_name(reading)},\n\nthank you, I will come back to you.\n\nBest regards\n"
    if reading.wish:
        asked += f"(Written anew as asked: {reading.wish}) "
    return (
        f"Hi {first_name(reading)},\n\n"
        f'thank you for your message about "{topic(reading)}". {asked}I will look into it and come back to you.\n\n'
        "Best regards\n"
    )
