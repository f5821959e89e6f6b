"""Token counts and the prompt cache, as Anthropic bills them: whole prefixes, a minimum length, two lifetimes."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from sandbox.emulator.clock import EmulatorClock
from sandbox.emulator.exchange import ApiFailure, Json

LIFETIMES = {"5m": 300.0, "1h": 3_600.0}
CHARACTERS_PER_TOKEN = 4
MOST_BREAKPOINTS = 4
MINIMUM_PREFIX_TOKENS = 1_024


@dataclass(frozen=True, slots=True)
class Segment:
    """One block of the prompt in the order of the cache: tools, system, messages. `ttl` marks a breakpoint."""

    text: str
    ttl: str | None


@dataclass(frozen=True, slots=True)
class Prefix:
    """The prompt up to a breakpoint."""

    key: str
    tokens: int
    ttl: str


def tokens_of(text: str) -> int:
    """A plausible count; the real tokenizer is not public."""
    return -(-len(text.encode()) // CHARACTERS_PER_TOKEN)


def segments_of(request: Json) -> list[Segment]:
    """The prompt cut into blocks; a top-level `cache_control` marks the last one."""
    segments = list(_segments(request))
    if request.get("cache_control") and segments:
        segments[-1] = Segment(segments[-1].text, request["cache_control"].get("ttl", "5m"))
    if sum(segment.ttl is not None for segment in segments) > MOST_BREAKPOINTS:
        message = f"A maximum of {MOST_BREAKPOINTS} blocks with cache_control may be provided."
        raise ApiFailure(400, "invalid_request_error", message)
    return segments


def count_tokens(request: Json) -> int:
    """All of the prompt's tokens."""
    return sum(tokens_of(segment.text) for segment in segments_of(request))


def _segments(request: Json) -> Iterator[Segment]:
    for tool in request.get("tools", []):
        yield _segment(tool)
    yield from _blocks(request.get("system", []), "system")
    for message in request["messages"]:
        yield from _blocks(message["content"], message["role"])


def _blocks(content: str | list[Json], role: str) -> Iterator[Segment]:
    if isinstance(content, str):
        yield Segment(f"{role}:{content}", None)
        return
    for block in content:
        yield _segment({"role": role, **block})


def _segment(block: Json) -> Segment:
    control = block.get("cache_control")
    text = json.dumps({name: value for name, value in block.items() if name != "cache_control"}, sort_keys=True)
    return Segment(text, control.get("ttl", "5m") if control else None)


class PromptCache:
    """Cached prefixes by API key and model."""

    def __init__(self, clock: EmulatorClock) -> None:
        """Begin empty."""
        self.minimum = MINIMUM_PREFIX_TOKENS
        self._clock = clock
        self._living: dict[str, float] = {}
        self._lock = Lock()

    def usage(self, request: Json, owner: str) -> Json:
        """The input side of `usage`: what was read, what was written and for how long, and the rest."""
        segments = segments_of(request)
        total = sum(tokens_of(segment.text) for segment in segments)
        prefixes = [prefix for prefix in _prefixes(segments, owner) if prefix.tokens >= self.minimum]
        with self._lock:
            read = max((prefix.tokens for prefix in prefixes if self._lives(prefix)), default=0)
            written = dict.fromkeys(LIFETIMES, 0)
            reached = read
            for prefix in prefixes:
                written[prefix.ttl] += max(0, prefix.tokens - reached)
                reached = max(reached, prefix.tokens)
                self._living[prefix.key] = self._clock.now() + LIFETIMES[prefix.ttl]
        return {
            "input_tokens": total - reached,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": reached - read,
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }

    def reset(self) -> None:
        """Forget every prefix, and use the default minimum length."""
        with self._lock:
            self._living.clear()
            self.minimum = MINIMUM_PREFIX_TOKENS

    def _lives(self, prefix: Prefix) -> bool:
        return self._living.get(prefix.key, 0.0) > self._clock.now()


def _prefixes(segments: list[Segment], owner: str) -> Iterator[Prefix]:
    digest, tokens = hashlib.sha256(owner.encode()), 0
    for segment in segments:
        digest.update(hashlib.sha256(segment.text.encode()).digest())
        tokens += tokens_of(segment.text)
        if segment.ttl is not None:
            yield Prefix(digest.hexdigest(), tokens, segment.ttl)
