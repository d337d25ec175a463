"""Expressions of Python's `re` that can take more than linear time over a text.

It goes back over what it has read: where a loop may end at any of its steps and what comes after
can fail, each end is tried; of two such loops in a row, each pair; and a search begins again at
each character that the first loop went over. RE2 (`router.formats.regex`) does none of that.
"""

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

op: Any = importlib.import_module("re._constants")
parser: Any = importlib.import_module("re._parser")
compiler: Any = importlib.import_module("re._compiler")

LONG = 256
"""A loop of fewer steps is none: it costs a text no more than that many times its length."""
_ALPHABET = frozenset(map(chr, range(256))) | frozenset("中，１٣é\u200b\u3000😀Ａ")
_DONE, _FAILS = "done", "fails"
"""After a loop: nothing more is wanted, or what isn't a character, such as the text's end."""
ANCHORED = frozenset({"match", "fullmatch"})
_OTHERS = {"compile", "search", "sub", "subn", "split", "findall", "finditer"}
FUNCTIONS = {f"re.{name}" for name in ANCHORED | _OTHERS}


@dataclass
class Expression:
    """What can begin what, walked from the end: a set of characters follows each node."""

    state: Any
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
        if kind in {op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT}:
            return self._repeat(kind, value, follow, looped=looped)
        if kind in {op.SUBPATTERN, op.ATOMIC_GROUP}:
            inner = value[-1] if kind is op.SUBPATTERN else value
            return self.first(inner, follow, looped=looped)
        if kind is op.BRANCH:
            begins = [self.first(each, follow, looped=looped) for each in value[1]]
            every = frozenset[str]().union(*begins)
            meet = sum(map(len, begins)) > len(every)
            self.nested |= looped and _DONE not in follow and meet
            return every
        if kind in {op.ASSERT, op.ASSERT_NOT}:
            self.first(value[1], frozenset({_DONE}), looped=looped)
        if kind in {op.AT, op.ASSERT, op.ASSERT_NOT}:
            return follow - {_DONE} | {_FAILS}
        return self._characters(kind, value)

    def _characters(self, kind: Any, value: Any) -> frozenset[str]:
        if kind is op.GROUPREF:
            return _ALPHABET
        one = compiler.compile(parser.SubPattern(self.state, [(kind, value)]))
        return frozenset(filter(one.match, _ALPHABET | set(self.state.str)))

    def _repeat(
        self, kind: Any, value: Any, follow: frozenset[str], *, looped: bool
    ) -> frozenset[str]:
        least, most, body = value
        begins = Expression(self.state).first(body, frozenset()) - {_FAILS}
        long = most is op.MAXREPEAT or int(most) >= LONG
        before = self.loops
        begun = self.first(body, begins | follow if most != 1 else follow, looped=looped or long)
        if long and _DONE not in follow:
            self.went_over.append(begins)
            # A possessive loop never gives back what it has read.
            anywhere = bool(begins & follow) and kind is not op.POSSESSIVE_REPEAT
            self.nested |= (looped and anywhere) or self.loops > before
            self.loops += anywhere
        return begun if least else begun | follow


def slow(source: str, flags: int = 0, used: frozenset[str] = frozenset({"search"})) -> bool:
    """True where these functions of the expression can take more than linear time."""
    parsed = parser.parse(source, flags)
    seen = Expression(parsed.state)
    begins = seen.first(parsed, frozenset({_FAILS if "fullmatch" in used else _DONE}))
    again = any(each & begins and _entered(parsed, each) for each in seen.went_over)
    return seen.nested or seen.loops > 1 or (again and not used <= ANCHORED)


def _entered(parsed: Any, went_over: frozenset[str]) -> bool:
    """True where a search can begin amidst these, by what it wants before its first character."""
    kind, value = parsed[0]
    before: frozenset[str] = frozenset()
    if kind is op.AT and value is op.AT_BOUNDARY:
        before = frozenset(filter(re.compile(r"\w").match, _ALPHABET))
    elif kind in {op.ASSERT, op.ASSERT_NOT} and value[0] < 0:
        before = Expression(parsed.state).first(value[1], frozenset())
    return bool(went_over & before if kind is op.ASSERT and before else went_over - before)


_BY_AUTHORS = """\
activities/sandbox.py _SHEBANG, router/cli/tools.py expected, router/formats/regex.py sign,
router/drawing/flowchart.py _FILLED_IN, router/flow/language/expressions.py POSITION,
router/flow/language/expressions.py TOKEN, router/flow/validation/patterns.py REFERENCE,
router/retrieval/encoders.py pattern, router/settings/values.py pattern,
router/skill/front_matter.py _TOOL, router/skill/loader.py _CODE, router/skill/loader.py _DEFINED,
router/skill/loader.py _INLINE, router/extensions/http/template.py _PIECE"""
EXCEPTIONS = {
    "router/documents/labels.py alternatives": "put together of words, without loops",
    "router/documents/labels.py words": "constants of the types, over lines that are cut",
    **dict.fromkeys(_BY_AUTHORS.replace("\n", " ").split(", "), "who runs the house writes these"),
    "company/tools/calculator.py _TOKEN": "of at most `LONGEST` characters",
    "router/llm/calls.py _TAGGED": "its loops end at the text's end at the latest: nothing fails",
    "router/llm/refusals.py _NAMED[name]": "of an error's first `_READ` characters",
    "router/secrecy/redaction.py _ADDRESS": "a search goes on behind the slash that it came to",
    "router/secrecy/redaction.py _JWT": "of at most `_SEEN` characters, by two thousand",
    "router/understanding/triggers/classifier.py _TRAILING": "of at most `_LONGEST` characters",
    **dict.fromkeys(
        (
            "router/entities/normalisation.py words",
            "router/llm/stream.py opening",
            "router/outbound/response.py f'</{name}[\\\\s/>]'",
            "router/outbound/response.py '|'.join(map(re.escape, longest_first))",
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
    if "import re\n" not in source:
        return
    nodes = list(ast.walk(ast.parse(source)))
    calls = [n for n in nodes if isinstance(n, ast.Call) and n.args]
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    named = {id(n.value): n.targets[0] for n in nodes if isinstance(n, ast.Assign)}
    attributes = [n for n in nodes if isinstance(n, ast.Attribute)]
    for call in (one for one in calls if ast.unparse(one.func) in FUNCTIONS):
        name = ast.unparse(named.get(id(call), call.args[0]))
        asked = ast.unparse(call.func).removeprefix("re.")
        used = {a.attr for a in attributes if ast.unparse(a.value) == name} - {"pattern"}
        if _may_be_slow(call, module, frozenset(used if asked == "compile" and used else {asked})):
            yield f"{path} {name}", call.lineno


def _may_be_slow(call: ast.Call, module: str, used: frozenset[str]) -> bool:
    given = [*call.args[1:], *(k.value for k in call.keywords)]
    flags = [each for each in given if ast.unparse(each).startswith("re.")]
    try:
        source, *flag = (_value(each, module) for each in [call.args[0], *flags])
    except NameError:
        return True  # not known before it runs
    return slow(source if isinstance(source, str) else source.decode("latin-1"), sum(flag), used)


def _value(node: ast.expr, module: str) -> Any:
    written = compile(ast.Expression(node), "", "eval")
    try:
        return eval(written, {"re": re})
    except NameError:
        return eval(written, dict(vars(importlib.import_module(module))))
