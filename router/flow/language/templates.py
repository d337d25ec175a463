"""Texts of flow files: Jinja in a sandbox, the same words for the same values, always. Pure.

A text reads `slots` (raw values), `shown` (as people read them), `results` and `requester`, with
the filters `money`, `date`, `short_date`, `readable`, `told` and `remark`. What is empty renders as
nothing: in the middle of a durable run a gap does less harm than an error. Misspelt names are found
on loading.

A text words values, it computes none: it has no macros, what it sets it doesn't set from what it
has set, and every operator, filter and round of a loop is charged to a budget of steps by what it
is given.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from functools import lru_cache
from itertools import chain, islice
from typing import Any, NamedTuple

from jinja2 import ChainableUndefined, Template, TemplateSyntaxError, nodes
from jinja2.filters import do_join, do_replace, do_round, do_sum, do_trim
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import _PassArg, pass_context
from jinja2.visitor import NodeTransformer
from pydantic import JsonValue

from router.domain.errors import Fault, RouterError, nearest
from router.domain.locale import Locale
from router.flow.definition import SlotValues
from router.flow.language.budgets import CHARS_PER_STEP, StepBudget
from router.flow.prompts import values
from router.flow.slot_types.dates import day, short_date
from router.flow.slot_types.numbers import money
from router.flow.slot_types.slot import NO_FILES, Slot, plain, shown

__all__ = ["TextError", "problems_of", "render", "shown", "text_scope"]

KnownNames = Collection[str]

SYNTAX = "write values as {{ shown.start }} and conditions as {% if slots.reason %}…{% endif %}"
VARIABLES = frozenset({"slots", "shown", "results", "requester", "locale"})


MOST_WRITTEN = 10_000
MOST_CHARACTERS = 100_000
"""Of a text, as the file has it and filled in."""
MAX_NODES = 1_000
"""Of a text's syntax tree: Jinja compiles one in about 60 µs."""
MAX_DEPTH = 40
"""Of a text's syntax tree. Jinja goes through it by recursion."""
MAX_FAULTS = 10
"""Of one text: each quotes it."""
MOST_DIGITS = 12
MAX_NUMBER = 10**18
"""What numbers in a text are computed up to."""
_STEPS_PER_NODE = 10
"""Of rendering, which compiles the text the first time."""
_BUDGET = "=budget"
_STATEMENTS = (nodes.Output, nodes.If, nodes.For, nodes.Assign)


class TextError(RouterError):
    """A text can't be rendered with these values; the message names it and why."""


class _Charged(NodeTransformer):
    """Has whatever a text does charged: what is no filter goes through one that charges."""

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 - Jinja's name
        """Charge each round by what stands in the loop, and by its condition."""
        each_round = [*node.body, *([node.test] if node.test else [])]
        inside = sum(1 for part in each_round for _ in _within(part))
        self.generic_visit(node)
        node.iter = _through("=rounds", node.iter, nodes.Const(1 + inside))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:  # noqa: N802
        """Put texts together once it is known how long they are."""
        self.generic_visit(node)
        return _through("=together", nodes.List(node.nodes, lineno=node.lineno))

    def visit_Compare(self, node: nodes.Compare) -> nodes.Compare:  # noqa: N802
        """Charge what is compared."""
        self.generic_visit(node)
        node.expr = _through("=weighed", node.expr)
        for operand in node.ops:
            operand.expr = _through("=weighed", operand.expr)
        return node

    def visit_Test(self, node: nodes.Test) -> nodes.Test:  # noqa: N802
        """Charge what is tested, unless the test asks only whether it is there."""
        self.generic_visit(node)
        if node.name not in ("defined", "undefined"):
            node.node = _through("=weighed", node.node)
            node.args = [_through("=weighed", argument) for argument in node.args]
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Getitem:  # noqa: N802
        """Charge what a part is copied of."""
        self.generic_visit(node)
        if isinstance(node.arg, nodes.Slice):
            node.node = _through("=weighed", node.node)
        return node


def _through(name: str, node: nodes.Node, *arguments: nodes.Expr) -> nodes.Filter:
    made = nodes.Filter(node, name, [*arguments], [], None, None, lineno=node.lineno)
    made.set_environment(ENVIRONMENT)
    return made


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja without chance, calls or attributes: everything a text sees is plain data."""

    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})

    def getattr(self, obj: Any, attribute: str) -> Any:
        """Read `slots.items` as the slot of that name, never as a method of a mapping."""
        return self.getitem(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """The member of a mapping, list or loop; nothing where there is none."""
        try:
            return obj[argument]
        except (LookupError, TypeError):
            if type(obj).__name__ == "LoopContext":
                return super().getattr(obj, argument)
            return self.undefined(obj=obj, name=argument)

    def is_safe_callable(self, obj: Any) -> bool:  # noqa: ARG002 - none is
        """Nothing may be called."""
        return False

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Of numbers alone: `'a' * 2000000000` is a text that nobody reads."""
        if operator == "+" and isinstance(left, str) and isinstance(right, str):
            return _put_together(context, [left, right])
        context[_BUDGET].charge()
        if operator == "**" or not all(isinstance(v, int | float) for v in (left, right)):
            raise TextError(f"{operator} isn't done here, but + - * / and % of numbers")
        if max(abs(left), abs(right)) > MAX_NUMBER:
            raise TextError(f"numbers are computed up to {MAX_NUMBER:,} here")
        return super().call_binop(context, operator, left, right)

    def call_test(
        self,
        name: str,
        value: Any,
        args: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        context: Context | None = None,
        eval_ctx: EvalContext | None = None,
    ) -> Any:
        """Charge a filter for each item that it tests by what the item is tested against."""
        if context is not None:
            _weigh(context, *(args or ()), *(kwargs or {}).values())
        return super().call_test(name, value, args, kwargs, context, eval_ctx)

    def _parse(self, source: str, *names: Any) -> nodes.Template:
        if len(source) > MOST_WRITTEN:
            raise TemplateSyntaxError(f"it has more than {MOST_WRITTEN:,} characters", 1)
        if self._bracket_depth(source) > MAX_DEPTH:
            raise TemplateSyntaxError("its brackets stand too deep within others", 1)
        try:
            return super()._parse(source, *names)
        except RecursionError:
            raise TemplateSyntaxError("its parts stand too deep within others", 1) from None

    def _bracket_depth(self, source: str) -> int:
        """How deep brackets stand within brackets; Jinja's parser recurses at each."""
        depth = deepest = 0
        for _, kind, mark in self.lex(source):
            if kind == "operator":
                depth += (mark in "([{") - (mark in ")]}")
                deepest = max(deepest, depth)
        return deepest

    def _generate(self, source: nodes.Template, *names: Any, **options: Any) -> str:
        return super()._generate(_Charged().visit(source), *names, **options)


def render(template: str, scope: Mapping[str, Any], within: StepBudget | None = None) -> str:
    """The text with `text_scope` filled in, stripped; `TextError` where it can't be computed.

    `within` is the budget of the turn that it is rendered in.
    """
    parts, length, budget = [], 0, StepBudget(within=within)
    try:
        text = compiled(template)
        budget.charge(_STEPS_PER_NODE * text.nodes)
        for part in text.template.generate({**scope, _BUDGET: budget}):
            parts.append(part)
            length += len(part)
            _bounded(length)
    except Exception as error:
        why = str(error) or type(error).__name__
        raise TextError(f"the text {template[:_SHOWN]!r} can't be rendered: {why}") from error
    return "".join(parts).strip()


_SHOWN = 200


def _bounded(length: int) -> None:
    if length > MOST_CHARACTERS:
        raise TextError(f"it would have more than {MOST_CHARACTERS:,} characters; say less")


def text_scope(
    definition_slots: Mapping[str, Slot],
    slots: SlotValues,
    results: Mapping[str, JsonValue],
    requester: Mapping[str, JsonValue],
    locale: Locale,
    files: Mapping[str, str] = NO_FILES,
    only: Collection[str] | None = None,
) -> dict[str, Any]:
    """Everything that a text may read, for `render`; of `shown` what is named, if anything is."""
    rendered = {
        name: shown(slot, slots[name], locale, files)
        for name, slot in definition_slots.items()
        if slots.get(name) is not None and (only is None or name in only)
    }
    return {
        "slots": dict(slots),
        "shown": rendered,
        "results": dict(results),
        "requester": dict(requester),
        "locale": locale,
    }


def problems_of(
    template: str, slots: KnownNames, results: KnownNames = (), more: KnownNames = ()
) -> list[Fault]:
    """What is wrong with a text that may read these slots and results; none where it is sound.

    `more` are variables that only such a text may read.
    """
    what = f"the text {template[:_SHOWN]!r}"
    try:
        tree = _parsed(template)
        faults = [*_forbidden(what, tree)]
        if not faults:
            compiled(template)
    except Exception as error:  # noqa: BLE001 - whatever a parser stumbles over is the text's
        why = error.message if isinstance(error, TemplateSyntaxError) else str(error)
        return [Fault(f"{what} isn't a template: {str(why).rstrip('.')}", SYNTAX)]
    known = {"slots": slots, "shown": slots, "results": results}
    found = chain(
        faults,
        _unknown_variables(what, tree, VARIABLES | set(more)),
        _unknown_members(what, tree, known),
    )
    return [*islice(found, MAX_FAULTS)]


def slots_read(template: str) -> set[str]:
    """The slots that a text reads, raw or as people read them; none where it is broken."""
    try:
        tree = ENVIRONMENT.parse(template)
    except TemplateSyntaxError:
        return set()
    return {member for owner, member in _members(tree) if owner in ("slots", "shown")}


@lru_cache(maxsize=2048)
def put_out(template: str) -> frozenset[str]:
    """The slots whose values a text is made of, raw or as people read them; not what it asks."""
    put = (out for out in ENVIRONMENT.parse(template).find_all(nodes.Output))
    members = (member for out in put for member in _members(out))
    return frozenset(member for owner, member in members if owner in ("slots", "shown"))


@lru_cache(maxsize=2048)
def shown_in(template: str) -> frozenset[str] | None:
    """The slots `x` that a text reads as `shown.x`; None where it reads `shown` otherwise too."""
    try:
        tree = ENVIRONMENT.parse(template)
    except TemplateSyntaxError:
        return None
    named = [member for owner, member in _members(tree) if owner == "shown"]
    uses = [name for name in tree.find_all(nodes.Name) if name.name == "shown"]
    return frozenset(named) if len(uses) == len(named) else None


class CompiledText(NamedTuple):
    """A text that can be rendered, and the size of its syntax tree."""

    template: Template
    nodes: int


@lru_cache(maxsize=2048)
def compiled(template: str) -> CompiledText:
    """The compiled template, kept for the next time; `TextError` where it may not be what it is."""
    tree = _parsed(template)
    for fault in _forbidden("it", tree):
        raise TextError(f"{fault.what}; {fault.remedy}")
    size = len(_within(tree))
    return CompiledText(ENVIRONMENT.from_string(tree), size)


def _parsed(template: str) -> nodes.Template:
    """The text's syntax tree, which is small enough to be compiled."""
    tree = ENVIRONMENT.parse(template)
    size, level, depth = 0, list[nodes.Node]([tree]), 0
    while level:
        size, depth = size + len(level), depth + 1
        if size > MAX_NODES or depth > MAX_DEPTH:
            raise TemplateSyntaxError(f"{_too_large(size)}; say less, or compute it elsewhere", 1)
        level = [child for node in level for child in node.iter_child_nodes()]
    return tree


def _too_large(size: int) -> str:
    if size > MAX_NODES:
        return f"it has more than {MAX_NODES:,} parts"
    return f"its parts stand more than {MAX_DEPTH} deep within others"


def _unknown_variables(what: str, tree: nodes.Template, known: frozenset[str]) -> Iterator[Fault]:
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    own |= {macro.name for macro in tree.find_all(nodes.Macro)} | {"loop"}
    read = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "load"}
    for name in sorted(read - own - known):
        yield Fault(
            f"{what} reads {name}, which isn't there",
            nearest(name, known) or f"it may read {', '.join(sorted(known))}",
        )


def _unknown_members(
    what: str, tree: nodes.Node, known: Mapping[str, KnownNames]
) -> Iterator[Fault]:
    for owner, member in dict.fromkeys(_members(tree)):
        if owner in known and member not in known[owner]:
            yield Fault(
                f"{what} reads {owner}.{member}, which isn't there",
                nearest(member, known[owner])
                or f"there are {', '.join(sorted(known[owner])) or 'none'}",
            )


def _members(tree: nodes.Node) -> Iterator[tuple[str, str]]:
    """Every `owner.member` and `owner["member"]` of the text."""
    for dotted in tree.find_all(nodes.Getattr):
        if isinstance(dotted.node, nodes.Name):
            yield dotted.node.name, dotted.attr
    for item in tree.find_all(nodes.Getitem):
        if isinstance(item.node, nodes.Name) and isinstance(item.arg, nodes.Const):
            yield item.node.name, str(item.arg.value)


def _forbidden(what: str, tree: nodes.Template) -> Iterator[Fault]:
    if any(tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends))):
        yield Fault(f"{what} refers to another file", "write the words here")
    elif any(tree.find_all((nodes.Call, nodes.Macro))):
        yield Fault(f"{what} calls something", "use a filter, as in x|length")
    elif any(not isinstance(each, _STATEMENTS) for each in tree.find_all(nodes.Stmt)):
        yield Fault(f"{what} has a statement besides if, for and set", SYNTAX)
    elif any(loop.recursive for loop in tree.find_all(nodes.For)):
        yield Fault(f"{what} has a loop within itself", "write one within the other")
    elif any(_counts_texts(tree)):
        yield Fault(f"{what} computes with a text, or a power", "let a tool compute it")
    elif _grows(tree):
        yield Fault(f"{what} sets something from what it has set", "set it from slots or results")


def _counts_texts(tree: nodes.Template) -> Iterator[bool]:
    yield from (True for _ in tree.find_all(nodes.Pow))
    for product in tree.find_all((nodes.Mul, nodes.Mod)):
        sides = (product.left, product.right)
        yield any(isinstance(s, nodes.Const) and isinstance(s.value, str) for s in sides)


def _grows(tree: nodes.Template) -> bool:
    """True where something is made of itself: a few times over it is longer than any memory."""
    assigned: list[nodes.Node] = [*tree.find_all(nodes.Assign)]
    loops = [*tree.find_all(nodes.For)]
    within = [
        part for loop in loops for part in _within(loop.iter) if isinstance(part, _CONTAINERS)
    ]
    own = {name for each in assigned for name, stored in _names(each) if stored}
    looped = {name for loop in loops for name, _ in _names(loop.target)}
    made = {name for each in assigned for name, stored in _names(each) if not stored}
    listed = {name for part in within for name, _ in _names(part)}
    return bool(own & made or (own | looped) & listed)


def _within(node: nodes.Node) -> list[nodes.Node]:
    """The node, and all that it consists of."""
    return [node, *node.find_all(nodes.Node)]


def _names(node: nodes.Node) -> Iterator[tuple[str, bool]]:
    """Every variable there, and whether it is set."""
    for part in _within(node):
        if isinstance(part, nodes.Name):
            yield part.name, part.ctx == "store"


_CONTAINERS = (nodes.List, nodes.Tuple, nodes.Dict)


def _in_locale(word: Callable[[Any, Locale], str]) -> Callable[[Context, Any], str]:
    """A filter that words a raw value in the language of the text."""

    @pass_context
    def filtered(context: Context, value: Any) -> str:
        return word(value, "en" if context.get("locale") == "en" else "zh")

    return filtered


def _weigh(context: Context, *values: Any) -> None:
    """Charge for all that the values consist of."""
    budget: StepBudget = context[_BUDGET]
    left = [*values]
    while left:
        value = left.pop()
        budget.charge(1 + (len(value) // CHARS_PER_STEP if isinstance(value, str) else 0))
        if isinstance(value, Mapping):
            left += [*value, *value.values()]
        elif isinstance(value, list | tuple):
            left += value


@pass_context
def _weighed(context: Context, value: Any) -> Any:
    _weigh(context, value)
    return value


@pass_context
def _finalized(context: Context, value: Any) -> str:
    _weigh(context, value)
    return plain(value)


@pass_context
def _rounds(context: Context, items: Any, steps: int) -> Iterator[Any]:
    """What a loop goes through, which isn't a text; each round costs so many steps."""
    for item in () if isinstance(items, str) else items:
        context[_BUDGET].charge(steps)
        yield item


@pass_context
def _put_together(context: Context, values: list[Any]) -> str:
    _weigh(context, values)
    texts = [plain(value) for value in values]
    _bounded(sum(map(len, texts)))
    return "".join(texts)


@pass_context
def _joined(context: Context, value: Any, between: str = "", attribute: Any = None) -> Any:
    items = list(value)
    _bounded(len(items) * len(str(between)) + sum(len(plain(item)) for item in items))
    return do_join(context.eval_ctx, items, between, attribute)


@pass_context
def _replaced(context: Context, text: str, old: str, new: str, count: int | None = None) -> str:
    text, old = str(text), str(old)
    _bounded(len(text) + text.count(old) * len(str(new)))
    return do_replace(context.eval_ctx, text, old, str(new), count)


def _rounded(number: float, digits: int = 0, method: Any = "common") -> float:
    if abs(digits) > MOST_DIGITS:
        raise TextError(f"nobody rounds to {digits} digits; {MOST_DIGITS} are the most")
    return do_round(number, digits, method)


def _trimmed(value: Any, chars: str | None = None) -> str:
    if chars is not None and len(chars) > MOST_DIGITS:
        raise TextError(f"{MOST_DIGITS} characters at most are trimmed, not {len(chars):,}")
    return do_trim(value, chars)


@pass_context
def _summed(context: Context, items: Any, attribute: Any = None, start: Any = 0) -> Any:
    if not isinstance(start, int | float):
        raise TextError("sum adds numbers; join puts texts and lists together")
    return do_sum(context.environment, items, attribute, start)


def _charging(name: str, filter_: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that charges for what it is given before it begins, and gives no generator."""
    kind = _PassArg.from_obj(filter_)

    def charged(context: Context, value: Any, *arguments: Any, **named: Any) -> Any:
        budget: StepBudget = context[_BUDGET]
        before = budget.steps
        _weigh(context, value, *arguments, *named.values())
        budget.charge((budget.steps - before) * (_TIMES_AS_COSTLY.get(name, 1) - 1))
        if name in _ATTRIBUTE_AT:
            place = _ATTRIBUTE_AT[name]
            for path in (*arguments[place : place + 1], named.get("attribute")):
                _charge_path(context, value, path)
        if isinstance(value, str) and name not in _OF_TEXTS:
            budget.charge(len(value))  # it may become a list of its characters
        result = filter_(*_passed(kind, context), value, *arguments, **named)
        return [*result] if isinstance(result, Iterator) else result

    return pass_context(charged)


def _charge_path(context: Context, items: Any, path: Any) -> None:
    """Charge for each item each part of a path to an attribute: `a.b`, or to sort by `a.b,c`."""
    if isinstance(path, str):
        steps = _STEPS_PER_LOOKUP * (1 + path.count(".")) + _STEPS_PER_SORT_PATH * path.count(",")
        context[_BUDGET].charge(steps * (len(items) if isinstance(items, Sized) else 1))


def _passed(kind: _PassArg | None, context: Context) -> tuple[Any, ...]:
    """What Jinja gives to such a filter before its value."""
    if kind is None:
        return ()
    whole = {_PassArg.context: context, _PassArg.eval_context: context.eval_ctx}
    return (whole.get(kind, context.environment),)


_OF_TEXTS = frozenset(
    {"capitalize", "count", "d", "default", "e", "escape", "float", "forceescape", "int"}
    | {"length", "lower", "money", "date", "short_date", "readable", "told", "remark", "replace"}
    | {"reverse", "safe", "string", "title", "trim", "truncate", "upper", "urlencode", "wordcount"}
)
"""Filters that go through a text without making a list of its characters."""
_ATTRIBUTE_AT = {
    **dict.fromkeys(("groupby", "rejectattr", "selectattr", "sum"), 0),
    **dict.fromkeys(("join", "max", "min", "unique"), 1),
    "sort": 2,
    "map": 9,  # by name alone
}
"""Filters that look for an attribute of each item, and where their path to it stands."""
_STEPS_PER_LOOKUP = 2
"""Of one part of a path in one item."""
_STEPS_PER_SORT_PATH = 12
"""Of one path more to sort an item by: it is compared with the same path of several others."""
_TIMES_AS_COSTLY = {"title": 10, "urlencode": 6, "wordcount": 3}
"""Filters that take longer for each character than copying takes."""


ENVIRONMENT = _Sandbox(
    autoescape=False,
    undefined=ChainableUndefined,
    finalize=_finalized,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.globals.clear()
for _name in (
    *("random", "center", "indent", "wordwrap", "batch", "slice", "format", "tojson", "pprint"),
    *("urlize", "xmlattr", "striptags", "filesizeformat"),
):
    del ENVIRONMENT.filters[_name]
ENVIRONMENT.filters |= {
    "join": _joined,
    "replace": _replaced,
    "round": _rounded,
    "sum": _summed,
    "trim": _trimmed,
    "money": _in_locale(money),
    "date": _in_locale(day),
    "short_date": _in_locale(short_date),
    "readable": _in_locale(values.readable),
    "told": _in_locale(values.told),
    "remark": _in_locale(values.remark),
}
ENVIRONMENT.filters = {
    name: _charging(name, filter_) for name, filter_ in ENVIRONMENT.filters.items()
} | {"=rounds": _rounds, "=together": _put_together, "=weighed": _weighed}
