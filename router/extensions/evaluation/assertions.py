"""What a case says of an answer, each kind of assertion an entry of one registry.

A kind has a name, which is its key in a case file; a type, which the file's value has to be of; and
a check. A further kind is a class here with `@assertion`. Only `judge` asks anybody.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, Field, JsonValue, StringConstraints

from router.domain.errors import FaultyValue, InvalidInput
from router.formats.regex import AUTHORED, compile_foreign, refused
from router.formats.schema_check import CheckTooCostly, check_schema, find_errors, validator_of
from router.formats.validation import said
from router.formats.yaml_document import Unreadable, read_text
from router.routing.prompt_cases import Observed, ObservedTool

SHOWN = 80
"""Characters of a value that a complaint quotes."""

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=500)]
SeveralWords = Annotated[
    ShortText | Annotated[list[ShortText], Field(min_length=1, max_length=20)],
    said("write a text, or a list of texts that isn't empty"),
]


class JudgeSilent(Exception):
    """Whoever was to judge said neither yes nor no; says what it said instead."""


AskJudge = Callable[[str, Observed], Awaitable[tuple[bool, str]]]
"""Whether the answer to a question about what was observed is yes, and why."""


class Assertion(Protocol):
    """A kind of assertion."""

    name: str
    expects: Any
    """The type of its value in a case file, with whatever checks that."""

    async def check(self, wanted: Any, observed: Observed, judge: AskJudge) -> str | None:
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
    expects = SeveralWords

    async def check(self, wanted: str | list[str], observed: Observed, _: AskJudge) -> str | None:
        return None if observed.route in _each(wanted) else f"it is {_quoted(observed.route)}"


@assertion
class _Arguments:
    name = "arguments"
    expects = dict[str, JsonValue]

    async def check(
        self, wanted: Mapping[str, JsonValue], observed: Observed, _: AskJudge
    ) -> str | None:
        given = observed.value if isinstance(observed.value, dict) else {}
        wrong = [name for name, value in wanted.items() if given.get(name) != value]
        told = (f"{name} is {_quoted(given.get(name))}" for name in wrong)
        return "; ".join(told) or None


@assertion
class _Contains:
    name = "contains"
    expects = SeveralWords

    async def check(self, wanted: str | list[str], observed: Observed, _: AskJudge) -> str | None:
        said = observed.words.casefold()
        missing = [words for words in _each(wanted) if words.casefold() not in said]
        return f"it lacks {', '.join(map(_quoted, missing))}" if missing else None


@assertion
class _NotContains:
    name = "not_contains"
    expects = SeveralWords

    async def check(self, wanted: str | list[str], observed: Observed, _: AskJudge) -> str | None:
        said = observed.words.casefold()
        there = [words for words in _each(wanted) if words.casefold() in said]
        return f"it has {', '.join(map(_quoted, there))}" if there else None


def _pattern(source: str) -> str:
    if (fault := refused(source, bounds=AUTHORED)) is not None:
        raise FaultyValue(f"{{key}} {fault.what}", fault.remedy)
    return source


@assertion
class _Matches:
    name = "matches"
    expects = Annotated[ShortText, AfterValidator(_pattern)]

    async def check(self, wanted: str, observed: Observed, _: AskJudge) -> str | None:
        found = compile_foreign(wanted, AUTHORED).search(observed.words)
        return None if found else f"nothing in it matches: {_quoted(observed.words)}"


@assertion
class _Language:
    name = "language"
    expects = Annotated[Literal["zh", "en"], said("write zh or en")]

    async def check(self, wanted: str, observed: Observed, _: AskJudge) -> str | None:
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
        check_schema(given)
    except FaultyValue as error:
        what, remedy = error.fault
        raise FaultyValue(f"{{key}} can't be used: {what}", remedy) from None
    if "$ref" in json.dumps(given):
        raise FaultyValue("{key} refers to another schema", "write it out")
    return given


@assertion
class _Schema:
    name = "schema"
    expects = Annotated[dict[str, JsonValue], AfterValidator(_schema)]

    async def check(self, wanted: Mapping[str, Any], observed: Observed, _: AskJudge) -> str | None:
        try:
            found = find_errors(validator_of(wanted), observed.value, 1)
        except (CheckTooCostly, RecursionError) as error:
            return f"it can't be checked: {error!s:.160}"
        if not found:
            return None
        first = found[0]
        where = "".join(f"[{part!r}]" for part in first.path)
        return f"{where}{': ' if where else ''}{first.message:.160}"


CalledField = Annotated[
    list[
        ShortText
        | Annotated[dict[ShortText, dict[str, JsonValue]], Field(min_length=1, max_length=1)]
    ],
    Field(min_length=1, max_length=20),
    said("write a list of tools, each a name, or a name with arguments: {get_weather: {city: …}}"),
]


@assertion
class _Calls:
    name = "calls"
    expects = CalledField

    async def check(
        self, wanted: Sequence[str | Mapping[str, Any]], observed: Observed, _: AskJudge
    ) -> str | None:
        lacking = [each for each in wanted if not _is_called(each, observed.calls)]
        made = ", ".join(dict.fromkeys(call.name for call in observed.calls)) or "nothing"
        lacked = ", ".join(map(_quoted, lacking))
        return f"it never called {lacked}; it called {made}" if lacking else None


def _is_called(wanted: str | Mapping[str, Any], made: Sequence[ObservedTool]) -> bool:
    """Whether one of the calls is of this tool, with at least these arguments."""
    name, given = (wanted, {}) if isinstance(wanted, str) else next(iter(wanted.items()))
    alike = (call for call in made if call.name == name)
    return any(all(call.arguments.get(n) == v for n, v in given.items()) for call in alike)


@assertion
class _NotCalls:
    name = "not_calls"
    expects = SeveralWords

    async def check(self, wanted: str | list[str], observed: Observed, _: AskJudge) -> str | None:
        made = {call.name for call in observed.calls}
        there = [name for name in _each(wanted) if name in made]
        return f"it called {', '.join(there)}" if there else None


LARGEST_FILE = 64 * 1024


def _file_name(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise FaultyValue("{key} leads out of the folder of the cases", "name a file in it")
    return name


@assertion
class _File:
    name = "file"
    expects = Annotated[ShortText, AfterValidator(_file_name)]

    async def check(self, wanted: str, observed: Observed, _: AskJudge) -> str | None:
        lines = [line.strip() for line in lines_of(observed.folder / wanted) if line.strip()]
        said = [line.strip() for line in observed.words.splitlines()]
        at = 0
        for line in lines:
            if line not in said[at:]:
                return f"it lacks the line {_quoted(line)}, there or so late"
            at += said[at:].index(line) + 1
        return None


def lines_of(file: Path) -> list[str]:
    """The lines of a text that an answer is held against; raises `InvalidInput` for none."""
    try:
        return read_text(file, LARGEST_FILE, "hold answers against less").splitlines()
    except Unreadable as bad:
        raise InvalidInput(f"{file}: {bad.fault.what}; {bad.fault.remedy}") from None


@assertion
class _Judged:
    name = "judge"
    expects = ShortText

    async def check(self, wanted: str, observed: Observed, judge: AskJudge) -> str | None:
        holds, why = await judge(wanted, observed)
        return None if holds else f"no: {_quoted(why)}"
