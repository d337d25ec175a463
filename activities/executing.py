"""A tool's try as operators see it: a span and a measurement, by the tool's name."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from pydantic import JsonValue

from router.contracts.activities import ToolCall
from router.telemetry import spans
from router.telemetry.metrics import TOOLS
from router.tool.registry import Registry

UNKNOWN = "unknown"
"""A tool that isn't there any more: its name may be anybody's."""


@contextmanager
def executing(call: ToolCall, registry: Registry) -> Iterator[Callable[[JsonValue], None]]:
    """What is within is the try; give the result to what this gives."""
    name = call.tool if call.tool in registry else UNKNOWN
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": call.call_id,
        "gen_ai.conversation.id": call.conversation or "",
    }
    began, fault = monotonic(), ""
    try:
        with spans.span(f"execute_tool {name}", attributes=attributes) as span:
            spans.show(span, "gen_ai.tool.call.arguments", call.arguments)
            yield lambda result: spans.show(span, "gen_ai.tool.call.result", result)
    except BaseException as error:
        fault = type(error).__name__
        raise
    finally:
        TOOLS.labels(name, fault).observe(monotonic() - began)
