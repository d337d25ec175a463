from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from router.domain.errors import DefinitionError
from router.tool.context import Dependencies, Depends, ToolContext
from router.tool.tool import Tool, ToolOptions, tool
from tests.unit.tool.samples import Guest, context, greet, greeting, record, reveal, save


def read(function: Any, **options: Any) -> Tool:
    return tool(permission="read", **options)(function)


def test_the_schema_shows_what_a_caller_gives_and_nothing_that_is_injected() -> None:
    schema = greet.parameters
    assert schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["guests"],
        "properties": {
            "guests": {
                "title": "Guests",
                "description": "Whom to greet",
                "type": "array",
                "minItems": 1,
                "items": {"$ref": "#/$defs/Guest"},
            },
            "tone": {
                "title": "Tone",
                "default": "warm",
                "enum": ["warm", "cool"],
                "type": "string",
            },
        },
        "$defs": schema["$defs"],
    }


def test_the_docstring_and_the_name_are_what_people_read() -> None:
    assert greet.description == "Greet people."
    assert greet.title.en == "Greet"
    assert save.title.zh == "存"
    assert save.capability.kind == "tool"


async def test_a_call_gets_validated_values_its_context_and_what_is_provided() -> None:
    dependencies = Dependencies()
    dependencies.provide(greeting, "hello")
    result = await greet.call({"guests": [{"name": "Bob"}]}, context(), dependencies)
    assert result == {"by": "alice", "tone": "warm", "said": ["hello Bob"]}


async def test_results_of_every_kind_come_back_as_json() -> None:
    class Place(TypedDict):
        city: str
        since: NotRequired[date]

    async def everything(kind: str) -> Guest | Place | list[Decimal] | None:
        """Give something of each kind."""
        kinds: dict[str, Any] = {
            "model": Guest(name="Bob"),
            "typed": Place(city="上海", since=date(2026, 1, 1)),
            "list": [Decimal("2.50")],
            "none": None,
        }
        return kinds[kind]  # type: ignore[no-any-return]

    made = read(everything)

    async def give(kind: str) -> Any:
        return await made.call({"kind": kind}, context(), Dependencies())

    assert await give("model") == {"name": "Bob", "age": None}
    assert await give("typed") == {"city": "上海", "since": "2026-01-01"}
    assert await give("list") == ["2.50"]
    assert await give("none") is None


def sync(text: str) -> str:
    """Do."""
    return text


async def unannotated(text, other: int) -> None:  # type: ignore[no-untyped-def]
    """Do."""


async def endless(*texts: str, **more: str) -> None:
    """Do."""


async def silent(text: str):  # type: ignore[no-untyped-def]
    """Do."""


async def undocumented(text: str) -> None:
    pass


async def unserialisable(text: Callable[[], int]) -> None:
    """Do."""


async def reserved(model_dump: str) -> None:
    """Do."""


async def two_contexts(one: ToolContext, two: ToolContext) -> None:
    """Do."""


async def optional_context(ctx: ToolContext | None = None) -> None:
    """Do."""


async def annotated_context(ctx: Annotated[ToolContext, Field(description="who")]) -> None:
    """Do."""


async def other_default(x: int = "abc") -> None:  # type: ignore[assignment]
    """Do."""


async def default_out_of_bounds(x: Annotated[int, Field(ge=1)] = 0) -> None:
    """Do."""


async def default_to_be_converted(day: date = "2026-11-18") -> None:  # type: ignore[assignment]
    """Do."""


async def respond_message(text: str) -> None:
    """Do."""


async def Shouting(text: str) -> None:  # noqa: N802
    """Do."""


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (sync, "write `async def`"),
        (unannotated, "'text' without an annotation; write its type, as in `text: str`"),
        (endless, "declare each parameter by itself"),
        (silent, "annotate its result"),
        (undocumented, "has no docstring"),
        (unserialisable, "a type that JSON can't carry"),
        (reserved, "'model_dump', a name that pydantic keeps"),
        (optional_context, "isn't one; write `ctx: ToolContext`: there always is one"),
        (annotated_context, "isn't one; write `ctx: ToolContext`: there always is one"),
        (other_default, "has the default x='abc': Input should be a valid integer; write a value"),
        (default_out_of_bounds, "has the default x=0: Input should be greater than or equal to 1"),
        (default_to_be_converted, "has the default day='2026-11-18': Input should be a valid date"),
        (
            respond_message,
            "has a name that means something else to models or workers; give it another name",
        ),
        (two_contexts, "asks for its context twice"),
        (Shouting, "small letters"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_remedy(
    function: Any, said: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(function)
    assert said in str(caught.value)
    assert f"{__file__}:{function.__code__.co_firstlineno}: " in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"permission": "root"}, "read, write or admin"),
        ({"permission": "admin"}, 'roles=["hr"]'),
        ({"permission": "admin", "roles": ["hr", "employee"]}, 'roles=["hr"]'),
        ({"permission": "read", "timeout": "ten seconds"}, '"10s"'),
        ({"permission": "read", "timeout": "0s"}, '"10s"'),
        ({"permission": "read", "retries": -1}, "0 or more"),
        (
            {"permission": "read", "roles": "hr"},
            "one text as its roles, 'hr'; write a list: roles=",
        ),
        ({"permission": "read", "roles": ["hr", " "]}, "write a list of texts"),
        ({"permission": "read", "roles": [3]}, "write a list of texts"),
        ({"permission": "read", "examples": "hello"}, "write a list: examples=['hello']"),
        ({"permission": "read", "phrases": "^hi$"}, "write a list: phrases=['^hi$']"),
        ({"permission": "read", "phrases": [""]}, "write a list of texts"),
        ({"permission": "read", "phrases": ["^(tea$"]}, "https://github.com/google/re2"),
        ({"permission": "read", "phrases": ["^tea(?= now)$"]}, "match the whole phrase"),
        ({"permission": "read", "phrases": ["tea"]}, "write it for the whole message"),
        ({"permission": "read", "title": {"zh": "好"}}, "has the title {'zh': '好'}; write both"),
        ({"permission": "read", "title": {"zh": "好", "en": " "}}, "write both languages"),
        ({"permission": "read", "title": {"zh": "好", "en": "Fine", "fr": "x"}}, "write both"),
        ({"permission": "read", "title": "Fine"}, "has the title 'Fine'; write both languages"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    async def fine(text: str) -> None:
        """Do."""

    with pytest.raises(DefinitionError) as caught:
        tool(**options)(fine)
    assert said in str(caught.value)


def test_defaults_of_every_kind_are_given_as_they_are() -> None:
    bob = Guest(name="Bob")

    async def many(
        *,
        count: float = 1,
        tone: Literal["warm", "cool"] = "warm",
        price: Decimal | None = None,
        guest: Guest | None = bob,
        tags: Sequence[str] = (),
        made: Annotated[list[int], Field(default_factory=list)],
    ) -> None:
        """Do."""

    assert read(many).parameters.get("required") is None


def test_every_problem_is_told_at_once() -> None:
    def bad(text, *more: str):  # type: ignore[no-untyped-def]
        return text

    with pytest.raises(DefinitionError) as caught:
        tool(permission="admin", timeout="soon")(bad)
    assert len(caught.value.problems) == 7


@pytest.mark.parametrize(
    ("written", "seconds"), [("500ms", 0.5), ("10s", 10), ("1.5s", 1.5), ("2m", 120)]
)
def test_timeouts_are_written_as_people_write_them(written: str, seconds: float) -> None:
    async def fine() -> None:
        """Do."""

    assert read(fine, timeout=written).timeout == timedelta(seconds=seconds)


def test_what_writes_asks_first_and_so_does_a_read_that_wants_to() -> None:
    assert [t.asks_first for t in (greet, reveal, save, record)] == [False, True, True, True]


def test_an_option_that_does_nothing_is_not_accepted() -> None:
    with pytest.raises(TypeError, match="weight"):
        tool(permission="read", weight=3)  # type: ignore[call-arg]


def test_how_a_tool_is_called_can_be_said() -> None:
    @tool(permission="read", cache="2m", ephemeral=1, return_direct=True, per_minute=5, at_once=2)
    async def look() -> int:
        """Look."""
        return 1

    assert look.options == ToolOptions(
        cache=timedelta(minutes=2), ephemeral=1, return_direct=True, per_minute=5, at_once=2
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cache": "soon"}, "has the cache 'soon'; write it like"),
        ({"permission": "write", "cache": "10s"}, "writes and is cached; take the cache out"),
        ({"permission": "write", "client": True}, "writes at the front end"),
        ({"undoes": "save"}, "takes back save and changes nothing"),
        ({"permission": "write", "undoes": "look"}, "takes itself back"),
        ({"ephemeral": -1}, "has ephemeral=-1; write 0 or more"),
        ({"per_minute": 0}, "has per_minute=0; write 1 or more"),
        ({"at_once": 0}, "has at_once=0; write 1 or more"),
    ],
)
def test_an_option_that_means_nothing_is_refused(options: dict[str, Any], said: str) -> None:
    async def look() -> int:
        """Look."""
        return 1

    with pytest.raises(DefinitionError, match=said):
        tool(**{"permission": "read", **options})(look)


def test_literals_ranges_and_descriptions_reach_the_schema() -> None:
    async def take(
        kind: Annotated[Literal["a", "b"], Field(description="Which")],
        share: Annotated[float, Field(gt=0, le=1)],
        ctx: ToolContext,
        word: Annotated[str, Depends(greeting)] = "never used",
    ) -> None:
        """Do."""

    properties: Any = read(take).parameters["properties"]
    assert properties["kind"]["enum"] == ["a", "b"]
    assert properties["kind"]["description"] == "Which"
    assert properties["share"]["exclusiveMinimum"] == 0
    assert sorted(properties) == ["kind", "share"]
