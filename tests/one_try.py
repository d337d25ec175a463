"""Calls of tools as a worker makes them, without a worker."""

from pydantic import JsonValue

from activities.tool_caller import let_through, run_admitted
from router.contracts.activities import ToolCall
from router.store.idempotency import EffectsLedger
from router.tool.context import Dependencies
from router.tool.registry import Registry


async def run_tool(
    registry: Registry,
    ledger: EffectsLedger,
    dependencies: Dependencies,
    call: ToolCall,
    confirmed: bool = False,
) -> JsonValue:
    """One try of a call: through the gate and, where it writes, through the effects ledger.

    `confirmed` says that the caller has seen these arguments and agreed.
    """
    tool = await let_through(registry, call, confirmed, dependencies)
    return await run_admitted(tool, call, ledger, dependencies)
