"""Lets something happen once in the midst of a job: while it asks the model, or beside another function."""

from collections.abc import Callable
from types import ModuleType
from uuid import UUID

import pytest

from domain.mail.triage.prompts import Prompt
from engine.context import JobContext

Meanwhile = Callable[[ModuleType, Callable[[], object]], list[Prompt]]


def arrange(monkeypatch: pytest.MonkeyPatch, family: ModuleType, act: Callable[[], object]) -> list[Prompt]:
    """Arrange it for the module that asks, after its answer; returns the prompts, also of jobs that begin later."""
    real, todo = family.ask, [act]
    prompts: list[Prompt] = []

    def asking(
        ctx: JobContext,
        account_id: UUID,
        step: str,
        model: str,
        prompt: Prompt,
        accept: Callable[..., object],
        *,
        based_on: str | None = None,
    ) -> object:
        prompts.append(prompt)
        try:
            return real(ctx, account_id, step, model, prompt, accept, based_on=based_on)
        finally:
            if todo:
                todo.pop()()

    monkeypatch.setattr(family, "ask", asking)
    return prompts


def once_before(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | type, name: str, act: Callable[[], object]
) -> None:
    """Let something happen right before a function of the module is called, the first time."""
    real, todo = getattr(module, name), [act]

    def function(*given: object, **named: object) -> object:
        if todo:
            todo.pop()()
        return real(*given, **named)

    monkeypatch.setattr(module, name, function)


def once_after(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType | type, name: str, act: Callable[[], object]
) -> None:
    """The same, right after it."""
    real, todo = getattr(module, name), [act]

    def function(*given: object, **named: object) -> object:
        result = real(*given, **named)
        if todo:
            todo.pop()()
        return result

    monkeypatch.setattr(module, name, function)
