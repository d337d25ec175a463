"""Expressions of Python's `re` that can take more than linear time over a text.

It goes back over what it has read: where a loop may end at any of its steps and what comes after
can fail, each end is tried; of two such loops in a row, each pair; and a search begins again at
each character that the first loop went over. RE2 (`router.documents.regex`) does none of that.
"""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")

LONG = 256
"""A loop of fewer steps is none: it costs a text no more than that many times its length."""
_ALPHABET = frozenset(map(chr, range(256))) | frozenset("中，１٣é\u200b\u3000😀Ａ")
_DONE, _FAILS = "done", "fails"
"""After a loop: nothing more is wanted, or what isn't a character, such as the text's end."""
_CATEGORIES = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
    op.CATEGORY_NOT_DIGIT: lambda c: not c.isdecimal(),
    op.CATEGORY_NOT_SPACE: lambda c: not c.isspace(),
    op.CATEGORY_NOT_WORD: lambda c: not (c.isalnum() or c == "_"),
}
ANCHORED = frozenset({"match", "fullmatch"})
FUNCTIONS = ANCHORED | {"compile", "search", "sub", "subn", "split", "findall", "finditer"}


def _in(items: list[Any]) -> frozenset[str]:
    found: set[str] = set()
    for kind, value in items:
        if kind is op.LITERAL:
            found.add(chr(value))
        elif kind is op.RANGE:
            found |= {c for c in _ALPHABET if value[0] <= ord(c) <= value[1]}
            found |= {chr(value[0]), chr(value[1])}
        elif kind is op.CATEGORY:
            found |= set(filter(_CATEGORIES[value], _ALPHABET))
    return _ALPHABET - found if items[0][0] is op.NEGATE else frozenset(found)


@dataclass
class Expression:
    """What can begin what, walked from the end: a set of characters follows each node."""

    flags: int
    loops: int = 0
    """Those that may end at any step."""
    went_over: list[frozenset[str]] = field(default_factory=list)
    """By each loop after which something can fail."""
    nested: bool = False

    def first(self, nodes: Any, follow: frozenset[str], *, looped: bool = False) -> frozenset[str]:
        """What the nodes begin with, or what follows where they can be empty."""
        for kind, value in reversed(list(nodes)):
            follow = self._of(kind, value, follow, looped=looped)
        return follow

    def _of(self, kind: Any, value: Any, follow: frozenset[str], *, looped: bool) -> frozenset[str]:
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT}:
            return self._repeat(value, follow, looped=looped)
        if kind is op.POSSESSIVE_REPEAT:
            return self._kept(value, follow)
        if kind in {op.SUBPATTERN, op.ATOMIC_GROUP}:
            inner = value[-1] if kind is op.SUBPATTERN else value
            return self.first(inner, follow, looped=looped)
        if kind is op.BRANCH:
            begins = [self.first(each, follow, looped=looped) for each in value[1]]
            every = frozenset[str]().union(*begins)
            if looped and _DONE not in follow and sum(map(len, begins)) > len(every):
                self.nested = True
            return every
        if kind in {op.ASSERT, op.ASSERT_NOT}:
            self.first(value[1], frozenset({_DONE}), looped=looped)
        if kind in {op.AT, op.ASSERT, op.ASSERT_NOT}:
            return follow - {_DONE} | {_FAILS}
        return self._characters(kind, value)

    def _kept(self, value: Any, follow: frozenset[str]) -> frozenset[str]:
        """A possessive loop: what it has read it never gives back."""
        least, _, body = value
        begun = self.first(body, frozenset({_DONE})) - {_DONE}
        self.went_over += [begun] * (_DONE not in follow)
        return begun if least else begun | follow

    def _characters(self, kind: Any, value: Any) -> frozenset[str]:
        if kind is op.IN:
            found = _in(value)
        elif kind is op.LITERAL:
            found = frozenset({chr(value)})
        else:
            without = {"\n"} if kind is op.ANY and not self.flags & re.DOTALL else set()
            found = _ALPHABET - without - ({chr(value)} if kind is op.NOT_LITERAL else set())
        return found | {c.swapcase() for c in found} if self.flags & re.IGNORECASE else found

    def _repeat(self, value: Any, follow: frozenset[str], *, looped: bool) -> frozenset[str]:
        least, most, body = value
        begins = Expression(self.flags).first(body, frozenset()) - {_FAILS}
        long = most is op.MAXREPEAT or int(most) >= LONG
        before = self.loops
        begun = self.first(body, begins | follow if most != 1 else follow, looped=looped or long)
        if long and _DONE not in follow:
            self.went_over.append(begins)
            if begins & follow:
                self.loops += 1
            if (looped and begins & follow) or self.loops > before + (bool(begins & follow)):
                self.nested = True
        return begun if least else begun | follow


def slow(source: str, flags: int = 0, used: frozenset[str] = frozenset({"search"})) -> bool:
    """True where these functions of the expression can take more than linear time."""
    parsed = parser.parse(source, flags)
    seen = Expression(parsed.state.flags)
    begins = seen.first(parsed, frozenset({_FAILS if "fullmatch" in used else _DONE}))
    again = any(each & begins and _entered(parsed, each) for each in seen.went_over)
    return seen.nested or seen.loops > 1 or (again and not used <= ANCHORED)


def _entered(parsed: Any, went_over: frozenset[str]) -> bool:
    """True where a search can begin amidst these, by what it wants before its first character."""
    kind, value = parsed[0]
    before: frozenset[str] = frozenset()
    if kind is op.AT and value is op.AT_BOUNDARY:
        before = frozenset(filter(_CATEGORIES[op.CATEGORY_WORD], _ALPHABET))
    elif kind in {op.ASSERT, op.ASSERT_NOT} and value[0] < 0:
        before = Expression(parsed.state.flags).first(value[1], frozenset())
    return bool(went_over & before if kind is op.ASSERT and before else went_over - before)


BY_AUTHORS = "what whoever runs the house writes into files or settings, or types at its terminal"
EXCEPTIONS = {
    **dict.fromkeys(
        (
            "activities/sandbox.py _SHEBANG",
            "router/cli/tools.py expected",
            "router/documents/regex.py sign",
            "router/drawing/flowchart.py _FILLED_IN",
            "router/flow/language/expressions.py POSITION",
            "router/flow/language/expressions.py TOKEN",
            "router/flow/validation/patterns.py REFERENCE",
            "router/retrieval/encoders.py pattern",
            "router/settings/values.py pattern",
            "router/skill/front_matter.py _TOOL",
            "router/skill/loader.py _CODE",
            "router/skill/loader.py _DEFINED",
            "router/skill/loader.py _INLINE",
            "router/tool/http/template.py _PIECE",
        ),
        BY_AUTHORS,
    ),
    "activities/tools/calculator.py _TOKEN": "of at most `LONGEST` characters",
    "router/llm/calls.py _TAGGED": "its loops end at the text's end at the latest: nothing fails",
    "router/llm/client.py _NAMED[name]": "of an error's first `_READ` characters",
    "router/secrecy/redaction.py _ADDRESS": "a search goes on behind the slash that it came to",
    "router/secrecy/redaction.py _JWT": "of at most `_SEEN` characters, by two thousand",
    "router/understanding/triggers/classifier.py _TRAILING": "of at most `_LONGEST` characters",
    **dict.fromkeys(
        (
            "router/entities/normalisation.py words",
            "router/llm/stream.py opening",
            "router/tool/http/response.py f'</{name}[\\\\s/>]'",
            "router/tool/http/response.py '|'.join(map(re.escape, longest_first))",
        ),
        "put together of words as they are, without loops that meet",
    ),
}
"""By module and name, or as written, with the reason why it may stay."""


def backtracking(sources: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Those of these modules, and their lines; an exception that is none any more comes as well."""
    found = dict(each for path, text in sources.items() for each in _of_module(path, text))
    yield from ((name, line) for name, line in found.items() if name not in EXCEPTIONS)
    yield from ((f"{name}: no exception any more", 0) for name in EXCEPTIONS.keys() - found.keys())


def _of_module(path: str, source: str) -> Iterator[tuple[str, int]]:
    tree = ast.parse(source)
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and _asks_re(n)]
    if not calls:
        return
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    named = {id(n.value): n.targets[0] for n in ast.walk(tree) if isinstance(n, ast.Assign)}
    attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    for call in calls:
        name = ast.unparse(named.get(id(call), call.args[0]))
        asked = ast.unparse(call.func).removeprefix("re.")
        used = {a.attr for a in attributes if ast.unparse(a.value) == name} - {"pattern"}
        if _may_be_slow(call, module, frozenset(used if asked == "compile" and used else {asked})):
            yield f"{path} {name}", call.lineno


def _asks_re(call: ast.Call) -> bool:
    module, _, name = ast.unparse(call.func).rpartition(".")
    return module == "re" and name in FUNCTIONS and bool(call.args)


_FLAGS = {"re.compile": 1, "re.split": 3, "re.sub": 4, "re.subn": 4}
"""Which argument they are."""
_NONE = ast.Constant(0, lineno=1, col_offset=0)


def _may_be_slow(call: ast.Call, module: str, used: frozenset[str]) -> bool:
    at = _FLAGS.get(ast.unparse(call.func), 2)
    flags = [*call.args[at : at + 1], *(k.value for k in call.keywords if k.arg == "flags")]
    try:
        source, flag = (_value(each, module) for each in [call.args[0], *flags, _NONE][:2])
    except NameError:
        return True  # not known before it runs
    return slow(source if isinstance(source, str) else source.decode("latin-1"), flag, used)


def _value(node: ast.expr, module: str) -> Any:
    written = compile(ast.Expression(node), "", "eval")
    try:
        return eval(written, {"re": re})
    except NameError:
        return eval(written, dict(vars(importlib.import_module(module))))
