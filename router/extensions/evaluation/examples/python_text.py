"""Python modules with sentences put into the `examples` of a tool, set as `ruff format` sets them.

A call is set anew only where it stands on one line, on which there can be no comment but behind it.
"""

import ast
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from router.extensions.evaluation.examples.text_edit import Unwritable

WIDEST = 100
"""Columns of a line, the house's; a Chinese character takes two."""
_STEP = 4


@dataclass(frozen=True)
class PythonText:
    """A module's text, whose positions are counted in characters."""

    text: str
    tree: ast.Module

    @classmethod
    def read(cls, text: str) -> "PythonText":
        """The module; raises `Unwritable` where it is none."""
        try:
            return cls(text, ast.parse(text))
        except SyntaxError as error:
            raise Unwritable(f"line {error.lineno} isn't Python ({error.msg}): mend it") from None

    def with_examples(self, tool: str, sentences: Sequence[str]) -> str:
        """The text with these behind the examples of the tool of this name."""
        call = self._call(tool)
        given = next((each for each in call.keywords if each.arg == "examples"), None)
        if given is None:
            return self._with_keyword(call, sentences)
        if not isinstance(given.value, ast.List | ast.Tuple):
            raise Unwritable(f"the examples of {tool} are no list: write them as […]")
        if given.value.lineno == given.value.end_lineno:
            return self._within_line(call, given, given.value, sentences)
        return self._below(given.value, sentences)

    def _call(self, tool: str) -> ast.Call:
        """The `tool(…)` that decorates the function of this name."""
        for function in ast.walk(self.tree):
            if isinstance(function, ast.AsyncFunctionDef) and function.name == tool:
                for decorator in function.decorator_list:
                    if isinstance(decorator, ast.Call) and _name_of(decorator.func) == "tool":
                        return decorator
        raise Unwritable(f"no function {tool} is decorated with @tool(…): write its examples there")

    def _below(self, listed: ast.List | ast.Tuple, sentences: Sequence[str]) -> str:
        """A list over several lines, with a line for each more."""
        if not listed.elts:
            raise Unwritable("its empty list of examples is over several lines: write [] there")
        last = listed.elts[-1]
        indent = " " * self._indent(_line_of(last))
        lines = [f"{indent}{literal(each)}," for each in sentences]
        return self._after(last, self._end(listed) - 1, lines)

    def _after(self, last: ast.AST, end: int, lines: Sequence[str]) -> str:
        """Lines after that of the last of several things, which gets a comma; its comment stays."""
        at = self._end(last)
        comma = self._comma(at, end)
        missing, at = (",", at) if comma is None else ("", comma + 1)
        line_end = self.text.find("\n", at, end)
        if line_end < 0:
            raise Unwritable("the bracket stands behind the last of several lines: set it below")
        line_end -= self.text[:line_end].endswith("\r")
        more = "".join(f"{self._newline}{line}" for line in lines)
        return f"{self.text[:at]}{missing}{self.text[at:line_end]}{more}{self.text[line_end:]}"

    def _comma(self, start: int, end: int) -> int | None:
        """Where the comma is behind the last of several things; what else is there are comments."""
        while 0 <= start < end:
            if self.text[start] == ",":
                return start
            start = self.text.find("\n", start) if self.text[start] == "#" else start + 1
        return None

    def _within_line(
        self,
        call: ast.Call,
        given: ast.keyword,
        listed: ast.List | ast.Tuple,
        sentences: Sequence[str],
    ) -> str:
        """A list on one line: there if it has room, else an item a line."""
        items = [self._source(each) for each in listed.elts] + [*map(literal, sentences)]
        start, end = self._start(listed), self._end(listed)
        whole = self._replaced(start, end, _on_a_line(items))
        if _has_room(whole, start):
            return whole
        if self._begins_line(given):
            set_out = _on_lines(items, self._indent(given.lineno), self._newline)
            return self._replaced(start, end, set_out)
        return self._set_out(call, items)

    def _with_keyword(self, call: ast.Call, sentences: Sequence[str]) -> str:
        items = [*map(literal, sentences)]
        arguments: list[ast.AST] = [*call.args, *call.keywords]
        if not arguments or call.lineno == call.end_lineno:
            gap = ", " if arguments else ""
            at = self._end(call) - 1
            whole = self._replaced(at, at, f"{gap}examples={_on_a_line(items)}")
            return whole if _has_room(whole, at) else self._set_out(call, items)
        last = max(arguments, key=self._end)
        if not self._begins_line(last):
            return self._set_out(call, items)
        indent = self._indent(_line_of(last))
        entry = f"{' ' * indent}{self._keyword(items, indent)},"
        return self._after(last, self._end(call) - 1, [entry])

    def _set_out(self, call: ast.Call, items: Sequence[str]) -> str:
        """The call with an argument a line; raises `Unwritable` where that might lose a comment."""
        start, end = self._end(call.func), self._end(call)
        if call.lineno != call.end_lineno and "#" in self.text[start:end]:
            raise Unwritable("there may be a comment among its arguments: give each its own line")
        outer = self._indent(call.lineno)
        inner = outer + _STEP
        kept = [*call.args, *(each for each in call.keywords if each.arg != "examples")]
        entries = [*map(self._source, kept), self._keyword(items, inner)]
        lines = "".join(f"{self._newline}{' ' * inner}{entry}," for entry in entries)
        return self._replaced(start, end, f"({lines}{self._newline}{' ' * outer})")

    def _keyword(self, items: Sequence[str], indent: int) -> str:
        """`examples=[…]`, on one line where there is room for it and the comma."""
        line = f"examples={_on_a_line(items)}"
        if indent + _width(line) + 1 <= WIDEST:
            return line
        return f"examples={_on_lines(items, indent, self._newline)}"

    def _begins_line(self, node: ast.AST) -> bool:
        start = self._start(node)
        return not self.text[self.text.rfind("\n", 0, start) + 1 : start].strip()

    def _replaced(self, start: int, end: int, by: str) -> str:
        return f"{self.text[:start]}{by}{self.text[end:]}"

    def _source(self, node: ast.AST) -> str:
        return self.text[self._start(node) : self._end(node)]

    def _start(self, node: ast.AST) -> int:
        return self._index(_line_of(node), getattr(node, "col_offset", 0))

    def _end(self, node: ast.AST) -> int:
        return self._index(getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0))

    def _index(self, line: int, column: int) -> int:
        """Python counts columns in bytes."""
        before = sum(len(each) + 1 for each in self._lines[: line - 1])
        return before + len(self._lines[line - 1].encode()[:column].decode())

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.split("\n")

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _indent(self, line: int) -> int:
        text = self._lines[line - 1]
        return len(text) - len(text.lstrip())


def literal(text: str) -> str:
    """The text as a Python string, in the quotes that need fewer escapes.

    >>> print(literal("it's"), literal('say "no"'))
    "it's" 'say "no"'
    """
    quote = "'" if text.count('"') > text.count("'") else '"'
    escaped = text.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"{quote}{escaped}{quote}"


def _name_of(function: ast.expr) -> str:
    name: str = getattr(function, "id", "") or getattr(function, "attr", "")
    return name


def _line_of(node: ast.AST) -> int:
    line: int = getattr(node, "lineno", 1)
    return line


def _width(line: str) -> int:
    return sum(1 + (unicodedata.east_asian_width(sign) in {"W", "F"}) for sign in line)


def _has_room(text: str, at: int) -> bool:
    """Whether the line at this place is no wider than it may be, less a comment behind it."""
    line = text[text.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return _width(line.partition("  #")[0].rstrip()) <= WIDEST


def _on_a_line(items: Sequence[str]) -> str:
    return f"[{', '.join(items)}]"


def _on_lines(items: Sequence[str], indent: int, newline: str) -> str:
    inner = " " * (indent + _STEP)
    return f"[{newline}{''.join(f'{inner}{item},{newline}' for item in items)}{' ' * indent}]"
