"""The words of a code tool: who may call it, what it is called, what people say who mean it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from router.documents.re2_syntax import refused
from router.domain.errors import Problem
from router.domain.texts import Locale, Localised
from router.tool.signature import ToolFunction, problem_of


def word_problems(
    function: ToolFunction,
    title: object,
    lists: Mapping[str, Sequence[str]],
) -> Iterator[Problem]:
    """What is wrong with a tool's title, and with its lists of words by the options' names."""
    if title is not None and not _in_both(title):
        remedy = 'write both languages: title={"zh": "会议室", "en": "Meeting rooms"}'
        yield problem_of(function, f"has the title {title!r:.80}", remedy)
    for name, words in lists.items():
        if isinstance(words, str):
            # A text is a sequence of its letters, each of which would be a role.
            remedy = f"write a list: {name}=[{words[:40]!r}]"
            yield problem_of(function, f"has one text as its {name}, {words[:40]!r}", remedy)
        elif not all(isinstance(each, str) and each.strip() for each in words):
            remedy = "write a list of texts"
            yield problem_of(function, f"has the {name} {words!r:.80}", remedy)


def phrase_problems(function: ToolFunction, phrases: Sequence[str]) -> Iterator[Problem]:
    """What is wrong with a tool's phrases: each is RE2, and no part of a message has it."""
    problems = list(word_problems(function, None, {"phrases": phrases}))
    yield from problems
    for source in () if problems else phrases:
        fault = refused(source)
        if fault is not None:
            yield problem_of(
                function, f"has the phrase {source!r:.80}, which {fault.what}", fault.remedy
            )
        elif not (source.startswith("^") and source.endswith("$")):
            remedy = 'write it for the whole message: "^(?:…)$"'
            yield problem_of(function, f"has the phrase {source!r:.80} for any part of one", remedy)


def titled(name: str, given: Mapping[Locale, str] | None) -> Localised:
    """A title that has no problems; made from the tool's name where there is none."""
    words = name.replace("_", " ").capitalize()
    return Localised.model_validate(given or {"zh": words, "en": words})


def _in_both(title: Any) -> bool:
    if not isinstance(title, Mapping) or set(title) != set(get_args(Locale)):
        return False
    return all(isinstance(each, str) and each.strip() for each in title.values())
