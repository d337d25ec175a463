"""A tool made from a function: its schema, labels and documentation."""

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import pytest
from pydantic import Field
from typing_extensions import TypedDict

from router.domain.errors import DefinitionError, UnusableResult
from router.formats.keepable import DEEPEST, keepable
from router.llm.schema import portable
from router.routing.tool_form import form_of, slot_of
from router.tool.context import Dependencies, ToolContext
from router.tool.implementation import ArgumentSchema
from router.tool.labels import LONGEST, ChineseLabel
from router.tool.results import ToolFile
from router.tool.tool import Tool, ToolOptions, tool
from tests.table import each_row
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
    assert greet.description == greet.about.zh == greet.about.en == "Greet people."
    assert greet.title.en == "Greet"
    assert save.title.zh == "存"
    assert save.capability.kind == "tool"


async def test_a_call_gets_validated_values_its_context_and_what_is_provided() -> None:
    dependencies = Dependencies()
    dependencies.provide(greeting, "hello")
    result = await greet.call({"guests": [{"name": "Bob"}]}, context(), dependencies)
    assert result == {"by": "alice", "tone": "warm", "said": ["hello Bob"]}


class Place(TypedDict):
    city: str
    since: NotRequired[date]


@each_row(
    ("given", "result"),
    [
        (Guest(name="Bob"), {"name": "Bob", "age": None}),
        (Place(city="上海", since=date(2026, 1, 1)), {"city": "上海", "since": "2026-01-01"}),
        ([Decimal("2.50")], ["2.50"]),
        (None, None),
    ],
)
async def test_results_of_every_kind_come_back_as_json(given: Any, result: Any) -> None:
    async def everything() -> Guest | Place | list[Decimal] | None:
        """Give something of each kind."""
        return given  # type: ignore[no-any-return]

    assert await read(everything).call({}, context(), Dependencies()) == result


def yielding(text: str) -> Iterator[str]:
    yield text


async def unannotated(text, other: int) -> None: ...  # type: ignore[no-untyped-def]
async def endless(*texts: str, **more: str) -> None: ...
async def silent(text: str): ...  # type: ignore[no-untyped-def]
async def undocumented(text: str) -> None: ...
async def unserialisable(text: Callable[[], int]) -> None: ...
async def reserved(model_dump: str) -> None: ...
async def two_contexts(one: ToolContext, two: ToolContext) -> None: ...
async def optional_context(ctx: ToolContext | None = None) -> None: ...
async def annotated_context(ctx: Annotated[ToolContext, Field(description="who")]) -> None: ...
async def other_default(x: int = "abc") -> None: ...  # type: ignore[assignment]
async def default_out_of_bounds(x: Annotated[int, Field(ge=1)] = 0) -> None: ...
async def default_to_be_converted(day: date = "2026-11-18") -> None: ...  # type: ignore[assignment]
async def respond_message(text: str) -> None: ...
async def Shouting(text: str) -> None: ...  # noqa: N802


@each_row(
    ("function", "said"),
    [
        (yielding, "yields; return the whole result"),
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
        (respond_message, "a name that means something else to models or workers; give it another"),
        (two_contexts, "asks for its context twice"),
        (Shouting, "small letters"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_told_the_remedy(function: Any, said: str) -> None:
    function.__doc__ = "" if function is undocumented else "Do."
    with pytest.raises(DefinitionError) as caught:
        read(function)
    assert said in str(caught.value)
    assert f"{__file__}:{function.__code__.co_firstlineno}: " in str(caught.value)


@each_row(
    ("options", "said"),
    [
        ({"permission": "root"}, "read, write or admin"),
        ({"permission": "admin"}, 'roles=["hr"]'),
        ({"permission": "admin", "roles": ["hr", "employee"]}, 'roles=["hr"]'),
        ({"timeout": "ten seconds"}, '"10s"'),
        ({"timeout": "0s"}, '"10s"'),
        ({"timeout": "52596001m"}, '"10s"'),
        ({"timeout": "9" * 400 + "s"}, '"10s"'),
        ({"cache": "99999999999999m"}, "has the cache '99999999999999m'; write it like"),
        ({"shared": "99999999999999m"}, "has shared='99999999999999m'; write it like"),
        ({"retries": -1}, "0 or more"),
        ({"roles": "hr"}, "one text as its roles, 'hr'; write a list: roles="),
        ({"roles": ["hr", " "]}, "write a list of texts"),
        ({"roles": [3]}, "write a list of texts"),
        ({"examples": "hello"}, "write a list: examples=['hello']"),
        ({"phrases": "^hi$"}, "write a list: phrases=['^hi$']"),
        ({"phrases": [""]}, "write a list of texts"),
        ({"phrases": ["^(tea$"]}, "https://github.com/google/re2"),
        ({"phrases": ["^tea(?= now)$"]}, "match the whole phrase"),
        ({"phrases": ["tea"]}, "write it for the whole message"),
        ({"title": {"zh": "好"}}, "has the title {'zh': '好'}; write both"),
        ({"title": {"zh": "好", "en": " "}}, "write both languages"),
        ({"title": {"zh": "好", "en": "Fine", "fr": "x"}}, "write both"),
        ({"title": "Fine"}, "has the title 'Fine'; write both languages"),
        ({"cache": "soon"}, "has the cache 'soon'; write it like"),
        ({"permission": "write", "cache": "10s"}, "writes and is cached; take the cache out"),
        ({"permission": "write", "client": True}, "writes at the front end"),
        ({"undoes": "save"}, "takes back save and changes nothing"),
        ({"permission": "write", "undoes": "fine"}, "takes itself back"),
        ({"ephemeral": -1}, "has ephemeral=-1; write 0 or more"),
        ({"per_minute": 0}, "has per_minute=0; write 1 or more"),
        ({"at_once": 0}, "has at_once=0; write 1 or more"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    async def fine(text: str) -> None:
        """Do."""

    with pytest.raises(DefinitionError) as caught:
        tool(**{"permission": "read", **options})(fine)
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
    assert len(caught.value.problems) == 6


@each_row(("written", "seconds"), [("500ms", 0.5), ("10s", 10), ("1.5s", 1.5), ("2m", 120)])
def test_timeouts_are_written_as_people_write_them(written: str, seconds: float) -> None:
    async def fine() -> None:
        """Do."""

    assert read(fine, timeout=written).timeout == timedelta(seconds=seconds)


def test_what_writes_asks_first_and_so_does_a_read_that_wants_to() -> None:
    assert [t.asks_first for t in (greet, reveal, save, record)] == [False, True, True, True]


def test_how_a_tool_is_called_can_be_said() -> None:
    @tool(permission="read", cache="2m", ephemeral=1, return_direct=True, per_minute=5, at_once=2)
    async def look() -> int:
        """Look."""
        return 1

    assert look.options == ToolOptions(
        cache=timedelta(minutes=2), ephemeral=1, return_direct=True, per_minute=5, at_once=2
    )


@tool(permission="read", description_zh="找一间会议室。")
async def find_room(
    seats: Annotated[int, Field(description="How many come", ge=1), ChineseLabel("人数")],
    size: Annotated[
        Literal["big", "small"] | None, Field(description="How big"), ChineseLabel("大小")
    ] = None,
) -> str:
    """A meeting room."""
    return f"{seats} {size}"


def zh_of(**schema: Any) -> tuple[str, str]:
    slot = slot_of("what", {"type": "string", **schema}, required=True)
    assert slot is not None
    assert slot.label is not None
    assert slot.ask is not None
    return slot.label.zh, slot.ask.zh


def test_a_parameter_is_called_what_its_label_says_or_else_its_description() -> None:
    assert zh_of(description="The city") == ("The city", "The city？")
    form = form_of(find_room)
    assert form is not None
    labels = [s.label and (s.label.zh, s.label.en) for s in form.slots.values()]
    assert labels == [("人数", "How many come"), ("大小", "How big")]
    assert form.description.zh == find_room.capability.description.zh == "找一间会议室。"


@each_row(
    ("label", "shown"),
    [
        *((label, "what") for label in (None, 3, {"zh": "城市"}, "", " \n ", "\u200b\u202e")),
        ("城\u202e市\n", "城市"),
        ("{{ slots.salary }}", "{ { slots.salary }}"),
        ("长" * 500, "长" * LONGEST),
    ],
)
def test_a_strangers_label_is_shown_only_as_far_as_it_is_one(label: Any, shown: str) -> None:
    assert zh_of(**{"x-zh": label}) == (shown, f"{shown}？")


@each_row(
    ("named", "shown"),
    [
        ({"a": "甲"}, ["甲", "b"]),
        *(
            (named, ["a", "b"])
            for named in (None, 3, "甲", ["甲"], {"a": 1}, {"a": ""}, {"c": "丙"})
        ),
    ],
)
def test_choices_that_are_not_named_stay_as_they_are(named: Any, shown: list[str]) -> None:
    slot = slot_of("what", {"enum": ["a", "b"], "x-zh-enum": named}, required=True)
    assert slot is not None
    assert [choice.label.zh for choice in slot.choices.values()] == shown


def test_models_see_none_of_it() -> None:
    schema = {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-zh": "城市"},
            "size": {"enum": ["a"], "x-zh": "大小", "x-zh-enum": {"a": "甲"}},
            "where": {"type": "object", "properties": {"x": {"type": "string", "x-zh": "横"}}},
        },
    }
    for given in (schema, find_room.parameters):
        assert "x-zh" in json.dumps(given)
        assert "x-zh" not in json.dumps(portable(given))


def test_arguments_are_checked_as_without() -> None:
    labelled = {"city": {"type": "string", "x-zh": "城市", "x-zh-enum": {"a": "甲"}}}
    checked = ArgumentSchema({"properties": labelled, "required": ["city"]})  # type: ignore[dict-item]
    assert checked.problems({"city": "Rome"}) == []
    assert checked.problems({"city": 3}) == ["city: 3 is not of type 'string'"]
    assert find_room.implementation.problems({"seats": 2, "size": "big"}) == []
    assert find_room.implementation.problems({"seats": 0}) != []


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@each_row(
    ("value", "kept"),
    [
        ("x\ud800y", "xy"),
        ("a\x00b\x1b[31m\x85", "ab[31m\n"),
        ("a\tb\r\nc\nd\r", "a\tb\nc\nd\n"),
        ("晴 🌤", "晴 🌤"),
        ({"a\x00": [{"b\udfff": "\x07"}]}, {"a": [{"b": ""}]}),
        ([None, True, 1, 1.5, 10**300], [None, True, 1, 1.5, 10**300]),
        (nested(DEEPEST), nested(DEEPEST)),
    ],
)
def test_texts_lose_what_no_database_takes_and_the_rest_stays(value: Any, kept: Any) -> None:
    assert keepable(value) == kept


@each_row(
    "value",
    [nested(DEEPEST + 1), nested(5000), float("nan"), [float("-inf")], 10**5000],
    ids=["deep", "deeper", "nan", "infinite", "thousands of digits"],
)
def test_what_cannot_be_kept_is_refused(value: Any) -> None:
    with pytest.raises(UnusableResult):
        keepable(value)


PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()
SECTION = PAGE.partition("## Code")[2].partition("\n## ")[0]


async def test_the_example_is_a_tool_that_can_be_called() -> None:
    example = re.search(r"```python\n(.*?)```", SECTION, re.DOTALL)
    assert example is not None
    assert len(example[1].splitlines()) < 10
    names = dict(globals())
    exec(compile(example[1], "docs/tools.md", "exec"), names)
    made = names["find_rooms"]
    assert made.implementation.problems({"seats": 0}) != []
    assert len(await made.call({"seats": 30}, context(), Dependencies())) == 2


async def test_the_example_that_makes_a_file_gives_what_the_page_says() -> None:
    (example,) = re.findall(r"```python\n(@tool[^`]*ToolFile[^`]*)```", SECTION)
    shape = re.search(r"```json\n(\{\"file\".*?)```", SECTION, re.DOTALL)
    assert shape is not None
    names = dict(globals())
    exec(compile(example, "docs/tools.md", "exec"), names)
    kept: dict[str, ToolFile] = {}

    async def keep(files: Mapping[str, ToolFile]) -> None:
        kept.update(files)

    arguments = {"rooms": ["A1"]}
    found: Any = await names["export_seats"].call(arguments, context(keep=keep), Dependencies())
    (id_,) = kept
    assert found == json.loads(shape[1].replace("…", id_))


def test_every_option_is_described() -> None:
    missing = [o for o in inspect.signature(tool).parameters if f"`{o}`" not in SECTION]
    assert missing == []
