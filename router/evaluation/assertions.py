"""What a case says of an answer, each kind of assertion an entry of one registry.

A kind has a name, which is its key in a case file; a type, which the file's value has to be of; and
a check. A further kind is a class here with `@assertion`. Only `judge` asks anybody.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Protocol

import jsonschema
from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from router.formats.regex import compiled, refused
from router.formats.validation import said

SHOWN = 80
"""Characters of a value that a complaint quotes."""

Words = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Several = Annotated[
    Words | Annotated[list[Words], Field(min_length=1, max_length=20)],
    said("write a text, or a list of texts that isn't empty"),
]


@dataclass(frozen=True)
class Observed:
    """What an answer came to.

    `route` is where it leads, in a word of the job's: a capability, a tool, a verdict; `text` what
    a person would read; `value` what is structured in it: arguments, steps, fields.
    """

    route: str
    text: str = ""
    value: JsonValue = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The text; where there is none the value, as JSON."""
        return self.text or json.dumps(self.value, ensure_ascii=False)


class JudgeSilent(Exception):
    """Whoever was to judge said neither yes nor no; says what it said instead."""


Judge = Callable[[str, Observed], Awaitable[tuple[bool, str]]]
"""Whether the answer to a question about what was observed is yes, and why."""


class Assertion(Protocol):
    """A kind of assertion."""

    name: str
    expects: Any
    """The type of its value in a case file, with whatever checks that."""

    async def check(self, wanted: Any, observed: Observed, judge: Judge) -> str | None:
        """None where it holds; else what was there instead. Raises `JudgeSilent`."""


ASSERTIONS: dict[str, Assertion] = {}
"""Every kind, by its name, in the order in which they are checked."""


def assertion(kind: type[Any]) -> type[Any]:
    """Make a class an entry of `ASSERTIONS`."""
    made: Assertion = kind()
    ASSERTIONS[made.name] = made
    return kind


def _each(wanted: str | Sequence[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted)


def _quoted(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 1]}…"


@assertion
class _Route:
    name = "route"
    expects = Several

    async def check(self, wanted: str | list[str], observed: Observed, _: Judge) -> str | None:
        return None if observed.route in _each(wanted) else f"it is {_quoted(observed.route)}"


@assertion
class _Arguments:
    name = "arguments"
    expects = dict[str, JsonValue]

    async def check(
        self, wanted: Mapping[str, JsonValue], observed: Observed, _: Judge
    ) -> str | None:
        given = observed.value if isinstance(observed.value, dict) else {}
        wrong = [name for name, value in wanted.items() if given.get(name) != value]
        told = (f"{name} is {_quoted(given.get(name))}" for name in wrong)
        return "; ".join(told) or None


@assertion
class _Contains:
    name = "contains"
    expects = Several

    async def check(self, wanted: str | list[str], observed: Observed, _: Judge) -> str | None:
        said = observed.words.casefold()
        missing = [words for words in _each(wanted) if words.casefold() not in said]
        return f"it lacks {', '.join(map(_quoted, missing))}" if missing else None


@assertion
class _NotContains:
    name = "not_contains"
    expects = Several

    async def check(self, wanted: str | list[str], observed: Observed, _: Judge) -> str | None:
        said = observed.words.casefold()
        there = [words for words in _each(wanted) if words.casefold() in said]
        return f"it has {', '.join(map(_quoted, there))}" if there else None


def _pattern(source: str) -> str:
    if (fault := refused(source)) is not None:
        raise ValueError(f"{{key}} {fault.what}; {fault.remedy}")
    return source


@assertion
class _Matches:
    name = "matches"
    expects = Annotated[Words, AfterValidator(_pattern)]

    async def check(self, wanted: str, observed: Observed, _: Judge) -> str | None:
        found = compiled(wanted).search(observed.words)
        return None if found else f"nothing in it matches: {_quoted(observed.words)}"


@assertion
class _Language:
    name = "language"
    expects = Annotated[Literal["zh", "en"], said("write zh or en")]

    async def check(self, wanted: str, observed: Observed, _: Judge) -> str | None:
        spoken = main_language(observed.words)
        return None if spoken == wanted else f"it is in {spoken}"


def main_language(text: str) -> str:
    """The language that most of the text is in: names and codes of the other may stand in it.

    >>> main_language("请看 README 和 travel.md 这两份文件"), main_language("Ask 王芳 about it")
    ('zh', 'en')
    """
    chinese = sum("\u4e00" <= character <= "\u9fff" for character in text)
    words = "".join(c if c.isascii() and c.isalpha() else " " for c in text).split()
    return "zh" if chinese > len(words) else "en"


def _schema(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        jsonschema.Draft202012Validator.check_schema(given)
    except jsonschema.SchemaError as error:
        raise ValueError(f"{{key}} is no JSON Schema; {error.message:.120}") from None
    if "$ref" in json.dumps(given):
        raise ValueError("{key} refers to another schema; write it out")
    return given


@assertion
class _Schema:
    name = "schema"
    expects = Annotated[dict[str, JsonValue], AfterValidator(_schema)]

    async def check(self, wanted: Mapping[str, Any], observed: Observed, _: Judge) -> str | None:
        found = jsonschema.Draft202012Validator(wanted).iter_errors(observed.value)
        error = next(iter(found), None)
        if error is None:
            return None
        where = "".join(f"[{part!r}]" for part in error.path)
        return f"{where}{': ' if where else ''}{error.message:.160}"


@assertion
class _Judged:
    name = "judge"
    expects = Words

    async def check(self, wanted: str, observed: Observed, judge: Judge) -> str | None:
        holds, why = await judge(wanted, observed)
        return None if holds else f"no: {_quoted(why)}"
