"""How a write happens once: the effects ledger remembers it before and after it is sent.

begin ──▶ send ──▶ finish        the usual way
  │         ├────▶ fail          it came back refused, and had no effect
  │         └────▶ release       it asked something back first: as if it had never begun
  └ done before: its result, and nothing is sent
  └ begun before, and nobody knows how it ended (a crash, a timeout):
        the tool honours its key ▸ send again, with the same key
        it doesn't               ▸ `UnknownOutcome`, for ever
"""

import hashlib
import json
from collections.abc import Awaitable, Callable

from pydantic import JsonValue, ValidationError

from router.contracts.activities import ToolCall
from router.contracts.failures import RETRYABLE
from router.domain.errors import (
    AnswersNeeded,
    ArgumentsToolError,
    PermanentToolError,
    RouterError,
    ToolError,
    UnknownOutcome,
)
from router.domain.locale import Localised
from router.domain.records import EffectRecord
from router.store.idempotency import EffectsLedger
from router.tool.tool import Tool


async def once(
    ledger: EffectsLedger,
    tool: Tool,
    call: ToolCall,
    send: Callable[[], Awaitable[JsonValue]],
) -> JsonValue:
    """The result of a write that is sent by `send`, now or on an earlier try.

    Raises what `send` raises, at every later try with the same key as well where it was for
    good; `UnknownOutcome` where it may have happened and mustn't be repeated; `DuplicateKey`
    where the key was used for another call.
    """
    known = await ledger.begin(call.key, tool.name, digest(call))
    if known is not None and known.status != "begun":
        return _remembered(known)
    if known is not None and not tool.idempotent:
        raise UnknownOutcome(_perhaps(tool, _LOST))
    try:
        result = await send()
    except RouterError as error:
        failure = await _ended(ledger, tool, call.key, error)
        if failure is error:
            raise
        raise failure from error
    await ledger.finish(call.key, result)
    return result


def digest(call: ToolCall) -> str:
    """Sixteen hex digits that differ where the tool, its arguments, answers or the caller do."""
    what = [call.tool, call.arguments, call.caller.tenant, call.caller.id, call.undoes]
    if call.answers:
        what.append(call.answers)
    text = json.dumps(what, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


async def _ended(ledger: EffectsLedger, tool: Tool, key: str, error: RouterError) -> RouterError:
    """Note how a call failed, and say how to report it."""
    if isinstance(error, UnknownOutcome):
        return error
    if isinstance(error, AnswersNeeded):
        await ledger.release(key)
        return error
    if not isinstance(error, RETRYABLE):
        failure = error if isinstance(error, ToolError) else PermanentToolError(error.said)
        await ledger.fail(key, f"{type(failure).__name__}: {failure.said.model_dump_json()}")
        return failure
    return error if tool.idempotent else UnknownOutcome(_perhaps(tool, error.said))


def _remembered(known: EffectRecord) -> JsonValue:
    if known.status == "done":
        return known.result
    kind, _, written = (known.error or "").partition(": ")
    raise (ArgumentsToolError if kind in _OF_ARGUMENTS else PermanentToolError)(_read(written))


def _read(written: str) -> Localised | str:
    """What the ledger keeps of a failure; older rows have it in English alone."""
    try:
        return Localised.model_validate_json(written)
    except ValidationError:
        return written


_OF_ARGUMENTS = ("ArgumentsToolError", "SeveralFit")
"""Failures whose call can be made anew with other arguments."""
_LOST = Localised(zh="之前的一次尝试没有了下文", en="an earlier try was never heard of again")


def _perhaps(tool: Tool, why: Localised) -> Localised:
    return Localised(
        zh=f"“{tool.title.zh}”可能办成了，也可能没有（{why.zh}），不能放心重来，请到办理它的系统里查一下",
        en=f"{tool.name} may or may not have happened ({why.en}) and can't be repeated safely; "
        "look in the system it writes to",
    )
