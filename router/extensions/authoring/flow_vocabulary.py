"""What an author may choose from when a flow is written, out of the registries that have it."""

from collections.abc import Iterable, Iterator

from pydantic import BaseModel, JsonValue

from router.domain.locale import Localised
from router.domain.principals import EVERYONE
from router.extensions.authoring.worded_checks import CHECKS, ParameterKind
from router.flow.definition import KINDS, keys_of
from router.flow.language.functions import FUNCTIONS, LOOKUPS
from router.flow.slot_types.slot import SLOT_TYPES, Slot
from router.flow.states.approve import APPROVERS
from router.tool.tool import Tool

BY_ROLE = "{role}"


class NamedKind(BaseModel):
    """A kind of state."""

    kind: str
    """The key that marks it."""
    label: Localised
    description: Localised
    keys: list[str]
    """What such a state may have, its kind first."""
    ways: list[str]
    """The keys among those by which it is left; the first ones it must have."""
    needs: list[str]


class NamedSlotType(BaseModel):
    """A type of slots."""

    type: str
    label: Localised
    description: Localised
    keys: list[str]
    """What such a slot may have."""


class NamedCheck(BaseModel):
    """A check that can be said in words. `{value}` is what is checked, as `slots.start`."""

    name: str
    label: Localised
    say: Localised
    """What may be said where it doesn't hold."""
    expression: str
    types: list[str]
    """The types of slots that it may be asked of."""
    parameters: dict[str, ParameterKind]
    """What stands as `{name}` in the texts and the expression, and how: a `count` as `30`, a
    `decimal` as `5.0`, `minor_units` as an amount times 100 (in a currency without cents times 1),
    a `slot` by name, a `currency`."""


class NamedTool(BaseModel):
    """A tool that a flow may call."""

    name: str
    title: Localised
    description: Localised
    parameters: dict[str, JsonValue]
    """JSON Schema."""
    writes: bool


class NamedApprover(BaseModel):
    """Somebody whom an approval may ask."""

    label: Localised
    expression: str


class NamedLookup(BaseModel):
    """A function of expressions."""

    name: str
    takes: list[str]
    answers: str


class FlowVocabulary(BaseModel):
    """All that there is to choose from."""

    kinds: list[NamedKind]
    slot_types: list[NamedSlotType]
    checks: list[NamedCheck]
    tools: list[NamedTool]
    roles: list[str]
    """Those that somebody in the tenant holds."""
    approvers: list[NamedApprover]
    lookups: list[NamedLookup]


def vocabulary_of(tools: Iterable[Tool], roles: Iterable[str]) -> FlowVocabulary:
    """What an author may choose from where there are these tools, and somebody holds the roles."""
    held = sorted({*roles} - {EVERYONE})
    return FlowVocabulary(
        kinds=list(_kinds()),
        slot_types=list(_slot_types()),
        checks=[
            NamedCheck(
                name=check.name,
                label=check.label,
                say=check.say,
                expression=check.expression,
                types=list(check.types),
                parameters=dict(check.parameters),
            )
            for check in CHECKS.values()
        ],
        tools=[
            NamedTool(
                name=tool.name,
                title=tool.title,
                description=tool.about,
                parameters=tool.parameters,
                writes=tool.writes,
            )
            for tool in tools
            if not tool.options.client
        ],
        roles=held,
        approvers=list(_approvers(held)),
        lookups=list(_lookups()),
    )


def _kinds() -> Iterator[NamedKind]:
    for name, kind in KINDS.items():
        keys = keys_of(kind)
        yield NamedKind(
            kind=name,
            label=kind.label,
            description=kind.about,
            keys=[name, *(key for key in keys if key != name)],
            ways=[*kind.needs, *kind.may],
            needs=list(kind.needs),
        )


def _slot_types() -> Iterator[NamedSlotType]:
    """Keys that only another type's values are made of are left out."""
    made_of = {kind.made_of for kind in SLOT_TYPES.values() if kind.made_of}
    for name, kind in SLOT_TYPES.items():
        others = made_of - {kind.made_of}
        keys = [key for key in keys_of(Slot) if key not in others]
        yield NamedSlotType(type=name, label=kind.label, description=kind.about, keys=keys)


def approver_names(roles: Iterable[str]) -> dict[str, Localised]:
    """What the usual ways to name approvers are called, by their expressions."""
    return {each.expression: each.label for each in _approvers(roles)}


def _approvers(roles: Iterable[str]) -> Iterator[NamedApprover]:
    for expression, label in APPROVERS.items():
        if BY_ROLE not in expression:
            yield NamedApprover(label=label, expression=expression)
            continue
        for role in roles:
            named = Localised(
                zh=label.zh.replace(BY_ROLE, role), en=label.en.replace(BY_ROLE, role)
            )
            yield NamedApprover(label=named, expression=expression.replace(BY_ROLE, role))


def _lookups() -> Iterator[NamedLookup]:
    for name, pure in FUNCTIONS.items():
        yield NamedLookup(name=name, takes=list(pure.takes), answers=pure.answers)
    for name, lookup in LOOKUPS.items():
        yield NamedLookup(name=name, takes=list(lookup.takes), answers=lookup.answers)
