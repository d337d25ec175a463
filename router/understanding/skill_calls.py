"""Skills that a message calls by name: `/weekly-report`, `用周报助手写一份`, `@周报助手 …`.

Whoever names one means it: no model decides, and nothing that asks something is answered by it.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import re2

from router.domain.principals import Capability
from router.entities.grammar import compiled
from router.entities.normalisation import normalise
from router.lexicon import EN, ZH
from router.understanding.dialogue_acts import AROUND

_QUOTES = "[ \"'“”‘’「」《》『』]*"
_AFTER_WORD = "(?:[^a-z0-9_-]|$)"


class SkillNames:
    """What skills are called by, in a text that is normalised.

    A skill is called by its name or a title of it, after a slash or an at sign, before a colon, or
    after words such as `use the`. What is said after it is left to the skill.

    >>> from router.domain.locale import Localised
    >>> title = Localised(zh="周报助手", en="Weekly report")
    >>> named = SkillNames([Capability(kind="skill", name="weekly-report", title=title,
    ...     description=title)])
    >>> said = ["/weekly-report 上周的", "用周报助手写一份", "use the weekly report skill"]
    >>> {named.called_in(text).name for text in said}, named.called_in("周报助手是什么")
    ({'weekly-report'}, None)
    """

    def __init__(self, capabilities: Iterable[Capability] = ()) -> None:
        """Of these the skills that people may call."""
        self._skills = [one for one in capabilities if one.kind == "skill" and one.by_name]

    @cached_property
    def _by_name(self) -> dict[str, Capability]:
        """By what each is called, normalised: a name of its own counts before others' titles."""
        titles = {_plain(text): s for s in self._skills for text in (s.title.zh, s.title.en)}
        return titles | {_plain(skill.name): skill for skill in self._skills}

    @cached_property
    def _patterns(self) -> list[Any]:
        names = sorted(map(re2.escape, filter(None, self._by_name)), key=len, reverse=True)
        name = f"(?P<name>{'|'.join(names)})"
        slugs = sorted((re2.escape(_plain(s.name)) for s in self._skills), key=len, reverse=True)
        quoted = f"{_QUOTES}{name}{_QUOTES}"
        sources = (
            f"^ */(?P<name>{'|'.join(slugs)}){_AFTER_WORD}",
            f"^ *@{_QUOTES}{name}{_AFTER_WORD}",
            f"^ *{quoted} *:",
            f"^{AROUND}*(?:{ZH.calls_skill})(?:一下)?{quoted}(?:[^的a-z0-9_-]|$)",
            rf"^{AROUND}*(?:{EN.calls_skill}) (?:the |our |my )?{quoted}{_AFTER_WORD}",
        )
        return [compiled(source) for source in sources]

    def called_in(self, text: str) -> Capability | None:
        """The skill that a normalised text calls; None where it calls none."""
        if not self._skills:
            return None
        for pattern in self._patterns:
            if (found := pattern.search(text)) is not None:
                return self._by_name[found.group("name")]
        return None


def _plain(text: str) -> str:
    return normalise(text).text
