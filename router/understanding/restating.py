"""Values said anew without a word of correction: `那就下周一吧`, `从周三到周五`."""

from collections.abc import Iterable

from pydantic import JsonValue

from router.flow.view import FlowView
from router.understanding.choices import find_choices
from router.understanding.dates import Days
from router.understanding.durations import Duration
from router.understanding.filling import fill_choices, range_slots
from router.understanding.finding import find_texts
from router.understanding.grammar import compiled
from router.understanding.retiming import halved, retimed
from router.understanding.shifting import shifted
from router.understanding.switching import switched
from router.understanding.utterance import Utterance

_AROUND = compiled(
    "^(?:那就?|就|还是|改|换|再|一下|只|请|休|要|吧|了|的|从|自|到|至|开始|起|好|嗯|是|应该是|我"
    "|想|算了|啊|呀|假"
    "|共|一共|止|为止"
    r"|\b(?:then|let's|make|it|that|just|only|on|from|to|until|till|for|i|take|mean|meant|say|do"
    r"|rather|instead|please|better|starting|the|ok|okay|well|so|and|be|off)\b|[ ,.!~:])*$"
)

_WRONG = compiled(
    "^(?:不对|不是|错了|说错了|no|sorry|wait|actually|i mean|i meant)(?:[,.! ]|是|应该是|我|要|i'm"
    "|i am|we're)*"
    "|^(?:i'm|i am|we're|we are|it's) "
)


def restated(
    view: FlowView, utterance: Utterance, *, ranges_only: bool = False
) -> dict[str, JsonValue] | None:
    """The values of a message that is nothing but a new value of something known; else None.

    `ranges_only` where free text is asked for, and a kind or a name may be all of it.
    """
    moved = shifted(view.fillable, view.slots, utterance.text)
    if moved:
        return moved
    # Also a time of today: of a single day it is the half that is meant.
    half = half_named(view, utterance)
    if half or is_only_times(utterance):
        return half or _times(view, utterance)
    if ranges_only:
        return None
    return _choice(view, utterance) or _text(view, utterance) or _last(view, utterance)


def is_only_times(utterance: Utterance) -> bool:
    """True where a message names days, or how long, and nothing besides."""
    times = [f for f in utterance.meant if isinstance(f.value, Days | Duration)]
    return bool(times) and _is_bare(utterance.text, [(f.start, f.end) for f in times])


def _times(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    values = retimed(view, utterance)
    start = range_slots(view.fillable).get("start", "")
    known = {name for name, value in view.slots.items() if value is not None}
    return values if values and (start in known or set(values) <= known) else None


def _choice(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    known = {n: s for n, s in view.fillable.items() if view.slots.get(n) is not None}
    values = fill_choices(known, utterance.text).values
    for name, value in values.items():
        spans = [(f.start, f.end) for f in find_choices(known[name], utterance.text)]
        if _is_bare(utterance.text, spans):
            return {name: value}
    return None


def _text(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """`还是去北京吧`: another place than the one that is known, named as the flow's file says."""
    known = {n: s for n, s in view.fillable.items() if view.slots.get(n) is not None}
    named = find_texts(known, utterance.normalised)
    changed = {n: value for n, value in named.values.items() if value != view.slots[n]}
    said = _WRONG.sub("", utterance.text)
    gone = len(utterance.text) - len(said)
    spans = [(start - gone, end - gone) for start, end in named.used]
    return changed if changed and _is_bare(said, spans) else None


def _last(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    return switched(view, utterance.text)


def half_named(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The half of a single day that a message names, which says nothing besides; else None."""
    found = [
        (f.start, f.end)
        for slot in view.fillable.values()
        if slot.part_of_range == "start_half"
        for f in find_choices(slot, utterance.text)
    ]
    return halved(view, utterance) if found and _is_bare(utterance.text, found) else None


def _is_bare(text: str, spans: Iterable[tuple[int, int]]) -> bool:
    """True where nothing but words of answering stands around these spans."""
    rest, reached = "", 0
    for start, end in sorted(spans):
        rest += text[reached:start] + " "
        reached = max(reached, end)
    return _AROUND.search(rest + text[reached:]) is not None
