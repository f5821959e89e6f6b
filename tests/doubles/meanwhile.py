"""Lets something happen once while a job asks the model: after the answer, before the job goes on."""

from collections.abc import Callable
from types import ModuleType
from uuid import UUID

import pytest

from domain.mail.triage.prompts import Prompt
from engine.context import JobContext

Meanwhile = Callable[[ModuleType, Callable[[], object]], list[Prompt]]


def arrange(monkeypatch: pytest.MonkeyPatch, family: ModuleType, act: Callable[[], object]) -> list[Prompt]:
    """Arrange it for the module that asks; returns the prompts, also those of jobs that begin later."""
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
