"""The values of a call's context that declarations may ask for, which no model sees."""

from collections.abc import Callable, Mapping

from pydantic import JsonValue

from router.tool.context import ToolContext

CONTEXT_VALUES: Mapping[str, Callable[[ToolContext], JsonValue]] = {
    "user_id": lambda context: context.caller.id,
    "user_name": lambda context: context.caller.name,
    "tenant": lambda context: context.caller.tenant,
    "locale": lambda context: context.locale,
    "timezone": lambda context: context.caller.timezone,
    "department": lambda context: context.caller.department,
    "manager": lambda context: context.caller.manager,
    "roles": lambda context: [*sorted(context.caller.roles)],
    "conversation_id": lambda context: context.conversation,
    "flow_run": lambda context: context.flow_run,
    "now": lambda context: context.now.isoformat(),
    "today": lambda context: context.now.date().isoformat(),
    "idempotency_key": lambda context: context.key or None,
    "undoes": lambda context: context.undoes or None,
}
"""By name, how each is read; `None` if it isn't set."""
