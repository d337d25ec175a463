"""Words for a front end that reads Markdown: what people, tools and models said leads nowhere.

Emphasis, lists and code stay. A link shows where it leads, no picture is fetched, whose address
could carry a secret out, and no tag is one. Code between fences is left as it is; where it isn't
certain what a reader takes for a fence, nothing is.
"""

import re
from dataclasses import dataclass

_ACTS = re.compile(r"!(?=\[)|\](?=[(:\[])|<(?=[A-Za-z/!?])")
_HARMLESS = {"!": "!\\", "]": "]\\", "<": "&lt;"}
_UNDECIDED = "!]<"
"""What acts by what comes after it."""
_ENDS = re.compile(r"(?<=[\r\n])")
_FENCE = re.compile(r"(`{3,}|~{3,})[A-Za-z0-9+#._ -]*[\r\n]")
_CONTAINERS = " \t>-*+.)0123456789"
"""What a fence may stand behind in a list or a quotation, which ends it sooner."""


def markdown(text: str) -> str:
    r"""The whole text, harmless.

    >>> print(markdown("![a](https://evil.test/?q=1) <img src=x> 1 < 2"))
    !\[a]\(https://evil.test/?q=1) &lt;img src=x> 1 < 2
    """
    made = MarkdownText()
    return made.add(text) + made.end()


@dataclass
class MarkdownText:
    """A text that comes in pieces."""

    _line: str = ""
    """The line that isn't at its end yet."""
    _given: int = 0
    """How much of it was given on."""
    _fence: str = ""
    """What opened the code that this stands in."""
    _certain: bool = True

    def add(self, piece: str) -> str:
        """What can be given on now, harmless: nothing that acts by what comes after it."""
        return "".join(map(self._added, filter(None, _ENDS.split(piece))))

    def end(self) -> str:
        """What was held back."""
        return self._rest(len(self._line))

    def _added(self, part: str) -> str:
        self._line += part
        if not part.endswith(("\r", "\n")):
            may_open = not self._fence and self._line.startswith(("`", "~"))
            certain = self._line if self._fence else self._line.rstrip(_UNDECIDED)
            return "" if may_open else self._rest(max(self._given, len(certain)))
        opened, before = self._opened(), self._fence
        self._fence = opened or before
        said = self._rest(len(self._line))
        if before and self._closes():
            self._fence = ""
        self._line, self._given = "", 0
        return said

    def _rest(self, end: int) -> str:
        said, self._given = self._line[self._given : end], end
        return said if self._fence else _ACTS.sub(lambda found: _HARMLESS[found[0]], said)

    def _opened(self) -> str:
        """The marks of the fence that this line is; empty where it opens none."""
        found = _FENCE.match(self._line)
        if self._fence or not self._certain:
            return ""
        if found is None:
            self._certain = not self._line.lstrip(_CONTAINERS).startswith(("```", "~~~"))
            return ""
        return found[1]

    def _closes(self) -> bool:
        bare = self._line.rstrip("\r\n").rstrip(" \t")
        marks = bare.lstrip(" ")
        alike = set(marks) == {self._fence[0]} and len(marks) >= len(self._fence)
        return alike and len(bare) - len(marks) < 4  # noqa: PLR2004 - four are code
