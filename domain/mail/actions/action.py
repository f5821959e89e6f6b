"""What every action is: a kind with its parameters, its danger and its inverse."""

from typing import ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from domain.jobs.job import JsonObject
from domain.mail.actions.kinds import ActionKind, Danger, Inverse


class LabelWish(NamedTuple):
    """Labels that a message shall carry and labels that it shall not, by id."""

    add: frozenset[str] = frozenset()
    remove: frozenset[str] = frozenset()


class Action(BaseModel):
    """One action. `kind` tells the class, the other fields are its parameters; label ids, never names."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    danger: ClassVar[Danger]
    inverse: ClassVar[Inverse]

    kind: ActionKind

    @property
    def parameters(self) -> JsonObject:
        """The parameters as they are stored."""
        return self.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True)

    @property
    def is_reversible(self) -> bool:
        """Whether undo can take the action back."""
        return self.inverse is not Inverse.NONE
