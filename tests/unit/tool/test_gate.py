"""The gate before every call: roles, schema, check, confirmation."""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from router.domain.errors import (
    ArgumentsToolError,
    DefinitionError,
    Forbidden,
    NotFound,
    PermanentToolError,
    RouterError,
)
from router.domain.principals import Principal
from router.domain.run_approvals import RunApproval
from router.tool.context import Dependencies, Depends, Provider, ToolContext
from router.tool.gate import Attempt, admit
from router.tool.implementation import ArgumentSchema
from router.tool.registry import Registry
from router.tool.tool import Permission, Tool, tool
from tests.table import each_row
from tests.unit.tool.samples import ALICE, DAVE, MALLORY, context, sample_registry

REGISTRY: Registry = sample_registry()
RUN = "leave_request/default/r1"


def attempt(tool: str, arguments: Any = None, caller: Principal = ALICE, **more: Any) -> Tool:
    return admit(REGISTRY, Attempt(tool, arguments or {}, caller, **more))


def test_a_read_passes_with_its_arguments_checked() -> None:
    assert attempt("greet", {"guests": [{"name": "Bob", "age": 7}]}).name == "greet"


def test_an_unknown_tool_is_named_with_those_there_are_or_the_one_that_is_meant() -> None:
    with pytest.raises(NotFound, match=r"'book_hotel'.*adjust, greet"):
        attempt("book_hotel")
    with pytest.raises(NotFound, match=r"'gret'; did you mean greet\?"):
        attempt("gret")


@each_row(
    ("tool", "caller", "flow_run", "allowed"),
    [
        ("adjust", ALICE, None, False),
        ("adjust", DAVE, None, True),
        ("adjust", ALICE, RUN, False),
        ("record", ALICE, None, False),
        ("record", DAVE, None, False),
        ("record", MALLORY, None, False),
        ("record", ALICE, RUN, True),
        ("save", ALICE, None, True),
    ],
)
def test_roles_decide_and_only_a_flow_has_the_role_of_flows(
    tool: str, caller: Principal, flow_run: str | None, allowed: bool
) -> None:
    given = {"adjust": {"person": "alice", "days": 1}, "record": {"days": 1}, "save": {"text": "t"}}
    arguments = given[tool]
    call: dict[str, Any] = {"caller": caller, "flow_run": flow_run, "confirmed": True, "key": "k"}
    if allowed:
        assert attempt(tool, arguments, **call).name == tool
    else:
        with pytest.raises(Forbidden, match=f"{caller.id} may not call {tool}"):
            attempt(tool, arguments, **call)


BOB = {"name": "Bob"}
DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]


@each_row(
    ("arguments", "named"),
    [
        ({}, "guests: Field required"),
        ({"guests": []}, "guests: List should have at least 1 item"),
        ({"guests": "Bob"}, "guests: Input should be a valid list"),
        ({"guests": [{}]}, "guests.0.name: Field required"),
        ({"guests": [BOB, {"name": ""}]}, "guests.1.name: String should have at least 1"),
        ({"guests": [{"name": 7}]}, "guests.0.name: Input should be a valid string"),
        ({"guests": [{"name": "Bob", "age": "old"}]}, "guests.0.age: Input should be a valid int"),
        ({"guests": [{"name": "Bob", "age": float("nan")}]}, "guests.0.age: "),
        ({"guests": [BOB], "tone": "rude"}, "tone: Input should be 'warm' or 'cool'"),
        ({"guests": [BOB], "tone": None}, "tone: Input should be 'warm' or 'cool'"),
        ({"guests": [BOB], "loud": True}, "loud: Extra inputs are not permitted"),
        ({"guests": [BOB], "ctx": {"caller": "bob"}}, "ctx: Extra inputs are not permitted"),
        ({"guests": [BOB], "word": "obey"}, "word: Extra inputs are not permitted"),
        ({"guests": [BOB], "__class__": "x"}, "__class__: Extra inputs are not permitted"),
        ({"guests": [{"name": "B\x00b"}]}, "guests.0.name: has control characters"),
        ({"guests": [{"name": "B\ud800b"}]}, "guests.0.name: has control characters"),
        ({"guests": [{"name": "B\x1b[2Jb"}]}, "guests.0.name: has control characters"),
        ({"guests\x00": [BOB]}, "arguments: has control characters"),
        ({"guests": DEEP}, "guests.0: "),
        ({"guests": [{"name": "x" * 100_000}]}, "guests.0.name: String should have at most 20"),
        ({"guests": [{}] * 100}, "and 90 more"),
    ],
)
def test_hostile_arguments_are_refused_and_the_field_is_named(arguments: Any, named: str) -> None:
    with pytest.raises(ArgumentsToolError) as caught:
        attempt("greet", arguments)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 500


@each_row("unseen", ["5\u202e00", "a\u200bb", "\U000e0041", "\u2066x", "\ufff9"])
def test_what_writes_takes_nothing_that_nobody_saw_when_they_confirmed_it(unseen: str) -> None:
    with pytest.raises(ArgumentsToolError, match="text: has characters that nobody sees"):
        attempt("save", {"text": unseen}, key="k", confirmed=True)
    assert attempt("save", {"text": "👩\u200d💻 ✔\ufe0f\n好"}, key="k", confirmed=True)


def test_a_person_confirms_what_writes_which_needs_a_key_and_a_flow_has_asked_already() -> None:
    with pytest.raises(Forbidden, match="confirmed"):
        attempt("save", {"text": "t"}, key="k")
    with pytest.raises(Forbidden, match="confirmed"):
        attempt("reveal")
    with pytest.raises(PermanentToolError, match="idempotency key"):
        attempt("save", {"text": "t"}, confirmed=True)
    assert attempt("reveal", confirmed=True)
    assert attempt("save", {"text": "t"}, key="k", confirmed=True)
    assert attempt("save", {"text": "t"}, key="k", flow_run=RUN)


BOB_SAW_THIS = RunApproval(digest="this", person="bob", state="manager")


@each_row(
    ("approvals", "slots_digest", "passes"),
    [
        ((BOB_SAW_THIS,), "this", True),
        ((BOB_SAW_THIS.model_copy(update={"digest": "that"}), BOB_SAW_THIS), "this", True),
        ((), "this", False),
        ((), "", False),
        # Of other values, of none, or of the requester's own.
        ((BOB_SAW_THIS,), "that", False),
        ((BOB_SAW_THIS.model_copy(update={"digest": ""}),), "", False),
        ((BOB_SAW_THIS.model_copy(update={"person": ALICE.id}),), "this", False),
    ],
)
def test_what_needs_an_approval_gets_one_of_what_the_run_holds_now(
    approvals: tuple[RunApproval, ...], slots_digest: str, passes: bool
) -> None:
    about: Any = {"approvals": approvals, "slots_digest": slots_digest, "key": "k"}
    if passes:
        assert attempt("pay", {"amount": 5.0}, flow_run=RUN, **about)
        return
    with pytest.raises(Forbidden, match="needs an approval of what the run holds now"):
        attempt("pay", {"amount": 5.0}, flow_run=RUN, **about)


@each_row(
    ("options", "fault"),
    [
        ({"permission": "read", "roles": ["flow"]}, "changes nothing"),
        ({"permission": "write"}, "may be called without a flow"),
        ({"permission": "write", "roles": ["flow", "hr"]}, "may be called without a flow"),
        ({"permission": "write", "roles": ["flow"], "undoes": "save"}, "takes back save"),
    ],
)
def test_only_a_write_of_flows_can_need_an_approval(options: Any, fault: str) -> None:
    with pytest.raises(DefinitionError, match=f"needs an approval.*{fault}"):

        @tool(approval=True, **options)
        async def unfit() -> None:
            """Do something."""


@each_row("permission", ["write", "admin"])
def test_what_takes_a_call_back_is_told_which(permission: Permission) -> None:
    @tool(permission=permission, roles=["flow"], undoes="save")
    async def unsave(ctx: ToolContext) -> None:
        """Take back what was saved."""

    registry = Registry()
    registry.add(unsave)
    named = Attempt("unsave", {}, ALICE, key="k", flow_run=RUN, undoes="k0")
    assert admit(registry, named) is unsave
    with pytest.raises(ArgumentsToolError, match="takes back one call of save; name its key"):
        admit(registry, replace(named, undoes=""))


@each_row(
    ("name", "arguments", "first"),
    [
        ("nothing", {}, NotFound),
        ("record", {"nonsense": 1}, Forbidden),
        ("save", {"nonsense": 1}, ArgumentsToolError),
        ("save", {"text": "t"}, Forbidden),
    ],
)
def test_the_order_gives_nothing_away(name: str, arguments: Any, first: type[RouterError]) -> None:
    with pytest.raises(first):
        attempt(name, arguments)


seats: Provider[int] = Provider("seats")
Days = Annotated[Decimal, Field(gt=0)]


def book_with(check: Any, **options: Any) -> Tool:
    async def book(room: str, days: Days, ctx: ToolContext, note: str = "") -> None:
        """Book a room."""

    return tool(**{"permission": "write", "check": check, **options})(book)


async def no_room(days: Decimal, ctx: ToolContext, most: Annotated[int, Depends(seats)]) -> None:
    if days > most:
        raise ArgumentsToolError(f"days: {days!r} of {most} for {ctx.caller.id}")


async def test_it_takes_some_of_the_arguments_validated_its_context_and_what_is_provided() -> None:
    dependencies = Dependencies()
    dependencies.provide(seats, 2)
    made = book_with(no_room)
    assert made.check is not None
    await made.check({"room": "a", "days": "1.5"}, context(), dependencies)
    with pytest.raises(ArgumentsToolError, match=r"days: Decimal\('3'\) of 2 for alice"):
        await made.check({"room": "a", "days": 3}, context(), dependencies)


def test_what_it_needs_has_to_be_provided_like_what_its_tool_needs() -> None:
    registry = Registry()
    registry.add(book_with(no_room))
    assert registry.providers() == {seats}
    registry.withhold(seats)
    assert registry.visible_to(context().caller) == []


def yielding(room: str) -> Iterator[None]:
    yield None


async def unknown(rooms: str) -> None: ...
async def injected(ctx_: ToolContext, ctx: ToolContext) -> None: ...
async def optional(ctx: ToolContext | None) -> None: ...
async def other(room: int) -> None: ...
async def looser(days: Decimal | None) -> None: ...
async def bare(room) -> None: ...  # type: ignore[no-untyped-def]
async def silent(room: str): ...  # type: ignore[no-untyped-def]
async def answering(room: str) -> bool: ...  # type: ignore[empty-body]
async def endless(*room: str) -> None: ...
async def positional(room: str, /) -> None: ...
async def unreadable(room: "Roooom") -> None: ...  # type: ignore[name-defined]  # noqa: F821


@each_row(
    ("check", "said"),
    [
        (yielding, "yields; return the whole result"),
        ("no function", "is no function; write a function, `async def` or `def`"),
        (unknown, "'rooms', which the tool doesn't have; it may take room, days, note"),
        (injected, "asks for its context twice; leave out the parameter 'ctx'"),
        (optional, "is made of ToolContext and isn't one; write `ctx: ToolContext`"),
        (other, "takes 'room' as int, the tool as str; write the tool's type"),
        (looser, "the tool as Decimal; write the tool's type"),
        (bare, "'room' without an annotation; write its type, as in `room: str`"),
        (silent, "doesn't say that it gives nothing, or a text; annotate it with `-> None`"),
        (answering, "doesn't say that it gives nothing, or a text; annotate it with `-> None`"),
        (endless, "declare each parameter by itself"),
        (positional, "declare each parameter by itself"),
        (unreadable, "can't be read: name 'Roooom' is not defined"),
    ],
)
def test_a_function_that_cannot_be_the_check_is_refused(check: Any, said: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        book_with(check)
    assert said in str(caught.value)
    assert " of the tool book " in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:")


def test_what_the_front_end_calls_is_not_checked_here() -> None:
    with pytest.raises(DefinitionError, match="checked here and called there"):
        book_with(no_room, permission="read", client=True)


TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "maxLength": 20},
        "days": {"$ref": "#/$defs/days"},
        "start": {"type": "string", "format": "date"},
    },
    "required": ["city"],
    "$defs": {"days": {"type": "integer", "minimum": 1}},
}


def problems(arguments: dict[str, Any], schema: dict[str, Any] | None = None) -> list[str]:
    return ArgumentSchema(schema or TRIP).problems(arguments)


def test_arguments_that_fit_have_no_problems() -> None:
    assert problems({"city": "Rome", "days": 3, "start": "2026-11-22"}) == []
    assert problems({"any": 1}, {"type": "object", "additionalProperties": True}) == []


@each_row(
    ("arguments", "problem"),
    [
        ({}, "arguments: 'city' is a required property"),
        ({"city": 3}, "city: 3 is not of type 'string'"),
        ({"city": "Rome", "days": 0}, "days: 0 is less than the minimum of 1"),
        ({"city": "Rome", "days": True}, "days: True is not of type 'integer'"),
        ({"city": "Rome", "start": "tomorrow"}, "start: 'tomorrow' is not a 'date'"),
        ({"city": "Rome", "as": "admin"}, "arguments: 'as' isn't known here"),
    ],
)
def test_each_field_at_fault_is_named(arguments: dict[str, Any], problem: str) -> None:
    assert problems(arguments) == [problem]


def test_a_value_that_is_wrong_at_length_is_not_repeated_at_length() -> None:
    (problem,) = problems({"city": "x" * 5000})
    assert len(problem) < 140


@each_row(
    ("schema", "said"),
    [
        ({"type": "array"}, "write type: object"),
        ({"type": "object", "properties": 3}, "it is no JSON Schema"),
        ({"properties": {"a": {"type": "text"}}}, "it is no JSON Schema"),
        ({"properties": {"a": {"pattern": "(?=a)"}}}, r"isn't RE2: .*; match the whole phrase"),
        ({"patternProperties": {"^a": {}}}, "name the properties"),
    ],
)
def test_what_is_no_schema_of_an_object_is_refused(schema: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ArgumentSchema(schema)


def test_a_pattern_is_checked_without_backtracking() -> None:
    schema = {"properties": {"a": {"type": "string", "pattern": "^(a|a)*$"}}}
    assert problems({"a": "a" * 60}, schema) == []
    (problem,) = problems({"a": "a" * 60 + "!"}, schema)
    assert problem.endswith("!' does not match '^(a|a)*$'")


def test_what_is_needed_and_not_described_may_be_anything() -> None:
    assert problems({"a": 1, "b": [2]}, {"properties": {"a": True}, "required": ["b"]}) == []


@each_row("reference", ["http://127.0.0.1:1/schema.json", "file:///etc/passwd", "#/properties/a"])
def test_a_reference_to_elsewhere_is_never_fetched_and_one_to_itself_ends(reference: str) -> None:
    schema = {"type": "object", "properties": {"a": {"$ref": reference}}}
    (problem,) = problems({"a": 1}, schema)
    assert problem.startswith("arguments: they can't be checked")
