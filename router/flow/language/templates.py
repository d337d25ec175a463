"""Texts of flow files: Jinja in a sandbox, the same words for the same values, always. Pure.

A text reads `slots` (raw values), `shown` (as people read them), `results` and `requester`, with
the filters `money`, `date`, `readable` and `told`. What is empty renders as nothing: in the middle
of a durable run a gap does less harm than an error. Misspelt names are found on loading.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import ChainableUndefined, Template, TemplateError, TemplateSyntaxError, nodes
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import pass_context
from pydantic import JsonValue

from router.domain.errors import Fault, RouterError, nearest
from router.domain.locale import Locale
from router.flow.definition import SlotValues
from router.flow.prompts import values
from router.flow.slot_types.dates import day
from router.flow.slot_types.numbers import money
from router.flow.slot_types.slot import NO_FILES, Slot, plain, shown

__all__ = ["TextError", "problems_of", "render", "shown", "text_scope"]

Names = Collection[str]

SYNTAX = "write values as {{ shown.start }} and conditions as {% if slots.reason %}…{% endif %}"
VARIABLES = frozenset({"slots", "shown", "results", "requester", "locale"})


class TextError(RouterError):
    """A text can't be rendered with these values; the message names it and why."""


class _Sandbox(ImmutableSandboxedEnvironment):
    """Jinja without chance, calls or attributes: everything a text sees is plain data."""

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

    def is_safe_callable(self, obj: Any) -> bool:
        """Only macros that the text itself defines may be called."""
        return type(obj).__name__ == "Macro"


def render(template: str, scope: Mapping[str, Any]) -> str:
    """The text with `text_scope` filled in, stripped; `TextError` where it can't be computed."""
    try:
        return compiled(template).render(scope).strip()
    except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise TextError(f"the text {template!r} can't be rendered: {error}") from error


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


def problems_of(template: str, slots: Names, results: Names = ()) -> list[Fault]:
    """What is wrong with a text that may read these slots and results; none where it is sound."""
    try:
        tree = ENVIRONMENT.parse(template)
        compiled(template)
    except TemplateSyntaxError as error:
        why = str(error.message).rstrip(".")
        return [Fault(f"the text {template!r} isn't a template: {why}", SYNTAX)]
    known = {"slots": slots, "shown": slots, "results": results}
    return [
        *_unknown_variables(template, tree),
        *_unknown_members(template, tree, known),
        *_forbidden(template, tree),
    ]


def slots_read(template: str) -> set[str]:
    """The slots that a text reads, raw or as people read them; none where it is broken."""
    try:
        tree = ENVIRONMENT.parse(template)
    except TemplateSyntaxError:
        return set()
    return {member for owner, member in _members(tree) if owner in ("slots", "shown")}


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


@lru_cache(maxsize=2048)
def compiled(template: str) -> Template:
    """The compiled template, kept for the next time."""
    return ENVIRONMENT.from_string(template)


def _unknown_variables(template: str, tree: nodes.Template) -> Iterator[Fault]:
    own = {name.name for name in tree.find_all(nodes.Name) if name.ctx != "load"}
    own |= {macro.name for macro in tree.find_all(nodes.Macro)} | {"loop"}
    read = {name.name for name in tree.find_all(nodes.Name) if name.ctx == "load"}
    for name in sorted(read - own - VARIABLES):
        yield Fault(
            f"the text {template!r} reads {name}, which isn't there",
            nearest(name, VARIABLES) or f"it may read {', '.join(sorted(VARIABLES))}",
        )


def _unknown_members(text: str, tree: nodes.Node, known: Mapping[str, Names]) -> Iterator[Fault]:
    for owner, member in dict.fromkeys(_members(tree)):
        if owner in known and member not in known[owner]:
            yield Fault(
                f"the text {text!r} reads {owner}.{member}, which isn't there",
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


def _forbidden(template: str, tree: nodes.Template) -> Iterator[Fault]:
    macros = {macro.name for macro in tree.find_all(nodes.Macro)}
    for call in tree.find_all(nodes.Call):
        if not isinstance(call.node, nodes.Name) or call.node.name not in macros:
            yield Fault(f"the text {template!r} calls something", "use a filter, as in x|length")
    for _ in tree.find_all((nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)):
        yield Fault(f"the text {template!r} refers to another file", "write the words here")


def _in_locale(word: Callable[[Any, Locale], str]) -> Callable[[Context, Any], str]:
    """A filter that words a raw value in the language of the text."""

    @pass_context
    def filtered(context: Context, value: Any) -> str:
        return word(value, "en" if context.get("locale") == "en" else "zh")

    return filtered


ENVIRONMENT = _Sandbox(
    autoescape=False,
    undefined=ChainableUndefined,
    finalize=plain,
    trim_blocks=True,
    lstrip_blocks=True,
)
ENVIRONMENT.globals.clear()
del ENVIRONMENT.filters["random"]
ENVIRONMENT.filters |= {
    "money": _in_locale(money),
    "date": _in_locale(day),
    "readable": _in_locale(values.readable),
    "told": _in_locale(values.told),
}
