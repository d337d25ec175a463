"""JSON Schemas that somebody else wrote, and values checked against them, at a bounded cost.

`check_schema` goes through a schema once and refuses what is no JSON Schema, is too large, or has
patterns that cost too much. `find_errors` checks a value. Neither schema nor value says how long
that takes, for their sizes multiply: so it is stopped once it has had its processor time, which is
looked at before each keyword. What happens between two looks is bounded by itself: a search by the
pattern's program and the text's length, `uniqueItems` by comparing hashes, all else by the length
of the schema. Errors keep the first characters of their messages, which repeat whole values.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from math import inf
from typing import Any

import re2
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from pydantic import JsonValue
from referencing import Registry

from router.domain.errors import FaultyValue
from router.formats.references import Dangling, References
from router.formats.regex import compile_foreign, program_size, refused

MAX_SCHEMA_NODES = 5_000
"""Schemas within one schema."""
MAX_SCHEMA_DEPTH = 64
MAX_SCHEMA_PATTERNS = 100
MAX_SCHEMA_INSTRUCTIONS = 20_000
"""Of the programs of a schema's patterns together: compiling them holds everything up."""
REFUSED_INSTRUCTIONS = 2_000
"""What a pattern that isn't taken counts for: finding that out takes time as well."""
MAX_MESSAGE_CHARS = 200

ValueCheck = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_anything(_: Any) -> bool:
    return True


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len({*value}) == len(value)


def _are_names_by_name(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_are_names, value.values()))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < inf


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and (isinstance(value, int) or value.is_integer())


def _is_divisor(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_type(value: Any) -> bool:
    named = [value] if isinstance(value, str) else value
    return _are_names(named) and bool(named) and _TYPES.issuperset(named)


_TYPES = frozenset(("object", "array", "string", "number", "integer", "boolean", "null"))
_TEXTS = (
    *("$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$comment"),
    *("title", "description", "format", "pattern", "contentEncoding", "contentMediaType"),
)
_COUNTS = (
    *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
    *("minProperties", "maxProperties"),
)
VALUE_CHECKS: Mapping[str, ValueCheck] = {
    **dict.fromkeys(_TEXTS, _is_text),
    **dict.fromkeys(_COUNTS, _is_count),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("const", "default"), _is_anything),
    "multipleOf": _is_divisor,
    "required": _are_names,
    "dependentRequired": _are_names_by_name,
    "type": _is_type,
}
"""What each keyword's value has to be; keywords of schemas are in the three lists below."""
SINGLE_SCHEMAS = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
)
LISTED_SCHEMAS = ("anyOf", "oneOf", "allOf", "prefixItems")
NAMED_SCHEMAS = ("properties", "dependentSchemas")
_DEFINITIONS = ("$defs", "definitions")
_REFUSED = {
    "patternProperties": "name the properties, or allow any others",
    "unevaluatedProperties": "write additionalProperties",
    "unevaluatedItems": "write items, or maxItems",
}
"""Keywords whose cost can't be bounded, and what to write instead."""


class PatternBudget:
    """What the patterns of a schema, or of schemas that come together, may cost when compiled."""

    def __init__(self) -> None:
        self._patterns = 0
        self._instructions = 0

    def admit(self, pattern: str) -> None:
        """Raise `ValueError` if RE2 doesn't take the pattern, or the budget is spent."""
        self._patterns += 1
        if self._patterns > MAX_SCHEMA_PATTERNS:
            raise FaultyValue(
                f"there are over {MAX_SCHEMA_PATTERNS} patterns", "leave some of them out"
            )
        if self._instructions <= MAX_SCHEMA_INSTRUCTIONS:
            if fault := refused(pattern):
                self._instructions += REFUSED_INSTRUCTIONS
                raise FaultyValue(f"the pattern {pattern!r:.80} {fault.what}", fault.remedy)
            self._instructions += program_size(pattern)
        if self._instructions > MAX_SCHEMA_INSTRUCTIONS:
            most = f"RE2's programs for them may have {MAX_SCHEMA_INSTRUCTIONS} instructions"
            remedy = "repeat less, and leave lengths to maxLength"
            raise FaultyValue(f"the patterns are too large together: {most}", remedy)


def check_schema(schema: Any, budget: PatternBudget | None = None) -> None:
    """Raise `ValueError` if this is no JSON Schema, or one that may cost too much to check.

    What it refers to by a path is checked as well, wherever it stands. `budget` is for several
    schemas that come together.
    """
    patterns, nodes = budget or PatternBudget(), 0
    waiting = [(schema, 1)]
    referred = _Referred(schema)
    while waiting or (waiting := referred.unseen()):
        each, depth = waiting.pop()
        if each is True or each is False:
            continue
        nodes += 1
        if nodes > MAX_SCHEMA_NODES:
            raise FaultyValue(f"it has more than {MAX_SCHEMA_NODES} schemas", "ask for less")
        if depth > MAX_SCHEMA_DEPTH:
            raise FaultyValue(
                f"it is nested more than {MAX_SCHEMA_DEPTH} levels deep", "flatten it"
            )
        if not isinstance(each, dict):
            raise not_a_schema("", each)
        if depth > 1 and "$schema" in each:
            raise FaultyValue("it has $schema within it", "write that at the top alone")
        waiting += [(inner, depth + 1) for inner in _schemas_within(each)]
        referred.see(each)
        if "pattern" in each:
            patterns.admit(each["pattern"])
    if referred.is_any and _has_id_within(schema):
        # What is referred to would be looked for beside that id, where nothing was checked.
        raise FaultyValue("it has $id within it, and $ref", "write $id at the top alone")


_REFERENCES = ("$ref", "$dynamicRef")


def _has_id_within(document: Any) -> bool:
    """Return whether anything below the top of the document names itself by `$id`."""
    waiting = [*document.values()] if isinstance(document, dict) else []
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if isinstance(each.get("$id"), str):
                return True
            waiting += each.values()
        elif isinstance(each, list):
            waiting += each
    return False


class _Referred:
    """What a schema refers to where schemas don't stand: under `default`, or an unknown keyword."""

    def __init__(self, document: Any) -> None:
        self._document = document
        own_id = document.get("$id") if isinstance(document, dict) else None
        self._own_id = own_id.rstrip("#") if isinstance(own_id, str) else ""
        self._seen: set[int] = set()
        self.is_any = False
        self._named: dict[str, None] = {}
        self._followed: set[str] = set()

    def see(self, schema: dict[str, Any]) -> None:
        """Note that this schema is checked, and what it refers to."""
        self._seen.add(id(schema))
        self.is_any = self.is_any or not schema.keys().isdisjoint(_REFERENCES)
        for key in _REFERENCES:
            name = schema.get(key, "").removeprefix(self._own_id)
            # Names ($anchor) are only found where schemas stand, and those are all checked. To
            # look for other documents takes long; `_bound` guards what is found by a check.
            if name.startswith("#/"):
                self._named[name] = None

    def unseen(self) -> list[tuple[Any, int]]:
        """The targets, each with its depth, that nobody has checked; they are given once."""
        names = [name for name in self._named if name not in self._followed]
        self._followed.update(names)
        references = References(self._document)
        found: dict[int, Any] = {}
        for name in names:
            with suppress(Dangling):
                target = references.target(name)
                found[id(target)] = target
        return [(found[key], 2) for key in found if key not in self._seen]


def _schemas_within(schema: dict[str, Any]) -> Iterator[Any]:
    for key, value in schema.items():
        if not VALUE_CHECKS.get(key, _is_anything)(value):
            raise not_a_schema(key, value)
        if key in _REFUSED:
            raise FaultyValue(f"it has {key}", _REFUSED[key])
        if key in SINGLE_SCHEMAS or key == "contentSchema":
            yield value
        elif key in LISTED_SCHEMAS:
            if not isinstance(value, list) or not value:
                raise not_a_schema(key, value)
            yield from value
        elif key in NAMED_SCHEMAS or key in _DEFINITIONS:
            if not isinstance(value, dict):
                raise not_a_schema(key, value)
            yield from value.values()


def not_a_schema(key: str, value: Any) -> FaultyValue:
    """Return the error for a keyword's value that no JSON Schema has."""
    where = f"its {key} is" if key else "a schema within it is"
    return FaultyValue(f"it is no JSON Schema: {where} {value!r:.60}", "see json-schema.org")


@dataclass(frozen=True)
class CheckBudget:
    """What checking a value against a schema may cost.

    Attributes:
        seconds: Processor time.
        search_work: Of one search for a pattern: the instructions of its program times the bytes
            of the text. RE2 takes at most 25 ns for each.
    """

    seconds: float
    search_work: int


QUICK = CheckBudget(0.01, 400_000)
"""What may be spent where everybody waits: on an event loop."""
THOROUGH = CheckBudget(0.25, 20_000_000)
"""What may be spent in a thread. RE2 searches without Python's lock."""


class CheckTooCostly(Exception):
    """Checking a value takes more than its budget, so nobody knows whether it fits."""

    def __str__(self) -> str:
        return "it takes too long to check; give fewer items, or shorter texts"


@dataclass
class _Meter:
    budget: CheckBudget
    spent: float = 0.0
    since: float | None = None

    def look(self) -> None:
        since = self.since if self.since is not None else time.thread_time()
        if self.spent + time.thread_time() - since > self.budget.seconds:
            raise CheckTooCostly

    def admit_search(self, work: int) -> None:
        if work > self.budget.search_work:
            raise CheckTooCostly

    @contextmanager
    def running(self) -> Iterator[None]:
        self.since = time.thread_time()
        try:
            yield
        finally:
            self.spent += time.thread_time() - self.since
            self.since = None


_METER: ContextVar[_Meter | None] = ContextVar("schema_check_meter", default=None)


@contextmanager
def spend_at_most(budget: CheckBudget) -> Iterator[None]:
    """Give all checks within the block this budget together; without, each has `THOROUGH`."""
    token = _METER.set(_Meter(budget))
    try:
        yield
    finally:
        _METER.reset(token)


def is_thorough() -> bool:
    """Whether a check that is too costly now would be so in every thread, too."""
    meter = _METER.get()
    return meter is None or meter.budget is THOROUGH


def validator_of(schema: Mapping[str, JsonValue]) -> Validator:
    """Return what `find_errors` checks values with. References are followed within the schema."""
    made: Validator = _BoundedValidator(schema, format_checker=_FORMATS, registry=Registry())
    return made


def find_errors(
    validator: Validator, value: JsonValue, most: int | None = None
) -> list[ValidationError]:
    """Return what is wrong with the value, in the schema's order, and at most `most` errors.

    Raises:
        CheckTooCostly: The budget is spent.
        referencing.exceptions.Unresolvable: The schema refers to something that isn't in it.
        RecursionError: The value is nested too deep, or the schema refers to itself.
    """
    meter = _METER.get() or _Meter(THOROUGH)
    token = _METER.set(meter)
    try:
        with meter.running():
            return list(islice(validator.iter_errors(value), most))
    finally:
        _METER.reset(token)


_Keyword = Callable[[Any, Any, Any, Any], Iterator[ValidationError] | None]


def _bound(check: _Keyword) -> _Keyword:
    """The same check, which looks at the time before it begins, and cuts its messages.

    It refuses to begin beside a refused keyword, in a schema that nobody has checked: to know the
    additional properties, the library has Python search by all of `patternProperties`.
    """

    def bounded(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        _meter().look()
        if not _REFUSED.keys().isdisjoint(schema):
            raise CheckTooCostly
        try:
            for error in check(validator, wanted, value, schema) or ():
                yield _shortened(error)
        except ArithmeticError:
            # The library divides a whole number by a fraction, whatever their sizes.
            yield ValidationError(f"{value!r:.80} is too large a number to be checked")

    return bounded


def _shortened(error: ValidationError) -> ValidationError:
    """The error without the whole value in its message, and the errors of each alternative."""
    if len(error.message) > MAX_MESSAGE_CHARS:
        error.message = f"{error.message[:MAX_MESSAGE_CHARS]}…"
    error.context, error.args = [], (error.message,)
    return error


def _meter() -> _Meter:
    meter = _METER.get()
    assert meter is not None  # noqa: S101 - set by `find_errors`
    return meter


def _check_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if not isinstance(value, str):
        return
    try:
        expression = compile_foreign(pattern)
    except re2.error:
        raise CheckTooCostly from None  # of a schema that nobody has checked
    text = value.encode("utf-8", "replace")
    _meter().admit_search(expression.programsize * len(text))
    if expression.search(text) is None:
        yield ValidationError(f"{value!r:.80} does not match {pattern!r:.80}")


def _check_unique(_: Any, unique: bool, value: Any, __: Any) -> Iterator[ValidationError]:
    if unique and isinstance(value, list) and len({*map(_hashable, value)}) < len(value):
        yield ValidationError(f"{value!r:.80} has non-unique elements")


def _hashable(value: Any) -> Any:
    """The value as something equal to what JSON Schema takes for equal: 1 and 1.0, not true."""
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, dict):
        return frozenset((key, _hashable(inner)) for key, inner in value.items())
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return value


_FORMATS = FormatChecker(("date", "email", "idn-email", "ipv4", "ipv6", "uuid"))
"""Those that are cheap to check. `regex` would have Python compile whatever the value is."""
_BoundedValidator = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        keyword: _bound(check)
        for keyword, check in {
            **Draft202012Validator.VALIDATORS,
            "pattern": _check_pattern,
            "uniqueItems": _check_unique,
        }.items()
    },
)
_evolve_by_dialect = _BoundedValidator.evolve


def _evolve(validator: Any, **changes: Any) -> Any:
    """A validator of another schema, and of the same class whatever `$schema` that one names."""
    schema = changes.get("schema", validator.schema)
    if isinstance(schema, Mapping) and "$schema" in schema:
        changes["schema"] = {key: each for key, each in schema.items() if key != "$schema"}
    return _evolve_by_dialect(validator, **changes)


_BoundedValidator.evolve = _evolve
