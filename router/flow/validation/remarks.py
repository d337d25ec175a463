"""What may be meant, and probably isn't: a flow that these are said of is loaded all the same."""

import re
from collections.abc import Collection, Iterator

from router.domain.errors import nearest
from router.domain.locale import LOCALES
from router.flow.engine.slots import captions
from router.flow.language import expressions, templates
from router.flow.language.expressions import texts_given
from router.flow.slot_types.slot import Slot
from router.flow.validation.expressions import labels_in, templates_in, written_in
from router.flow.validation.patterns import WORDS, references, words_sound, written_out
from router.flow.validation.unchecked import UNSAID, UncheckedFlow, complaint
from router.formats.regex import AUTHORED, compile_foreign, compiled
from router.formats.validation import Complaint
from router.formats.yaml_document import Place


def remarks(draft: UncheckedFlow) -> Iterator[Complaint]:
    """What might be better about a sound definition."""
    read = slots_read(draft)
    for name, slot in draft.definition.slots.items():
        yield from _slot(draft, name, slot, name in read)
    yield from _uncaptioned(draft)
    yield from _untranslated(draft)
    yield from _unused_words(draft)
    for place, state in draft.each_state():
        ask = state.asks
        if ask is not None and ask.expire_after is not None and "expired" not in state.exits():
            what = f"when nobody decides on {place[-1]} in time, the flow ends without a word"
            remedy = "add expired: <state>, with a say that tells the requester"
            yield complaint((*place, "approve", "expire_after"), what, remedy)


_FILLED_IN = compiled(r"(?s)\{\{.*?\}\}|\{%.*?%\}")
_WORD = re.compile("[A-Za-z]{2,}")
_CHINESE = re.compile("[\u4e00-\u9fff]")


def _untranslated(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Texts that are in one language twice: somebody meant to say it in the other later."""
    for place, text in [*templates_in(draft), *labels_in(draft)]:
        said = _FILLED_IN.sub("", text.zh)
        if text.zh != text.en or UNSAID in text.zh:
            continue
        if _CHINESE.search(said):
            yield complaint((*place, "en"), "the English text is Chinese", "say it in English")
        elif len(_WORD.findall(said)) > 1 and " " in said.strip():
            yield complaint((*place, "zh"), "the Chinese text is English", "say it in Chinese")


def _uncaptioned(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Slots that approvers are shown under a name that only the file has."""
    if not any(state.asks for state in draft.definition.states.values()):
        return
    for name, caption in captions(draft.definition).items():
        if draft.definition.slots[name].label is None and caption.en == name:
            what = f"{name} has neither a label nor a plain question: approvers read “{name}”"
            yield complaint(("slots", name), what, 'give it one: label: {zh: "…", en: "…"}')


def _unused_words(draft: UncheckedFlow) -> Iterator[Complaint]:
    """Named words that stand in no pattern: of a misspelt name, or left from one that has gone."""
    triggers = draft.definition.triggers
    patterns = [*triggers.patterns, *triggers.topics, *triggers.unless]
    used = {name for one in (*patterns, *triggers.words.values()) for name in references(one)}
    for name in triggers.words:
        if name not in used:
            what = f"no pattern uses the word {name}"
            remedy = f"write {{{name}}} where it is meant, or take it out"
            yield complaint((*WORDS, name), what, remedy)


def unheld_roles(draft: UncheckedFlow, held: Collection[str]) -> Iterator[Complaint]:
    """Roles that the flow wants of people, and that nobody has of those who are known."""
    for place, role in _roles(draft):
        if role not in held:
            remedy = nearest(role, held) or "give it to somebody there, or name another"
            yield complaint(place, f"nobody in the directory holds the role {role}", remedy)


def _roles(draft: UncheckedFlow) -> Iterator[tuple[Place, str]]:
    for role in sorted(draft.definition.triggers.roles):
        yield ("triggers", "roles"), role
    for place, state in draft.each_state():
        for role in state.awaits.roles if state.awaits else ():
            yield (*place, "wait", "roles"), role
    for written in written_in(draft):
        for role in texts_given(written.source, "role"):
            yield written.place, role


def slots_read(draft: UncheckedFlow) -> frozenset[str]:
    """The slots that an expression or a text reads, or that a summary shows."""
    read = {name for one in written_in(draft) for name in expressions.slots_read(one.source)}
    for _, text in templates_in(draft):
        read |= {name for locale in LOCALES for name in templates.slots_read(text.within(locale))}
    if any(state.kind == "confirm" or state.asks for state in draft.definition.states.values()):
        read |= {name for name, slot in draft.definition.slots.items() if slot.label is not None}
    return frozenset(read)


def _slot(draft: UncheckedFlow, name: str, slot: Slot, is_read: bool) -> Iterator[Complaint]:
    asked = name in draft.collected or slot.lookup is not None or slot.kind.is_recognised
    if not asked and name not in _groups(draft):
        what = f"nothing ever fills {name}: no collect, no lookup, no group of a pattern"
        remedy = f"add it to a collect, give it a lookup, name a group (?P<{name}>…), or remove it"
        yield complaint(("slots", name), what, remedy)
    elif not is_read:
        unused = "no expression or text reads it, no summary shows it"
        what = f"{name} is filled and never used: {unused}"
        remedy = f"read slots.{name} somewhere, give it a label, or remove it"
        yield complaint(("slots", name), what, remedy)


def _groups(draft: UncheckedFlow) -> set[str]:
    triggers = draft.definition.triggers
    words = words_sound(triggers.words)
    sources = (written_out(source, words) for source in triggers.patterns)
    return {
        group
        for source in sources
        for group in compile_foreign(source, AUTHORED, as_written="").groupindex
    }
