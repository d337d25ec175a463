"""The one gate that every call of a tool passes, whoever makes it. Pure: it only looks.

The checks run in an order that gives nothing away: whoever may not call a tool doesn't
learn what arguments it would have taken, and whatever is refused has had no effect.

    caller ▸ arguments ▸ (the tool's own rules, which look at the world) ▸ approval ▸ confirmation
    ▸ keys
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from router.domain.errors import ArgumentsToolError, Forbidden, NotFound, PermanentToolError
from router.domain.locale import Localised
from router.domain.principals import EVERYTHING, Principal
from router.domain.run_approvals import RunApproval, covers
from router.domain.visible_text import legible
from router.tool.implementation import problem_at
from router.tool.registry import Registry, allows, not_there
from router.tool.tool import Tool

_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SHOWN = 10
"""Problems named in one refusal; whoever is so far off starts anew anyway."""


@dataclass(frozen=True)
class Attempt:
    """A call somebody wants to make."""

    tool: str
    arguments: Mapping[str, JsonValue]
    caller: Principal
    key: str = ""
    flow_run: str | None = None
    """The workflow id of the run on whose authority the call is made; None for a person."""
    confirmed: bool = False
    """True where the caller has seen these very arguments and said yes."""
    undoes: str = ""
    """The key of the call that this one takes back."""
    approvals: tuple[RunApproval, ...] = ()
    """The approvals of the run that are in force."""
    slots_digest: str = ""
    """The digest of the run's slots that the arguments come from."""


def screen(registry: Registry, attempt: Attempt) -> Tool:
    """What of the gate comes before the tool's own rules: who calls, and with what; the tool.

    Raises, in the order of the checks:
        NotFound: There is no such tool, or not for the caller's tenant.
        Forbidden: The caller doesn't hold a role that may call it.
        ArgumentsToolError: The arguments don't fit its schema; each field is named.
    """
    tool = _known(registry, attempt)
    if not attempt.caller.entitlement.covers("tool", tool.name):
        # Not a word more than of a tool that isn't there: what others have is theirs.
        raise not_there(attempt.tool)
    if not allows(tool, attempt.caller, by_flow=attempt.flow_run is not None):
        roles = sorted(tool.roles)
        zh = f"{attempt.caller.id} 不能用“{tool.title.zh}”，它只给 {' 或 '.join(roles)} 用"
        en = f"{attempt.caller.id} may not call {tool.name}; it is for {' or '.join(roles)}"
        raise Forbidden(Localised(zh=zh, en=en))
    problems = [*_unprintable(attempt.arguments, what_writes=tool.writes)]
    problems = problems or tool.implementation.problems(attempt.arguments)
    if problems:
        more = len(problems) - _SHOWN
        named = "; ".join(problems[:_SHOWN])
        zh = f"“{tool.title.zh}”的参数不对：{named}" + (f"；还有 {more} 处" if more > 0 else "")
        en = f"{tool.name}: {named}" + (f"; and {more} more" if more > 0 else "")
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return tool


def _known(registry: Registry, attempt: Attempt) -> Tool:
    try:
        return registry[attempt.tool]
    except NotFound:
        # The names that are near may be those of tools that only others have.
        if attempt.caller.entitlement == EVERYTHING:
            raise
        raise not_there(attempt.tool) from None


def admit(registry: Registry, attempt: Attempt) -> Tool:
    """The tool, for a call that may be made.

    Raises what `screen` raises, and then:
        Forbidden: It has to be confirmed or approved first, and wasn't.
        PermanentToolError: It writes, and the call has no key to make it happen once.
        ArgumentsToolError: It takes a call back, and nobody says which.
    """
    tool = screen(registry, attempt)
    if lacks_approval(tool, attempt):
        zh = f"“{tool.title.zh}”要先有人批准现在填写的内容，这次没有这样的批准，所以没有办理"
        en = f"{tool.name} needs an approval of what the run holds now, and there is none"
        raise Forbidden(Localised(zh=zh, en=f"{en}; ask for approval right before it"))
    if lacks_confirmation(tool, attempt):
        zh = f"“{tool.title.zh}”要等 {attempt.caller.id} 看过参数并确认之后才会执行"
        en = f"{tool.name} runs once {attempt.caller.id} has seen its arguments and confirmed them"
        raise Forbidden(Localised(zh=zh, en=en))
    if tool.writes and not attempt.key:
        zh = f"“{tool.title.zh}”会改动数据，调用时却没有幂等键，请带上一个"
        en = f"{tool.name} writes and was called without an idempotency key; give it one"
        raise PermanentToolError(Localised(zh=zh, en=en))
    undone = tool.options.undoes
    if undone and not attempt.undoes:
        zh = f"“{tool.title.zh}”撤销的是 {undone} 的一次调用，请给出它的键"
        en = f"{tool.name} takes back one call of {undone}; name its key"
        raise ArgumentsToolError(Localised(zh=zh, en=en))
    return tool


def lacks_confirmation(tool: Tool, attempt: Attempt) -> bool:
    """True where the caller has yet to be asked."""
    # A flow asks for confirmation itself, in the words of its own file, before it calls.
    return tool.asks_first and attempt.flow_run is None and not attempt.confirmed


def lacks_approval(tool: Tool, attempt: Attempt) -> bool:
    """Return whether the tool needs an approval of what the run holds, and nobody gave one."""
    if not tool.options.approval:
        return False
    return not covers(attempt.approvals, attempt.slots_digest, attempt.caller.id)


def _unprintable(arguments: object, *, what_writes: bool) -> Iterator[str]:
    """Control characters, which PostgreSQL refuses; what nobody sees in what is confirmed."""
    # A list of what is still to look at, since arguments nested deeper than Python's stack
    # would otherwise end the search, and not with a refusal.
    waiting: list[tuple[tuple[int | str, ...], object]] = [((), arguments)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str) and _UNPRINTABLE.search(value):
            yield problem_at(place, "has control characters; only tab and newline may be there")
        elif isinstance(value, str) and what_writes and legible(value) != value:
            yield problem_at(place, "has characters that nobody sees; leave them out")
        elif isinstance(value, Mapping):
            waiting += [(place, name) for name in value]
            waiting += [((*place, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            waiting += [((*place, index), item) for index, item in enumerate(value)]
