"""A form, asked field by field."""

from router.cli.chat_face import words
from router.cli.chat_face.answering import Body, form_body, numbered
from router.cli.chat_face.commands import handed_in
from router.cli.chat_face.rendering import printable
from router.cli.chat_face.screen import Prompt
from router.cli.chat_face.talk import Talk
from router.domain.messages import FormField, FormReply


async def filled(talk: Talk, form: FormReply, prompt: Prompt) -> Body | None:
    """The message that the form comes to; None where whoever sits there gives it up."""
    values: Body = {}
    try:
        for field in form.fields:
            value = await _value(talk, field, prompt)
            if value is not None:
                values[field.name] = value
    except (EOFError, KeyboardInterrupt):
        values = {}
    if not values:
        talk.screen.line(talk.say(words.FORM_DROPPED))
        return None
    return form_body(form, values)


async def _value(talk: Talk, field: FormField, prompt: Prompt) -> object:
    """What the field is given; None where it may be left out, and is."""
    for number, option in enumerate(field.options or [], 1):
        talk.screen.line(f"  {number}. {option.label}")
    mark = f" ({talk.say(words.REQUIRED)})" if field.required else ""
    while True:
        typed = (await prompt.line(printable(f"{field.label}{mark}: "))).strip()
        value = await _read(talk, field, typed) if typed else None
        if value is not None or (not typed and not field.required):
            return value


async def _read(talk: Talk, field: FormField, typed: str) -> object:
    """The field's value as it is sent; None, and said why, where it can't be one.

    The desk reads days and amounts as they are typed.
    """
    if field.type == "file":
        return await handed_in(talk, typed)
    if not field.options:
        return typed
    by_label = [o for o in field.options if typed.casefold() == o.label.casefold()]
    chosen = numbered(typed, field.options) or next(iter(by_label), None)
    if chosen is None:
        talk.screen.line(talk.say(words.NO_SUCH_OPTION))
        return None
    return chosen.value
