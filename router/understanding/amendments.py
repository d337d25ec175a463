"""A change of what was handed in, said while nothing is asked: in words that plainly are one.

What begins a request of its own is never taken for one, nor a question, nor what only names a slot.
"""

from router.domain import commands, messages
from router.domain.messages import Option
from router.entities.grammar import compiled, group_span
from router.entities.utterance import Utterance
from router.flow.engine.changes import CHANGE
from router.flow.paused import Situation, known_in_short
from router.flow.view import FormView
from router.understanding import route_reasons as why
from router.understanding.corrections.values import correction, opens_as_correction
from router.understanding.dialogue_acts import asks, withdraws
from router.understanding.names import FlowNames
from router.understanding.slots.mappings import Values

_LONGEST = 120
_CHANGES = compiled(
    r"改|换|调[整到]|推迟|推后|提前|延[长后到]|顺延|缩短"
    r"|\b(?:change|make|update|correct|set|switch|move|push|extend|shorten|postpone|bring)\b"
)
_POLITE = compiled(
    r"(?:能|可以|可不可以|能不能|麻烦|请|帮)|\b(?:can|could|would|may) (?:you|i|we)\b|\bplease\b"
)
_AFTER_THE_FACT = compiled(r"了(?:吗|没|么)|是不是|有没有|\b(?:did|has|have|was|were|is|are)\b.*\?")
_ANEW = compiled(
    r"^(?:(?:不对|哦|等等|还是|请|把[它这]个?|no|oh|sorry|wait|actually|please)[, ]*)*"
    r"(?:(?:change|make|switch|set|update) (?:it|that) ?(?:to)?|改成|改为|换成|应该是) ?"
    r"(?P<new>[^,.;!?]{1,20})[.! ]*$"
)
_LETTER, _DIGIT = compiled("[A-Za-z]"), compiled("[0-9]")
_PREFIX = "amend:"


def amended(view: FormView, utterance: Utterance) -> Values | None:
    """What the message would have other in what was handed in; None where it says no such thing."""
    text = utterance.text
    if len(text) > _LONGEST or not (opens_as_correction(text) or _CHANGES.search(text)):
        return None
    question = text.endswith("?") or asks(text)
    if question and (_AFTER_THE_FACT.search(text) or not _POLITE.search(text)):
        return None
    slots = correction(view, utterance) or _of_the_same_shape(view, utterance) or {}
    return {path: value for path, value in slots.items() if path != CHANGE} or None


def _of_the_same_shape(view: FormView, utterance: Utterance) -> Values | None:
    """`改成B2`, where the one text that looks like it is `B1`."""
    match = _ANEW.search(utterance.text)
    if match is None:
        return None
    new = utterance.normalised.as_typed(*group_span(match, "new")).strip()
    alike = {
        name: new
        for name, slot in view.fillable.items()
        if slot.kind.is_text and _shape(str(view.slots.get(name) or "")) == _shape(new)
    }
    return dict(alike) if len(alike) == 1 and "9" in _shape(new) else None


def _shape(text: str) -> str:
    return str(_LETTER.sub("a", _DIGIT.sub("9", text.strip())))


def meant(
    situation: Situation, utterance: Utterance, named: list[str]
) -> list[tuple[FormView, Values]]:
    """The requests that the message would have other, and how; of those `named`, where any is."""
    waiting = {view.whole or view.id: view for view in situation.handed_in_forms}
    those = [view for view in waiting.values() if view.id in named] or [*waiting.values()]
    found = [(view, amended(view, utterance)) for view in those]
    return [(view, slots) for view, slots in found if slots]


def read(
    situation: Situation, utterance: Utterance, named: list[str]
) -> tuple[messages.Route, commands.Command] | None:
    """What the message has changed, where it changes anything."""
    return outcome(meant(situation, utterance, named), situation)


def outcome(
    found: list[tuple[FormView, Values]], situation: Situation
) -> tuple[messages.Route, commands.Command] | None:
    """The change, or of several requests that could be meant the question which."""
    locale = situation.locale
    if len(found) > 1:
        views = [view for view, _ in found]
        options = [Option(label=_label(view, situation), value=value_of(view.id)) for view in views]
        route = why.SEVERAL_WAIT.route(locale)
        return route, commands.Clarify(text=why.WHICH_TO_AMEND.within(locale), options=options)
    for view, slots in found:
        return why.AMENDS.of(view, locale), commands.Amend(
            run=view.id, flow=view.flow, slots=dict(slots)
        )
    return None


def _label(view: FormView, situation: Situation) -> str:
    title, known = view.title.within(situation.locale), known_in_short(view, situation.locale)
    if not known:
        return title
    return f"{title}（{known}）" if situation.locale == "zh" else f"{title} ({known})"


def value_of(run: str) -> str:
    """What the button for a request that is to be changed is worth."""
    return f"{_PREFIX}{run}"


def chosen(
    value: object, situation: Situation, by: messages.RouteBy
) -> tuple[messages.Route, commands.Command] | None:
    """The change of the request that was chosen, in the words that it was asked about.

    None where it is another button.
    """
    if not isinstance(value, str) or not value.startswith(_PREFIX):
        return None
    said = Utterance.of(situation.offered_for, situation.now)
    views = [view for view in situation.handed_in_forms if value_of(view.id) == value]
    found = [(view, slots) for view in views if (slots := amended(view, said))]
    taken = outcome(found, situation)
    if taken is None:
        gone = why.OVER.within(situation.locale)
        return why.OUTDATED.route(situation.locale), commands.ReplyText(text=gone)
    route, command = taken
    return route.replace(by=by), command


def takes_back(text: str, names: FlowNames) -> bool:
    """True where what gives up a change gives up the request itself: it says so, or names it."""
    return withdraws(text) or names.in_text(text)


def waiting_in_words(situation: Situation) -> str:
    """What waits for approval, in a line each, with what can be said of it; nothing for nothing."""
    views = {view.whole or view.id: view for view in situation.handed_in_forms}.values()
    lines = [f"- {_label(view, situation)}" for view in views]
    if not lines:
        return ""
    head = why.WHAT_WAITS.within(situation.locale)
    return "\n".join([head, *lines, "", ""])
