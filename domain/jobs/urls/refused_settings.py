"""How a bad value of the environment is named."""

from pydantic import ValidationError


def refused_settings(error: ValidationError) -> str:
    """Which settings are refused and why, in one line, without the values: they may be secrets."""
    found = []
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        name = "_".join(str(part) for part in each["loc"]).upper()
        place = f"POSTROOM_{name.removeprefix('POSTROOM_')}: " if name else ""
        found.append(place + each["msg"].removeprefix("Value error, "))
    return "settings: " + "; ".join(found)
