"""Entrances of plain functions: what people type, what models answer, files that people write."""

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from router.directory.file import FileDirectory
from router.domain.errors import DefinitionError
from router.domain.messages import Message, Option
from router.extensions.http.declarations import tools_in_text
from router.extensions.mcp.file import servers_in_text
from router.flow.loader import UnmadeFlow, load_flows, looked_at
from router.flow.paused import Situation
from router.llm.protocols import protocol
from router.llm.stream import DONE, Speech, UnreadableAnswer, events
from router.llm.types import How
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.skill.loader import skill_in_text
from router.story.loader import story_problems
from router.understanding.reader import Reader
from router.webhook.webhook_files import load_event_sources, load_webhooks
from tests.fakes.providers import DIALECTS, Said
from tests.fuzz.entrance import BESIDE_IT, Entrance, Outcome, Take, as_bytes, registered
from tests.unit.directory import test_directory
from tests.unit.extensions.http.declaring import declaration
from tests.unit.flow import test_loader as test_flow_loader
from tests.unit.llm.asking import ANNUAL, question
from tests.unit.skill import test_loader
from tests.unit.story import test_story
from tests.unit.understanding import test_properties
from tests.unit.understanding.dialogue import NOW
from tests.unit.webhook import test_file

REFUSED = Outcome(422)


def said_what_is_wrong(error: DefinitionError) -> Outcome:
    """A refusal, which names at least one problem."""
    if not error.problems:
        raise AssertionError("it was refused, and nothing is said to be wrong")
    return REFUSED


FLOWS = Path(__file__).parents[2] / "flows"


def text_of(data: bytes) -> str:
    """The text that the bytes are: no half of a character gets past who reads them."""
    return data.decode("utf-8", "replace")


Opening = Callable[[], Any]


def function(take: Callable[[bytes], Outcome]) -> Opening:
    """An entrance that is a function of its input and nothing else."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Take]:
        async def taken(data: bytes) -> Outcome:
            return take(data)

        yield taken

    return opened


def defined(read: Callable[[str], object]) -> Callable[[bytes], Outcome]:
    """Of a reader of files that says what is wrong as `DefinitionError`."""

    def take(data: bytes) -> Outcome:
        try:
            read(text_of(data))
        except DefinitionError as error:
            return said_what_is_wrong(error)
        return Outcome()

    return take


# What people type


@asynccontextmanager
async def _reading() -> AsyncIterator[Take]:
    reader = Reader(load_flows(FLOWS))
    offered = [Option(label=word, value=word) for word in ("年假", "病假", "A1", "")]
    situations = [
        Situation(now=NOW, locale="zh", roles=frozenset({"employee"})).showing(view)
        for view in test_properties.VIEWS
    ]
    situations += [situations[0].model_copy(update={"locale": "en", "offered": offered})]

    async def take(data: bytes) -> Outcome:
        # A form of one word at the front: which of the situations it is said in.
        at, text = (data[0], text_of(data[1:])) if data else (0, "")
        reader.read(Message(text=text), situations[at % len(situations)])
        return Outcome()

    yield take


def _typed() -> Iterator[bytes]:
    for at, word in enumerate(test_properties.WORDS):
        yield bytes([at % 8]) + word.encode()
    yield "\0我要请假，下周一到周三，家里有事".encode()
    yield b"\0Taxi $45 and lunch 58 yuan, both on Dec 24th"


registered(Entrance("messages", "what people type, read by rules", _reading, _typed, longest=8_000))

# What models answer

HOWS: tuple[How, ...] = ("functions", "json_schema", "json_object", "text")
PROTOCOLS = tuple(
    protocol(name) for name in ("chat_completions", "responses", "anthropic", "gemini")
)


async def _one(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def _answered(data: bytes) -> Outcome:
    """By every protocol: as events where it is a list or a stream, else as a body."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        try:
            whole = [event async for event in events(_one(data))]
        except UnreadableAnswer:
            return REFUSED
    for at, spoken in enumerate(PROTOCOLS):
        how = HOWS[(len(data) + at) % len(HOWS)]
        if isinstance(whole, list):
            answer, speech = (
                spoken.partial(),
                Speech(how, ["get_balance"], {"respond_message": "text"}),
            )
            for event in [*whole[:200], DONE]:
                answer.add(event)
                speech.more(answer)
            spoken.read(answer.body(), question(), how, "m", 1)
        else:
            spoken.read(whole, question(), how, "m", 1)
    return Outcome()


@asynccontextmanager
async def _answering() -> AsyncIterator[Take]:
    yield _answered


def _answers() -> Iterator[bytes]:
    said = Said("稍等", (ANNUAL, ANNUAL), ("嗯", "哦"))
    for dialect in DIALECTS:
        yield as_bytes(dialect.whole(said, "m"))
        told: list[Any] = [one for one in dialect.events(said, "m") if one != DONE]
        yield as_bytes(told)
        yield b"".join(b"data: %s\n\n" % as_bytes(one) for one in told)
    written = (
        '<tool_call>{"name": "get_balance", "arguments": {"leave_type": "annual",}}',
        "```json\n[",
    )
    for text in (*written, "get_balance(leave_type='annual')"):
        yield as_bytes({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


registered(
    Entrance(
        "model-answers", "what models answer, whole and streamed", _answering, _answers, "json"
    )
)

# Files that people write


def _flow(text: str) -> None:
    found = looked_at(Path("flows/x.yaml"), text)
    if isinstance(found, UnmadeFlow) and not found.problems:
        raise AssertionError("there is no flow, and nothing is said to be wrong")


def _flows() -> Iterator[bytes]:
    yield as_bytes(test_flow_loader.SOUND)
    for path in sorted(FLOWS.glob("*.yaml")):
        yield path.read_bytes()


registered(
    Entrance(
        "flow-files",
        "flows in YAML",
        function(defined(_flow)),
        _flows,
        stop=BESIDE_IT,
    )
)

VARIABLES: Mapping[str, str] = {"KEY": "k", **test_file.VARIABLES}


def _tools(text: str) -> None:
    guard = OutboundGuard(["http://127.0.0.1:9000"])
    for read in (
        partial(tools_in_text, sender=Sender(guard)),
        partial(servers_in_text, guard=guard),
    ):
        try:
            read(Path("tools/x.json"), text, VARIABLES)
        except DefinitionError as error:
            said_what_is_wrong(error)


def _tool_files() -> Iterator[bytes]:
    text = {"type": "object", "properties": {"id": {"type": "string", "maxLength": 3}}}
    path = {"url": "https://api.example.com/{id}", "method": "POST", "headers": {"x": "{env.KEY}"}}
    yield as_bytes(declaration())
    yield as_bytes(declaration(parameters=text, endpoint=path, description_zh="取"))
    yield as_bytes([declaration(name=name, parameters=text) for name in ("a", "b")])
    server = {"url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer ${KEY}"}}
    yield as_bytes({"mcpServers": {"crm": {**server, "tools": {"find": {"timeout": "5s"}}}}})


registered(
    Entrance(
        "tool-files",
        "tools and MCP servers in JSON",
        function(defined(_tools)),
        _tool_files,
        "json",
        BESIDE_IT,
    )
)


def _skills() -> Iterator[bytes]:
    yield f"---\n{test_loader.HEAD}\n---\n{test_loader.BODY}\n".encode()
    for path in sorted(FLOWS.parent.glob("skills/*/SKILL.md")):
        yield path.read_bytes()


registered(
    Entrance(
        "skill-files",
        "skills in Markdown",
        function(defined(partial(skill_in_text, Path("skills/trip-planner/SKILL.md")))),
        _skills,
        stop=BESIDE_IT,
    )
)


def _story(text: str) -> None:
    story_problems("stories.yaml", text, test_story.KNOWN)


registered(
    Entrance(
        "story-files",
        "stories in YAML",
        function(defined(_story)),
        lambda: [as_bytes(test_story.WHOLE), *(as_bytes(row[0]) for row in test_story.HOSTILE)],
        stop=BESIDE_IT,
    )
)


def _people(text: str) -> None:
    FileDirectory.read(text, "people")


registered(
    Entrance(
        "directories",
        "people in YAML or JSON, as a directory is fetched",
        function(defined(_people)),
        lambda: [
            as_bytes(test_directory.BAD),
            as_bytes({"users": [test_directory.ALICE, test_directory.BOB]}),
        ],
        stop=BESIDE_IT,
    )
)


@asynccontextmanager
async def _other_systems() -> AsyncIterator[Take]:
    with tempfile.TemporaryDirectory() as folder:

        async def take(data: bytes) -> Outcome:
            path = Path(folder) / ("x.json" if data[:1] in (b"[", b"{") else "x.yaml")
            path.write_bytes(data)
            refused = 0
            for load in (partial(load_webhooks, guard=test_file.GUARD), load_event_sources):
                try:
                    load(path, VARIABLES)
                except DefinitionError as error:
                    refused += said_what_is_wrong(error).refused
            return REFUSED if refused == 2 else Outcome()

        yield take


registered(
    Entrance(
        "webhook-files",
        "who is told, and who may tell, in YAML or JSON",
        _other_systems,
        lambda: [
            as_bytes(one)
            for one in (test_file.FINE, f"- {{{test_file.ENTRY}}}", f"- {{{test_file.SOURCE}}}")
        ],
        stop=BESIDE_IT,
    )
)
