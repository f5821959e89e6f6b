"""Lets something happen once in the midst of a job: while it asks the model, or beside another function."""

from collections.abc import Callable
from functools import cached_property
from types import ModuleType

import pytest

from domain.models.money import PROVIDER
from engine.runtime import Runtime
from providers.anthropic.language_model import AnthropicModel
from providers.ports.language_model import ConversationAnswer, ConversationRequest, ModelAnswer, ModelRequest

CONVERSATION = "a conversation"
"""Stands for the tool of a request that may name several."""

Meanwhile = Callable[[str, Callable[[], object]], list[ModelRequest]]


class WatchedModel:
    """The process's client of the model; what is arranged happens once, right after an answer."""

    def __init__(self, process: Runtime) -> None:
        """Take the client's place in a process that has not asked yet."""
        self._process = process
        self._arranged: list[tuple[str, Callable[[], object], list[ModelRequest]]] = []
        self._done: set[int] = set()
        assert process.shared(PROVIDER, lambda: self) is self

    def arrange(self, tool: str, act: Callable[[], object]) -> list[ModelRequest]:
        """Arrange it for the next request with this tool; returns all such requests from now on."""
        self._arranged.append((tool, act, []))
        return self._arranged[-1][2]

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """As the model."""
        for tool, _, requests in self._arranged:
            if tool == request.tool_name:
                requests.append(request)
        try:
            return self._model.ask(request)
        finally:
            self._act(request.tool_name)

    def converse(self, request: ConversationRequest) -> ConversationAnswer:
        """As the model."""
        try:
            return self._model.converse(request)
        finally:
            self._act(CONVERSATION)

    def __getattr__(self, name: str) -> object:
        """All else is the model's."""
        return getattr(self._model, name)

    @cached_property
    def _model(self) -> AnthropicModel:
        settings = self._process.settings
        return AnthropicModel(
            api_key=settings.anthropic_api_key.get_secret_value(),
            timeout_s=settings.anthropic_timeout_s,
            meter=self._process.meters.meter(PROVIDER, ""),
            base_url=settings.anthropic_base_url,
            clock=self._process.clock,
        )

    def _act(self, used: str) -> None:
        for number, (tool, act, _) in list(enumerate(self._arranged)):
            if tool == used and number not in self._done:
                self._done.add(number)
                act()


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
