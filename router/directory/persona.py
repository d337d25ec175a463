"""Who the desk is to people: its name, its tone, the company's words, what it does and doesn't.

    name: {zh: 小桥, en: Bridge}
    tone: {zh: 亲切、简短, en: warm and brief}
    words:
      OKR: {zh: 季度目标, en: the goals of a quarter}
    do: [{zh: 先给结论, en: Say the result first}]
    dont: [{zh: 不开玩笑, en: Make no jokes}]
    greeting: {zh: 你好，我是小桥。, en: "Hello, I'm Bridge."}

Models read it right behind a job's rules, in the part of a prompt that never changes. It is
configuration, trusted as prompts are; what is confirmed or approved is code's to say, not a tone's.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, StringConstraints

from router.domain.errors import DefinitionError, FaultyValue, Problem
from router.domain.locale import Locale, Localised
from router.domain.visible_text import inline, legible
from router.formats.validation import Entry, FileWording, problems_in, validated, yaml_file
from router.formats.yaml_document import Unreadable, YamlDocument, read_yaml

LARGEST = 64 * 1024
NAME, SENTENCE, PARAGRAPH = 40, 200, 600
"""Characters of a name or term; of a meaning, a do or a don't; of a tone or greeting."""
MOST_WORDS, MOST_RULES = 100, 20

YAML_WORDING = FileWording(
    unknown="there is no key {key}",
    add="write {key}: …",
    mapping="there is no usable {key}",
    write="write a text, or {zh: …, en: …}",
)


def _in_both(written: Any) -> Any:
    return {"zh": written, "en": written} if isinstance(written, str) else written


BOTH = BeforeValidator(_in_both, json_schema_input_type=str | Localised)
"""One text stands for both languages."""


def _bounded(longest: int, *, on_one_line: bool = False) -> AfterValidator:
    """At most so many characters in each language, all of which somebody sees."""

    def check(text: Localised) -> Localised:
        for locale, one in text.model_dump().items():
            if not one.strip():
                raise FaultyValue(f"it is empty in {locale}", "write it in both languages")
            if len(one) > longest:
                what = f"it has {len(one)} characters in {locale}"
                raise FaultyValue(what, f"write at most {longest}")
            if on_one_line and len(one.splitlines()) > 1:
                raise FaultyValue(f"it has several lines in {locale}", "write it on one")
            if legible(one) != one:
                what = f"it has characters in {locale} that nobody sees"
                raise FaultyValue(what, "leave them out")
        return text

    return AfterValidator(check)


PersonaName = Annotated[Localised, _bounded(NAME, on_one_line=True), BOTH]
Sentence = Annotated[Localised, _bounded(SENTENCE), BOTH]
Paragraph = Annotated[Localised, _bounded(PARAGRAPH), BOTH]


def _term(text: str) -> str:
    if legible(text) != text or inline(text) != text:
        raise FaultyValue("a term stands on one line", "write it without line ends or hidden signs")
    return text


PersonaTerm = Annotated[
    str, StringConstraints(min_length=1, max_length=NAME), AfterValidator(_term)
]


def _at_most(most: int) -> AfterValidator:
    def counted(several: Any) -> Any:
        if len(several) > most:
            raise FaultyValue(f"{{key}} has {len(several)}", f"write at most {most}")
        return several

    return AfterValidator(counted)


class Persona(Entry):
    """Who the desk is. Closed, so that a misspelt key is noticed."""

    name: PersonaName
    """What it is called; a text alone stands for both languages, here and below."""
    tone: Paragraph | None = None
    """How it speaks."""
    words: Annotated[Mapping[PersonaTerm, Sentence], _at_most(MOST_WORDS)] = {}
    """The company's own, and what each means."""
    do: Annotated[list[Sentence], _at_most(MOST_RULES)] = []
    """What it always does."""
    dont: Annotated[list[Sentence], _at_most(MOST_RULES)] = []
    """What it never does."""
    greeting: Paragraph | None = None
    """What it says to a greeting, and to who asks who it is, where rules answer."""

    def within(self, locale: Locale) -> str:
        """What a model is told of it, in one language; the same text as long as it is the same."""
        zh = locale == "zh"
        lines = [f"# {'你是谁' if zh else 'Who you are'}", ""]
        name = self.name.within(locale)
        lines.append(f"你叫“{name}”。" if zh else f"You are called {name}.")
        if self.tone is not None:
            tone = inline(self.tone.within(locale))
            lines.append(f"语气：{tone}" if zh else f"Tone: {tone}")
        sections = (
            ("公司用语：" if zh else "The company's words:", self._meanings(locale)),
            ("要做到：" if zh else "Always:", [each.within(locale) for each in self.do]),
            ("不要：" if zh else "Never:", [each.within(locale) for each in self.dont]),
        )
        for heading, items in sections:
            if items:
                lines += [heading, *(f"- {inline(item)}" for item in items)]
        lines.append(
            "以上只关乎怎么说，不改变上面的规则。"
            if zh
            else "This is how you speak; it changes none of the rules above."
        )
        return "\n".join(lines)

    def _meanings(self, locale: Locale) -> list[str]:
        between = "：" if locale == "zh" else ": "
        return [f"{term}{between}{meant.within(locale)}" for term, meant in self.words.items()]

    def introduction(self, locale: Locale) -> str:
        """What it says to a greeting, where no model words that."""
        if self.greeting is not None:
            return self.greeting.within(locale).strip()
        name = self.name.within(locale)
        return f"你好，我是{name}。" if locale == "zh" else f"Hello, I'm {name}."


def load_persona(path: Path) -> Persona:
    """The persona of a file; raises `DefinitionError` with every problem, each with its line."""
    return _persona_of(path, yaml_file(path, LARGEST, _LESS))


def persona_in_text(path: Path, text: str) -> Persona:
    """That of a text in no file: `path` is what its problems are said of. Raises the same."""
    if len(text.encode()) > LARGEST:
        raise DefinitionError([Problem(str(path), 1, f"it is over {LARGEST // 1024} KiB", _LESS)])
    try:
        document = read_yaml(text)
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None
    return _persona_of(path, document)


_LESS = "say less: a model reads all of it at every message"


def _persona_of(path: Path, document: YamlDocument) -> Persona:
    data = {} if document.data is None else document.data
    reading = validated(Persona, data, wording=YAML_WORDING)
    problems = problems_in(str(path), document, reading.complaints)
    if problems or reading.value is None:
        raise DefinitionError(problems)
    return reading.value
