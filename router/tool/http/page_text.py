"""The words of an HTML page."""

import re
from html.parser import HTMLParser

_SILENT = frozenset({"script", "style", "noscript", "template", "svg", "head"})
_BREAKING = frozenset(
    {"p", "br", "div", "li", "ul", "ol", "tr", "table", "section", "article", "header", "footer"}
    | {f"h{level}" for level in range(1, 7)}
)


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self._silent += tag in _SILENT
        if tag in _BREAKING:
            self.pieces.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if tag in _BREAKING:
            self.pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.pieces.append(data)


def text_of_page(page: str) -> str:
    r"""What a reader sees of it, a paragraph a line.

    >>> text_of_page("<style>p {}</style><p>Hello,<br>world</p>")
    'Hello,\nworld'
    """
    words = _Words()
    words.feed(page)
    words.close()
    lines = (re.sub(r"\s+", " ", line).strip() for line in "".join(words.pieces).split("\n"))
    return "\n".join(line for line in lines if line)
