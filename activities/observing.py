"""Activities as operators see them: a span, measurements, and what their log lines are about."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from opentelemetry.util.types import AttributeValue
from temporalio import activity
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from router.telemetry import spans
from router.telemetry.about import about
from router.telemetry.metrics import ACTIVITIES, RETRIES

_log = logging.getLogger(__name__)


class Observing(Interceptor):
    """A worker's interceptor. Workflows are left alone: what replays must emit nothing twice."""

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002
        """Watch every try of every activity."""
        return _Watched(next)


class _Watched(ActivityInboundInterceptor):
    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002
        # The function's name: a tool's activity is named after the tool, as anybody wrote it.
        name, info = input.fn.__name__, activity.info()
        attributes: dict[str, AttributeValue] = {
            "temporal.activity.type": info.activity_type,
            "temporal.activity.attempt": info.attempt,
            "temporal.workflow.id": info.workflow_id or "",
        }
        if info.attempt > 1:
            RETRIES.labels(name).inc()
        began, outcome = monotonic(), "done"
        try:
            with (
                about(*_place(input.args)),
                spans.span(f"activity {name}", attributes=attributes),
                _logged(info),
            ):
                return await super().execute_activity(input)
        except BaseException as error:
            outcome = type(error).__name__
            raise
        finally:
            ACTIVITIES.labels(name, outcome).observe(monotonic() - began)


@contextmanager
def _logged(info: activity.Info) -> Iterator[None]:
    """Note a failed try where trace and turn are known; Temporal logs it where neither is."""
    try:
        yield
    except Exception as error:
        _log.info("try %d of %s: %s", info.attempt, info.activity_type, type(error).__name__)
        raise


def _place(arguments: Any) -> tuple[str | None, str | None]:
    """Conversation and message, where the first argument says for which it is done."""
    given = arguments[0] if arguments else None
    account = getattr(given, "account", given)
    return getattr(account, "conversation", None), getattr(account, "message_id", None)
