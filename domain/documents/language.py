"""Models that are a language: they read what people write, their schema describes it, and their dump writes it back."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    RootModel,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError, core_schema

from domain.documents.faults import Fault
from domain.documents.paths import Path
from domain.jobs.contract import OF_FIELD, reason_of

_OF_KEY, _OF_VALUE = "of_key", "of_value"
_NOTHING = object()
"""Stands for null, which a word that may be left out would take: no word takes it."""
_REASONS = {
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "list_type": "must be a list",
    "string_too_long": "has more than {max_length} characters",
    "string_too_short": "must not be empty",
    "string_type": "must be a text; put quotes around a word such as true",
    "too_long": "has more than {max_length} values",
    "too_short": "must not be an empty list",
    "tuple_type": "must be a list",
}
"""What is said of pydantic's kinds of error whose own words are those of a programmer."""


class Words(BaseModel):
    """A mapping of words. Each word that is not known is a fault of its own, and so is one whose value is null.

    The value of the word `short` may be written in the place of the mapping, and is where there is no other.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, serialize_by_alias=True, alias_generator=lambda name: name.removesuffix("_")
    )

    short: ClassVar[str | None] = None
    words: ClassVar[dict[str, str]]
    """By the name of the field, each as it is written."""
    _known: ClassVar[frozenset[str]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - pydantic's signature
        """Note the words, which each mapping is compared with."""
        cls.words = {name: field.alias or name for name, field in cls.model_fields.items()}
        cls._known = frozenset(cls.words.values())

    @model_validator(mode="before")
    @classmethod
    def _has_known_words(cls, value: object) -> object:
        if isinstance(value, dict):
            if not cls._known.issuperset(value):
                raise refused(*cls._odd(value))
            return (
                value
                if None not in value.values()
                else {word: _NOTHING if one is None else one for word, one in value.items()}
            )
        if isinstance(value, cls):
            return value
        if cls.short is None:
            raise refused(Fault((), f"must be a mapping of {', '.join(cls.words.values())}"))
        return {cls.short: value}

    @classmethod
    def _odd(cls, given: dict[object, object]) -> Iterator[Fault]:
        reason = f"is not known here; known are {', '.join(cls.words.values())}"
        return (Fault((str(word),), reason, of_key=True) for word in given if word not in cls._known)

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler) -> Any:  # noqa: ANN401 - as people write it
        written = {word: value for word, value in handler(self).items() if value is not None}
        return written[self.short] if self.short and [*written] == [self.short] else written

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """The schema of the mapping, and of what may stand in its place."""
        made = handler(schema)
        if cls.short:
            described = handler.resolve_ref_schema(made)
            mapping = described.copy()
            described.clear()
            described.update(anyOf=[mapping["properties"][cls.short], mapping])
        return made


Root = TypeVar("Root")


class Value(RootModel[Root], Generic[Root]):
    """A value of a word that is no mapping of its own."""

    model_config = ConfigDict(frozen=True)


SAYS_SOMETHING = r"\S"
AS_TEXT = Field(coerce_numbers_to_str=True, pattern=SAYS_SOMETHING)
"""Marks a text that says something, and that YAML may read as a number: `subject: 2026`."""


class OneOrMany:
    """Marks a list as one value or a list of values; a value that is alone is written without a list."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:  # noqa: ANN401 - pydantic's signature
        """Read a value as the list of it."""
        listed = handler(source)
        return core_schema.no_info_before_validator_function(
            lambda value: value if isinstance(value, list | tuple) else [value],
            listed,
            serialization=core_schema.wrap_serializer_function_ser_schema(_one_or_many, schema=listed),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Either."""
        listed = handler(schema)
        return {"anyOf": [listed["items"], listed]}


class LanguageSchema(GenerateJsonSchema):
    """Describes a language in which a word is left out, and never null, and a number may be a text."""

    def str_schema(self, schema: core_schema.StringSchema) -> JsonSchemaValue:
        """Of a text, and of a number where one is taken for a text."""
        made = super().str_schema(schema)
        return made | {"type": ["string", "number"]} if schema.get("coerce_numbers_to_str") else made

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Of a word that may be left out."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Without the default of a word that has none."""
        made = super().default_schema(schema)
        return made if made.get("default") is not None else {key: made[key] for key in made if key != "default"}


def refused(*faults: Fault) -> ValidationError:
    """What a validator raises for parts of its value: pydantic puts the path of the value before theirs."""
    return ValidationError.from_exception_data(
        "document",
        [
            InitErrorDetails(
                type=PydanticCustomError(_OF_KEY if one.of_key else _OF_VALUE, "{reason}", {"reason": one.reason}),
                loc=one.path,
                input=None,
            )
            for one in faults
        ],
    )


def faults_of(error: ValidationError, document: object, path: Path = ()) -> Iterator[Fault]:
    """Pydantic's errors about a document that is at `path` of the whole; none shows a value that is refused."""
    for problem in error.errors(include_url=False, include_input=False):
        kind, loc, context = problem["type"], problem["loc"], problem.get("ctx", {})
        if kind == OF_FIELD:
            loc = (*loc, *str(context["field"]).split("."))
        if kind == "missing":
            loc, reason = loc[:-1], f"needs {loc[-1]}"
        elif context.get("pattern") == SAYS_SOMETHING:
            reason = "must not be empty"
        else:
            reason = _REASONS[kind].format(**context) if kind in _REASONS else reason_of(problem)
        yield Fault((*path, *_path_in(document, loc)), reason[:300], of_key=kind == _OF_KEY)


def _path_in(document: object, loc: Path) -> Path:
    """The parts of a location that the document has: pydantic names choices, and words that are left out, too."""
    found: list[str | int] = []
    for part in loc:
        in_list = isinstance(document, list) and isinstance(part, int) and part < len(document)
        if in_list or (isinstance(document, Mapping) and part in document):
            document = document[part]  # type: ignore[index]  # it is there
            found.append(part)
    return tuple(found)


def _one_or_many(value: Any, handler: SerializerFunctionWrapHandler) -> Any:  # noqa: ANN401 - as people write it
    written = list(handler(value))
    return written[0] if len(written) == 1 else written
