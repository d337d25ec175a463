"""What is said in words or picked: a text, one of several choices, yes or no, a file."""

from datetime import datetime

from pydantic import JsonValue

from router.domain.file_types import is_file_id
from router.domain.locale import Locale, Localised
from router.domain.visible_text import inline, visible
from router.entities.booleans import leaning, numbered, yes_or_no
from router.entities.choices import answered_choice
from router.entities.dates import Days
from router.entities.grammar import only
from router.entities.utterance import Utterance
from router.flow.slot_types.slot import (
    FileNames,
    Schema,
    Slot,
    SlotType,
    Unfit,
    plain,
    register_slot_type,
)


class _Worded(SlotType):
    """Of what is one of the slot's choices, its label; else as it is, on one line."""

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        if found := slot.choices.get(str(value)):
            return found.label.within(locale)
        return files.get(str(value)) or inline(plain(value))


@register_slot_type
class ChoiceType(_Worded):
    """One of the values that the slot lists."""

    name = "choice"
    label = Localised(zh="选项", en="a choice")
    about = Localised(zh="从列出的几项里选一项。", en="One of the values that are listed.")
    made_of = "choices"
    range_parts = ("start_half", "end_half")
    leads = True

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The choice that is named, numbered or begun."""
        return answered_choice(slot.choices, utterance.text)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """One of the slot's values."""
        if isinstance(value, str) and value in slot.choices:
            return value
        raise Unfit(self.hint(slot))

    def hint(self, slot: Slot) -> Localised:
        """All that there are."""
        choices = slot.choices.values()
        return Localised(
            zh="请从这些里选：" + "、".join(c.label.zh for c in choices) + "。",
            en=f"Please choose one of: {', '.join(c.label.en for c in choices)}.",
        )

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """An enumeration, in any language."""
        return self.quoted(slot)

    def quoted(self, slot: Slot) -> Schema:
        """The same: a model names the value itself."""
        return {"type": "string", "enum": list(slot.choices)}


@register_slot_type
class TextType(_Worded):
    """Free text; where there is something to choose from, one of that or anything else."""

    name = "text"
    label = Localised(zh="文字", en="text")
    about = Localised(zh="一段文字，怎么说就怎么记。", en="Words, kept as they are said.")
    is_text = True
    is_recognised = False
    fits = Localised(zh="这里需要一段文字。", en="This needs some text.")
    stored = {"type": "string"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """What was typed, or what that means of what can be chosen; a day may name that too."""
        typed = utterance.normalised.typed.strip() or None
        if not slot.choices:
            return typed
        chosen = answered_choice(slot.choices, utterance.text)
        return chosen or _of_its_day(slot, utterance) or typed

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """Something that can be seen, without white space around it, and not too long."""
        text, limit = visible(value).strip() if isinstance(value, str) else "", slot.max_length
        if not text:
            raise Unfit(self.fits)
        if len(text) > limit:
            zh = f"太长了：写了 {len(text)} 个字，最多 {limit} 个。请写短一点再发一次。"
            en = f"That has {len(text)} characters; {limit} fit. Please say it in fewer words."
            raise Unfit(Localised(zh=zh, en=en))
        return text

    def advice(self, slot: Slot) -> Localised | None:
        """That anything will do."""
        return Localised(zh="用自己的话说一句就行。", en="A few words of your own will do.")

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """A string, and how long at most."""
        return {**self.stored, "maxLength": slot.max_length}


def _of_its_day(slot: Slot, utterance: Utterance) -> str | None:
    named = [f.value for f in only(Days, [*utterance.things, *utterance.spent])]
    days = [(one.first.isoformat(), one.last.isoformat()) for one in named]
    fits = [
        value
        for value, choice in slot.choices.items()
        if any(first <= word <= last for word in choice.synonyms for first, last in days)
    ]
    return fits[0] if len(fits) == 1 else None


@register_slot_type
class BooleanType(_Worded):
    """Yes or no."""

    name = "boolean"
    label = Localised(zh="是或否", en="yes or no")
    about = Localised(zh="一个可以用是或否回答的问题。", en="What can be answered with yes or no.")
    takes = bool
    fits = Localised(zh="请回答“是”或“否”。", en="Please answer yes or no.")
    stored = said = {"type": "boolean"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """Yes or no, also by number or with what it is said of, and nothing that names more."""
        picked = numbered(utterance.text)
        if picked is not None:
            return picked
        named = any(not isinstance(thing.value, bool) for thing in utterance.things)
        return yes_or_no(utterance.text) if named else leaning(utterance.text)

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """True or false."""
        if isinstance(value, bool):
            return value
        raise Unfit(self.fits)

    def word(self, slot: Slot, value: JsonValue, locale: Locale, files: FileNames) -> str:
        """是 or 否, yes or no."""
        return {"zh": ("否", "是"), "en": ("no", "yes")}[locale][bool(value)]

    def advice(self, slot: Slot) -> Localised | None:
        """Yes or no."""
        return Localised(zh="回答“是”或“否”。", en="Answer yes or no.")

    def options(self, slot: Slot) -> list[tuple[Localised, JsonValue]]:
        """The two."""
        return [(Localised(zh="是", en="Yes"), True), (Localised(zh="否", en="No"), False)]


@register_slot_type
class FileType(_Worded):
    """A file that was uploaded, by its id; people read its name."""

    name = "file"
    label = Localised(zh="文件", en="a file")
    about = Localised(
        zh="一份附件，比如票据或证明，可以读出里面的内容。",
        en="An attachment, such as a bill or certificate, which may be read.",
    )
    is_file = True
    is_recognised = False
    has_field = True
    fits = Localised(
        zh="请上传一个文件（PDF 或图片）。", en="Please attach a file: a PDF or a picture."
    )
    stored = {"type": "string"}

    def read(self, slot: Slot, utterance: Utterance) -> JsonValue:
        """The id of a file, and nothing besides: whose it is, the flow finds out."""
        typed = utterance.normalised.typed.strip()
        return typed if is_file_id(typed) else None

    def fit(self, slot: Slot, value: JsonValue) -> JsonValue:
        """A file's id by its looks; whether it is the requester's, whoever fills slots looks up."""
        if isinstance(value, str) and is_file_id(value):
            return value
        raise Unfit(self.fits)

    def coerce(self, slot: Slot, value: JsonValue, now: datetime) -> JsonValue:
        """Also of what the upload was answered, whole."""
        given = value.get("id", value) if isinstance(value, dict) else value
        return super().coerce(slot, given, now)

    def schema(self, slot: Slot, locale: Locale) -> Schema:
        """The id."""
        return {**self.stored, "maxLength": slot.max_length}
