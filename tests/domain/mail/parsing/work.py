"""Counts the work of a call in steps that are the same on every machine."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from inspect import CO_GENERATOR
from types import FrameType
from typing import Any

from charset_normalizer import from_bytes


@dataclass
class Steps:
    """What a call did. `lines` is the interpreter's part; `handed` bounds what regular expressions and codecs do."""

    lines: int = 0
    """Lines of Python that were run."""
    handed: int = 0
    """Characters and bytes that functions were given to read, each time that they were.

    A generator gets its arguments once, however often it goes on. A function that gets a whole text and a place in it
    reads from there to `stop`, or as far as the place that it returns; one that returns the same place has looked at
    all the rest.
    """
    detections: int = 0
    """Texts whose charset was detected by their letters."""
    detecting: int = 0
    """Lines of Python that the detector ran; they are in none of the others."""


PLACES = ("start", "opening")


def count_steps(call: Callable[[], object]) -> Steps:
    """Run it under Python's own tracing; the code that is measured knows nothing of it."""
    steps, begun = Steps(), set[FrameType]()

    def called(frame: FrameType, _event: str, _argument: object) -> Any:  # noqa: ANN401 - a tracer
        code = frame.f_code
        given = {name: frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount]}
        length = 0 if frame in begun else sum(len(value) for value in given.values() if isinstance(value, str | bytes))
        if code.co_flags & CO_GENERATOR:
            begun.add(frame)
        place = next((given[name] for name in PLACES if isinstance(given.get(name), int)), None)
        if place is None or not length:
            steps.handed += 0 if isinstance(given.get("stop"), int) else length
        elif "stop" in given:
            stop = given["stop"]
            steps.handed += (length if stop is None else stop) - place
            place = None

        def line(_frame: FrameType, event: str, answer: object) -> Any:  # noqa: ANN401 - a tracer
            if event == "line":
                steps.lines += 1
            elif event == "return" and place is not None and length:
                steps.handed += answer - place if isinstance(answer, int) and answer > place else length - place
            return line

        return line

    before = sys.gettrace()
    sys.settrace(_passing_the_detector_over(called, steps))
    try:
        call()
    finally:
        sys.settrace(before)
    return steps


def _passing_the_detector_over(tracer: Callable[[FrameType, str, object], Any], steps: Steps) -> Callable[..., Any]:
    """Count what the detector does apart: it costs the same for each text, and a short message may have several."""
    detecting = False

    def line(_frame: FrameType, event: str, _answer: object) -> Any:  # noqa: ANN401 - a tracer
        steps.detecting += event == "line"
        return line

    def detected(frame: FrameType, event: str, answer: object) -> Any:  # noqa: ANN401 - a tracer
        nonlocal detecting
        detecting = event != "return"
        line(frame, event, answer)
        return detected

    def called(frame: FrameType, event: str, argument: object) -> Any:  # noqa: ANN401 - a tracer
        nonlocal detecting
        if detecting:
            return line
        if frame.f_code is not from_bytes.__code__:
            return tracer(frame, event, argument)
        detecting = True
        steps.detections += 1
        return detected

    return called
