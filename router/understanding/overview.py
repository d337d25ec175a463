"""What can be done here, in a few lines, for whoever asks."""

from collections.abc import Iterable, Sequence

from router.domain.capabilities import Capability, CapabilityKind
from router.domain.texts import Locale, Localised

MOST = 8
"""Titles of a kind that are named: as many as a person reads at a glance."""
_KINDS: tuple[tuple[CapabilityKind, Localised], ...] = (
    ("flow", Localised(zh="办理", en="Requests")),
    ("skill", Localised(zh="请我处理", en="Tasks")),
    ("tool", Localised(zh="查询和工具", en="Look-ups and tools")),
)
NOTHING = Localised(
    zh="目前没有对你开放的事项，请联系管理员。",
    en="Nothing is open to you here yet. Please ask an administrator.",
)


def overview(capabilities: Iterable[Capability], roles: frozenset[str], locale: Locale) -> str:
    """The titles of what these roles may use, by kind: all would be too many.

    Any one of them is found by saying what is wanted of it.
    """
    usable = [c for c in capabilities if not c.roles or c.roles & roles]
    lines = [
        _line(heading, [c for c in usable if c.kind == kind], locale) for kind, heading in _KINDS
    ]
    named = [line for line in lines if line]
    if not named:
        return NOTHING.within(locale)
    opening, closing = _around([c for c in usable if c.examples], locale)
    return "\n".join([opening, *named, closing])


def _line(heading: Localised, capabilities: Sequence[Capability], locale: Locale) -> str:
    if not capabilities:
        return ""
    titles = [c.title.within(locale) for c in capabilities[:MOST]]
    more = len(capabilities) > MOST
    if locale == "zh":
        return f"- {heading.zh}：{'、'.join(titles)}{'等' if more else ''}"
    return f"- {heading.en}: {', '.join(titles)}{' and more' if more else ''}"


def _around(capabilities: Sequence[Capability], locale: Locale) -> tuple[str, str]:
    """How it begins and ends; one of the sentences that people say is shown."""
    examples = [e for c in capabilities[:1] for e in c.examples if e.isascii() == (locale == "en")]
    if locale == "zh":
        such = f"，比如“{examples[0]}”" if examples else ""
        return "我可以帮你办这些：", f"想办什么，直接说就行{such}。"
    such = f", such as “{examples[0]}”" if examples else ""
    return "This is what I can do for you:", f"Just say what you need{such}."
