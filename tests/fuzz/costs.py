"""Entrances of languages that strangers write in: patterns, schemas, CEL and Jinja, by their cost.

What they compile and evaluate runs in native code in part, which no thread can interrupt. So each
input is first tried in a child process, which is killed when it takes too long, and whose processor
time and memory are the input's cost. Only an input that its child survives is tried in the process
that libFuzzer looks into.
"""

import json
import resource
import select
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from typing import Any

from router.flow.language import expressions, templates
from router.flow.language.budgets import turn_budget
from router.flow.language.cel_syntax import MACROS
from router.flow.language.expressions import ExpressionError, LookupNeeded
from router.flow.language.functions import FUNCTIONS, LOOKUPS
from router.flow.language.templates import TextError
from router.formats.regex import AUTHORED, FOREIGN, compile_foreign, refused
from router.routing.response_schema import ResponseSchema
from router.tool.implementation import ArgumentSchema
from tests.fuzz.entrance import Entrance, Form, Outcome, Take, as_bytes, registered
from tests.fuzz.texts import REFUSED, Opening, text_of
from tests.fuzz.trial import ROOT, forget_texts, memory_from_now_on, memory_used
from tests.unit.flow import test_budgets

MAX_INPUT_BYTES = 64 * 1024
MAX_INPUT_MEMORY = 64 * 1024 * 1024
"""Bytes that one input may take."""
CHILD_SECONDS = 10
"""Until a child is killed: a finding whatever it would have come to."""
CHILD_MEMORY = 1024 * 1024 * 1024
"""Bytes of address space that a child may add to what it begins with."""
_READY = b"ready"
_COST, _SIZE = struct.Struct("dq"), struct.Struct("q")


class Child:
    """A process that tries one input after the other, and is replaced when it dies of one.

    It begins as a new program: nothing looks into it, so what it measures is the product's cost.
    """

    def __init__(self, take: Callable[[bytes], Outcome]) -> None:
        self._name = f"{take.__module__}:{take.__name__}"
        self._process: subprocess.Popen[bytes] | None = None

    def cost_of(self, data: bytes) -> tuple[float, int]:
        """Seconds of processor time and bytes of memory that an input takes in the child."""
        process = self._process or self._start()
        assert process.stdin
        assert process.stdout
        process.stdin.write(_SIZE.pack(len(data)) + data)
        process.stdin.flush()
        told, _, _ = select.select([process.stdout], [], [], CHILD_SECONDS)
        packed = process.stdout.read(_COST.size) if told else b""
        if packed:
            seconds, memory = _COST.unpack(packed)
            return seconds, memory
        self.end()  # it died, of a signal or of its limits, or would go on
        return float(CHILD_SECONDS), 0

    def end(self) -> None:
        """End the child, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def _start(self) -> subprocess.Popen[bytes]:
        # What flow files ask of any company is declared there, and asked for at once.
        program = (
            f"import tests.conftest; from tests.fuzz.costs import serve; serve({self._name!r})"
        )
        words, pipe = [sys.executable, "-c", program], subprocess.PIPE
        self._process = subprocess.Popen(words, cwd=ROOT, stdin=pipe, stdout=pipe)
        assert self._process.stdout
        assert self._process.stdout.read(len(_READY)) == _READY
        return self._process


def serve(name: str) -> None:
    """Be the child: tell what each input that is read from standard input costs."""
    module, _, function = name.partition(":")
    take = getattr(import_module(module), function)
    take(b"")  # what is loaded at first is no input's doing
    limit = memory_used("VmSize") + CHILD_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    source, telling = sys.stdin.buffer, sys.stdout.buffer
    telling.write(_READY)
    telling.flush()
    while head := source.read(_SIZE.size):
        data = source.read(_SIZE.unpack(head)[0])
        forget_texts()
        telling.write(_COST.pack(*_measured(take, data)))
        telling.flush()


def _measured(take: Callable[[bytes], Outcome], data: bytes) -> tuple[float, int]:
    before, began = memory_from_now_on(), time.process_time()
    try:
        take(data)
    except MemoryError:
        return time.process_time() - began, CHILD_MEMORY
    except Exception:  # noqa: BLE001 - whoever tries it again in the open finds it
        pass
    return time.process_time() - began, memory_used("VmHWM") - before


def in_a_child(take: Callable[[bytes], Outcome]) -> Opening:
    """An entrance that tries each input in a child process first, and tells what it cost there."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Take]:
        child = Child(take)

        async def taken(data: bytes) -> Outcome:
            seconds, memory = child.cost_of(data)
            if seconds >= CHILD_SECONDS or memory > MAX_INPUT_MEMORY:
                return Outcome(seconds=seconds, memory=memory)
            return replace(take(data), seconds=seconds, memory=memory)

        try:
            yield taken
        finally:
            child.end()

    return opened


def registered_by_cost(
    name: str,
    about: str,
    take: Callable[[bytes], Outcome],
    tried: Callable[[], Iterator[bytes]],
    words: Sequence[str],
    form: Form = "text",
) -> None:
    """Know an entrance whose every input is bounded by what it costs."""
    entrance = Entrance(name, about, in_a_child(take), tried, form, longest=MAX_INPUT_BYTES)
    registered(replace(entrance, memory=MAX_INPUT_MEMORY, words=tuple(words)))


# Patterns

SUBJECTS = ("a" * 300, "ab1 -" * 60, "请假三天" * 75, "")
"""As long as texts that are searched on the loop: callers bound a longer one by its cost."""
PATTERN_WORDS = (
    *(
        r"\pL",
        r"\p{Han}",
        r"[^\pN]",
        r"\w",
        r"\b",
        r"\d",
        ".",
        "[ab]",
        "[\u4e00-\u9fa5]",
        "a",
        "请",
    ),
    *("*", "+?", "?", "{1,30}", "{0,900}", "{100}", "|", "(", ")", "(?:", "(?P<n>", "^", "$"),
    *("(?i)", "(?s)", "(?:a?){30}", "(.*)", "(a|b)*", r"\Q", r"\x{10FFFF}", "[[:alpha:]]"),
)


def _pattern(data: bytes) -> Outcome:
    """A pattern of a caller, which captures nothing, and of an author, which may."""
    pattern, outcome = text_of(data), REFUSED
    for bounds in (FOREIGN, AUTHORED):
        if refused(pattern, bounds=bounds) is not None:
            continue
        outcome, ready = Outcome(), compile_foreign(pattern, bounds, ignore_case=True)
        for subject in (*SUBJECTS, pattern):
            ready.search(subject)
    return outcome


def _patterns() -> Iterator[bytes]:
    for pattern in ("(?s)" + "(.*)" * 3_200, "()" * 8_000 + "b", "(a)|" * 4_000, r"\pL{100}"):
        yield as_bytes(pattern)
    for pattern in (r"^\d{4}-\d{2}$", "(a|b)*c{1,30}", r"(?i)[^\pL]{2,9}\b", "(x+x+)+y"):
        yield as_bytes(pattern)


registered_by_cost(
    "patterns", "regular expressions that others write", _pattern, _patterns, PATTERN_WORDS
)

# Schemas


def _schema(data: bytes) -> Outcome:
    try:
        given = json.loads(data)
        value = given.get("value", {})
        schemas: Any = given["schema"]
        problems = [*ArgumentSchema(schemas).problems(value)]
        ResponseSchema.read(schemas)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return REFUSED
    return REFUSED if problems else Outcome()


def _schemas() -> Iterator[bytes]:
    text = {"type": "string", "pattern": "(?s)" + "(.*)" * 3_000}
    for written, value in (
        ({"a": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 9}}, {"a": "abc"}),
        ({"a": text}, {"a": "x" * 41}),
        ({"a": {"type": "array", "uniqueItems": True}}, {"a": [*range(2_000)]}),
        ({"a": {"anyOf": [{"type": "integer"}, {"enum": ["x"]}]}}, {"a": "x"}),
    ):
        yield as_bytes({"schema": {"type": "object", "properties": written}, "value": value})


SCHEMA_WORDS = (
    *("a", "schema", "value", "properties", "patternProperties", "additionalProperties"),
    *("propertyNames", "required", "dependentRequired", "dependentSchemas", "$ref", "$id"),
    *("$defs", "$dynamicRef", "$anchor", "items", "prefixItems", "contains", "uniqueItems"),
    *("unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if"),
    *("then", "else", "enum", "const", "pattern", "format", "multipleOf", "maxLength", "type"),
)
registered_by_cost(
    "schemas", "JSON Schemas, and values for them", _schema, _schemas, SCHEMA_WORDS, "json"
)

# Expressions and texts of flows, as an author's draft has them and as a run evaluates them

ITEMS = [{"amount": {"amount": "5.00", "currency": "CNY"}, "note": "x" * 40}] * 200
SCOPE: Mapping[str, Any] = {
    "slots": {"reason": "x请" * 4_000, "many": [*range(1_000)], "items": ITEMS, "days": 5.0},
    "results": {"page": "y" * 60_000, "rows": [{"a": n, "b": [n] * 20} for n in range(300)]},
    "requester": {"id": "alice", "roles": ["employee"]},
    "now": "2026-11-18T23:30:00+08:00",
}
VARIABLES = ("slots", "results", "requester", "now")


def _expressions(data: bytes) -> Outcome:
    """One expression a line: all are examined with the file, and evaluated in one turn."""
    sources = text_of(data).split("\n")
    examination, turn, outcome = turn_budget(), turn_budget(), Outcome()
    for source in sources:
        if expressions.problems_of(source, VARIABLES, examination):
            outcome = REFUSED
            continue
        try:
            expressions.evaluate(source, SCOPE, {}, turn)
        except (ExpressionError, LookupNeeded):
            outcome = REFUSED
    return outcome


def _written_expressions() -> Iterator[bytes]:
    for source in (*test_budgets.HOSTILE_EXPRESSIONS, *test_budgets.GROWING_EXPRESSIONS):
        yield as_bytes(source)
    yield b"[" + b"1, " * 900 + b"1].map(x, 'a'.matches('\\\\pL{100}'))"
    yield b"slots.items.filter(i, has(i.note)).map(i, i.note).size() > 3 && unique(slots.many)"
    yield b"timestamp(now) - duration('1h30m') < timestamp('2026-11-18T00:00:00Z')"
    yield b"total(slots.items) > 5 ? string(slots.days) + 'x' : slots.reason"


EXPRESSION_WORDS = (
    *(f"{name}(" for name in (*expressions.BUILT_IN, *FUNCTIONS, *LOOKUPS)),
    *(f".{name}(" for name in expressions.METHODS if name not in MACROS),
    *(f".{name}(i, " for name in MACROS),
    *(")", "[", "]", "{'a': ", "}", ", ", " + ", " * ", " == ", " in ", " && ", " ? 1 : ", "-"),
    *("slots.reason", "slots.many", "slots.items", "slots.days", "results.page", "results.rows"),
    *("i", "now", "'x'", "b'x'", "r'[ab]{90}'", "'1h'", "1e308", "9223372036854775807", "1u"),
)
registered_by_cost(
    "expressions",
    "CEL of flow files, line by line",
    _expressions,
    _written_expressions,
    EXPRESSION_WORDS,
)


def _template(data: bytes) -> Outcome:
    """One text, examined with the file and rendered in a turn."""
    text = text_of(data)
    scope = {**SCOPE, "shown": SCOPE["slots"], "locale": "zh"}
    if templates.problems_of(text, SCOPE["slots"], SCOPE["results"], ("now",)):
        return REFUSED
    try:
        templates.render(text, scope, turn_budget())
    except TextError:
        return REFUSED
    return Outcome()


def _written_templates() -> Iterator[bytes]:
    for text in (*test_budgets.HOSTILE_TEXTS, *test_budgets.GROWING_TEXTS):
        yield as_bytes(text)
    yield as_bytes("{{ shown.reason }}：{{ slots.items|length }}{% if slots.days %}天{% endif %}")
    yield b"{% for i in slots.items %}{{ loop.index }}. {{ i.amount|money }}\n{% endfor %}"
    yield b"{{ results.rows|map(attribute='a')|select('odd')|sum|round(2) }}"


TEMPLATE_WORDS = (
    *(f"|{name}" for name in templates.ENVIRONMENT.filters if "=" not in name),
    *(f" is {name} " for name in templates.ENVIRONMENT.tests if name.isalpha()),
    *(
        "{{ ",
        " }}",
        "{% for i in slots.many %}",
        "{% endfor %}",
        "{% set a = ",
        " %}",
        "{% endif %}",
    ),
    *("{% if slots.items %}", "{% if i in slots.reason %}", "(", ")", "[", "]", ", ", "[1:]", "~"),
    *("slots.reason", "slots.many", "shown.items", "results.page", "results.rows", "i", "loop"),
    *("(attribute='a.b,c')", "('in', slots.many)", "('x', slots.reason)", "(9)", " * ", " == "),
)
registered_by_cost(
    "templates", "Jinja of flow files", _template, _written_templates, TEMPLATE_WORDS
)
