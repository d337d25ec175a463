"""Words for a front end that reads Markdown: what people, tools and models said leads nowhere.

Emphasis, lists and code stay. A link shows where it leads, no picture is fetched, whose address
could carry a secret out, and no tag is one. Code between fences is left as it is; where it isn't
certain what a reader takes for a fence, nothing is. Readers differ there: marked, by which Open
WebUI reads, takes ```~ for the end of ``` and a fence below a paragraph for a part of it.

Some front ends run code as soon as it is shown: HTML in a preview, Mermaid as a diagram with
pictures. A fence keeps the name of its language only if nothing is known to run that language.
"""

import re
from dataclasses import dataclass

_ACTS = re.compile(r"!(?=\[)|\](?=[(:\[])|<(?=[A-Za-z/!?])")
_HARMLESS = {"!": "!\\", "]": "]\\", "<": "&lt;"}
_UNDECIDED = "!]<"
"""What acts by what comes after it."""
_ENDS = re.compile(r"(?<=[\r\n])")
_FENCE = re.compile(r"(`{3,}|~{3,})([A-Za-z0-9+#._ -]*)[\r\n]")
_SHOWN_ONLY = frozenset(
    {"bash", "c", "c#", "c++", "console", "cpp", "csharp", "csv", "diff", "dockerfile", "go"}
    | {"http", "ini", "java", "json", "jsonl", "kotlin", "log", "makefile", "plaintext"}
    | {"powershell", "py", "python", "r", "ruby", "rust", "scala", "sh", "shell", "sql", "swift"}
    | {"text", "toml", "tsv", "txt", "yaml", "yml"}
)
"""The languages of code that front ends show and never run by themselves."""
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
    _blank: str = ""
    """What makes a line below the last one stand below a blank one; empty where it does."""

    def add(self, piece: str) -> str:
        """What can be given on now, harmless: nothing that acts by what comes after it."""
        return "".join(map(self._added, filter(None, _ENDS.split(piece))))

    def end(self) -> str:
        """What was held back."""
        return self._rest(len(self._line))

    def _added(self, part: str) -> str:
        self._line += part
        if not part.endswith(("\r", "\n")):
            may_be_fence = self._line.lstrip(_CONTAINERS).startswith(("`", "~"))
            certain = self._line if self._fence else self._line.rstrip(_UNDECIDED)
            return "" if may_be_fence else self._rest(max(self._given, len(certain)))
        said = self._within() if self._fence else self._outside()
        if self._line == "\n" and self._blank == "\n\n":
            self._blank = "\n"  # the second half of a line's end, and no line
        else:
            ends = "\n\n" if self._line.endswith("\r") else "\n"
            self._blank = ends if self._line.strip() else ""
        self._line, self._given = "", 0
        return said

    def _outside(self) -> str:
        """A line that stands in no code, or opens some."""
        found = _FENCE.match(self._line)
        if found is None or not self._certain:
            marked = self._line.lstrip(_CONTAINERS).startswith(("```", "~~~"))
            self._certain = self._certain and not marked
            return self._rest(len(self._line))
        self._fence, language = found[1], found[2].strip()
        if language.lower() not in _SHOWN_ONLY:
            self._line = f"{found[1]}{self._line[-1]}"
        # Below a paragraph it would be a part of that to some.
        return f"{self._blank}{self._rest(len(self._line))}"

    def _within(self) -> str:
        """A line of code, or the one that ends it."""
        ends = self._closes()
        if not ends and self._line.lstrip(_CONTAINERS).startswith(self._fence):
            # To some it ends here, and what follows is no code.
            self._fence, self._certain = "", False
        said = self._rest(len(self._line))
        if ends:
            self._fence = ""
        return said

    def _rest(self, end: int) -> str:
        said, self._given = self._line[self._given : end], end
        return said if self._fence else _ACTS.sub(lambda found: _HARMLESS[found[0]], said)

    def _closes(self) -> bool:
        bare = self._line.rstrip("\r\n").rstrip(" ")
        marks = bare.lstrip(" ")
        alike = set(marks) == {self._fence[0]} and len(marks) >= len(self._fence)
        return alike and len(bare) - len(marks) < 4  # noqa: PLR2004 - four are code
