from typing import Any

import pytest

from router.domain.errors import (
    ArgumentsToolError,
    Forbidden,
    NotFound,
    PermanentToolError,
    RouterError,
)
from router.domain.principals import Principal
from router.tool.context import ToolContext
from router.tool.gate import Admitted, Attempt, admit
from router.tool.registry import Registry
from router.tool.tool import Permission, tool
from tests.unit.tool.samples import ALICE, DAVE, MALLORY, sample_registry

REGISTRY: Registry = sample_registry()
RUN = "leave_request/default/r1"


def attempt(tool: str, arguments: Any = None, caller: Principal = ALICE, **more: Any) -> Admitted:
    return admit(REGISTRY, Attempt(tool, arguments or {}, caller, **more))


def test_a_read_passes_with_its_arguments_checked() -> None:
    admitted = attempt("greet", {"guests": [{"name": "Bob", "age": 7}]})
    assert admitted.tool.name == "greet"
    assert admitted.arguments["guests"] == [{"name": "Bob", "age": 7}]


def test_an_unknown_tool_is_named_with_those_there_are() -> None:
    with pytest.raises(NotFound, match=r"'book_hotel'.*adjust, greet"):
        attempt("book_hotel")


def test_a_misspelt_tool_is_named_with_the_one_that_is_meant() -> None:
    with pytest.raises(NotFound, match=r"'gret'; did you mean greet\?"):
        attempt("gret")


@pytest.mark.parametrize(
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
    arguments = {
        "adjust": {"person": "alice", "days": 1},
        "record": {"days": 1},
        "save": {"text": "t"},
    }[tool]
    call: dict[str, Any] = {"caller": caller, "flow_run": flow_run, "confirmed": True, "key": "k"}
    if allowed:
        assert attempt(tool, arguments, **call).tool.name == tool
    else:
        with pytest.raises(Forbidden, match=f"{caller.id} may not call {tool}"):
            attempt(tool, arguments, **call)


BOB = {"name": "Bob"}
DEEP: Any = []
for _ in range(5000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
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
    ],
)
def test_hostile_arguments_are_refused_and_the_field_is_named(arguments: Any, named: str) -> None:
    with pytest.raises(ArgumentsToolError) as caught:
        attempt("greet", arguments)
    assert named in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_long_list_of_problems_is_cut() -> None:
    with pytest.raises(ArgumentsToolError, match="and 90 more"):
        attempt("greet", {"guests": [{}] * 100})


def test_a_person_confirms_what_writes() -> None:
    with pytest.raises(Forbidden, match="confirmed"):
        attempt("save", {"text": "t"}, key="k")
    with pytest.raises(Forbidden, match="confirmed"):
        attempt("reveal")
    assert attempt("save", {"text": "t"}, key="k", confirmed=True)
    assert attempt("reveal", confirmed=True)


def test_a_flow_has_asked_already() -> None:
    assert attempt("save", {"text": "t"}, key="k", flow_run=RUN)


def test_a_write_needs_a_key() -> None:
    with pytest.raises(PermanentToolError, match="idempotency key"):
        attempt("save", {"text": "t"}, confirmed=True)


@pytest.mark.parametrize("permission", ["write", "admin"])
def test_what_takes_a_call_back_is_told_which(permission: Permission) -> None:
    @tool(permission=permission, roles=["flow"], undoes="save")
    async def unsave(ctx: ToolContext) -> None:
        """Take back what was saved."""

    registry = Registry()
    registry.add(unsave)
    with pytest.raises(ArgumentsToolError, match="takes back one call of save; name its key"):
        admit(registry, Attempt("unsave", {}, ALICE, key="k", flow_run=RUN))
    named = Attempt("unsave", {}, ALICE, key="k", flow_run=RUN, undoes="k0")
    assert admit(registry, named).tool is unsave


@pytest.mark.parametrize(
    ("name", "arguments", "first"),
    [
        ("nothing", {}, NotFound),
        ("record", {"nonsense": 1}, Forbidden),
        ("save", {"nonsense": 1}, ArgumentsToolError),
        ("save", {"text": "t"}, Forbidden),
    ],
)
def test_the_checks_run_in_an_order_that_gives_nothing_away(
    name: str, arguments: Any, first: type[RouterError]
) -> None:
    with pytest.raises(first):
        attempt(name, arguments)
