"""Model protocols that extensions add, asked of a server that speaks one of a company's own."""

import json
import sys
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from router.domain.errors import MisconfiguredError
from router.extension import Extension
from router.llm import protocol_table
from router.llm.client import ChatModel
from router.llm.health import ModelAddress, trouble_at
from router.llm.protocol_table import ProtocolTable, use_protocols
from router.llm.types import (
    ChatAnswer,
    ModelRefused,
    ModelUnavailable,
    ShownPicture,
    TextDelta,
    UserMessage,
)
from router.runtime.extensions import Extensions, LoadedExtension
from router.runtime.model_protocols import load_protocols
from router.sdk.model_protocols import (
    BodyWriter,
    ParsedAnswer,
    PartialAnswer,
    RawCall,
    TokenCounts,
    WireProtocol,
)
from router.settings import Settings
from tests.fakes.web_server import Got, Reply, WebServer, json_reply
from tests.table import each_row
from tests.unit.llm.asking import ANNUAL, question

MODULE = "acme_models"
FAULT = RuntimeError("no such engine")


class Sentence:
    """A stream of words."""

    def __init__(self) -> None:
        self.content, self.calls, self.is_complete = "", (), False

    def add(self, event: Any) -> None:
        self.content += event["word"]
        self.is_complete = event["last"]

    def body(self) -> dict[str, Any]:
        return {"words": self.content}


class AcmeProtocol(WireProtocol):
    """The protocol of a company's gateway."""

    provider = "acme"

    def url(self, base_url: str, body: Mapping[str, Any]) -> str:
        return f"{base_url}/engines/{body['engine']}"

    def write(self, model: str, writer: BodyWriter, stream: bool) -> None:
        said = [{"who": each.role, "words": each.text} for each in writer.messages]
        writer.body |= {"engine": model, "said": said, "most": writer.request.max_tokens}
        if stream:
            writer.body["stream"] = True

    def parse(self, body: Any) -> ParsedAnswer:
        calls = [RawCall(name, arguments) for name, arguments in body.get("calls", [])]
        tokens = TokenCounts(prompt=body.get("read"), completion=body.get("wrote"))
        return ParsedAnswer(body.get("words", ""), calls, finish="stop", tokens=tokens)


class StreamedProtocol(AcmeProtocol):
    """The same, streamed."""

    def begin_stream(self) -> PartialAnswer:
        return Sentence()


class FunctionsProtocol(AcmeProtocol):
    """The same, with functions."""

    offers = "functions"

    def write(self, model: str, writer: BodyWriter, stream: bool) -> None:
        super().write(model, writer, stream)
        if writer.how == "functions":
            writer.use("tools", functions=[each.name for each in writer.request.functions])


@pytest.fixture(autouse=True)
def module() -> Iterator[ModuleType]:
    """A module of another company, with protocols."""
    made = sys.modules[MODULE] = ModuleType(MODULE)
    for kind in (AcmeProtocol, StreamedProtocol, FunctionsProtocol):
        vars(made)[kind.__name__] = kind()
    vars(made)["Half"] = AcmeProtocol
    vars(made)["Odd"] = broken(offers="smoke")
    vars(made)["Nobodys"] = broken(provider=None)
    before = [*protocol_table._IN_USE]
    yield made
    protocol_table._IN_USE[:] = before
    del sys.modules[MODULE]


def extension(targets: Any) -> Extension:
    made = type("Acme", (Extension,), {"name": "acme", "model_protocols": lambda _: targets})
    return made()  # type: ignore[no-any-return]


def installed(targets: Any) -> Extensions:
    return Extensions([LoadedExtension(extension(targets), "acme-models")])


def in_use(protocol: WireProtocol | str) -> None:
    """Let the process have the protocol as `acme`."""
    if isinstance(protocol, WireProtocol):
        vars(sys.modules[MODULE])["OWN"] = protocol
    table = ProtocolTable()
    table.add({"acme": f"{MODULE}:OWN"})
    use_protocols(table)


async def asked(
    protocol: WireProtocol, reply: Reply, heard: list[str] | None = None, **more: Any
) -> tuple[ChatAnswer, list[Got]]:
    async def hear(delta: TextDelta) -> None:
        assert heard is not None
        heard.append(delta.text)

    in_use(protocol)
    async with WebServer(lambda _: reply) as server:
        model = ChatModel(f"{server.origin}/v1/", "big", "a-key", spoken="acme")
        try:
            on_text = None if heard is None else hear
            return await model.answer(question(**more), 20, on_text), server.requests
        finally:
            await model.aclose()


async def test_a_protocol_of_an_extension_asks_with_the_key_and_functions_in_words() -> None:
    reply = json_reply({"words": "Five days.", "read": 40, "wrote": 3})
    answer, (got,) = await asked(AcmeProtocol(), reply)
    assert (answer.text, answer.how, answer.usage.tokens) == ("Five days.", "text", 43)
    assert (got.method, got.target) == ("POST", "/v1/engines/big")
    assert got.headers["authorization"] == "Bearer a-key"
    sent = json.loads(got.body)
    assert "get_balance" in sent["said"][0]["words"]
    assert sent["most"] == 1024
    assert "stream" not in sent


async def test_pictures_are_told_in_words_and_what_is_about_them_is_refused() -> None:
    picture = ShownPicture(name="a.png", media_type="image/png", content=b"")
    shown = UserMessage(text="Look.", unseen="There is a picture, a.png.", pictures=(picture,))
    _, (got,) = await asked(AcmeProtocol(), json_reply({"words": "I see."}), messages=(shown,))
    assert json.loads(got.body)["said"][-1]["words"] == "There is a picture, a.png.\nLook."
    with pytest.raises(ModelRefused, match="acme takes no pictures"):
        await asked(AcmeProtocol(), json_reply({}), messages=(shown,), needs_sight=True)


async def test_calls_are_taken_as_such_and_out_of_words() -> None:
    as_such, (got,) = await asked(FunctionsProtocol(), json_reply({"calls": [ANNUAL]}))
    assert json.loads(got.body)["functions"] == ["get_balance", "respond_message"]
    told = json.dumps({"calls": [{"name": ANNUAL[0], "arguments": ANNUAL[1]}]})
    in_words, _ = await asked(AcmeProtocol(), json_reply({"words": told}))
    for answer in (as_such, in_words):
        assert [(call.name, call.arguments) for call in answer.calls] == [ANNUAL]


def streamed(*events: Any) -> Reply:
    lines = [b"data: %s\n\n" % json.dumps(event).encode() for event in events]
    return Reply(lines, headers={"content-type": "text/event-stream"})


WORDS = ({"word": "Five ", "last": False}, {"word": "days.", "last": True})


async def test_a_streamed_answer_is_passed_on_as_it_comes() -> None:
    heard: list[str] = []
    answer, _ = await asked(StreamedProtocol(), streamed(*WORDS), heard)
    assert answer.text == "".join(heard) == "Five days."


def broken(kind: type[WireProtocol] = AcmeProtocol, **members: Any) -> WireProtocol:
    def fail(*_: Any, **__: Any) -> Any:
        raise FAULT

    given = {name: fail if member is FAULT else member for name, member in members.items()}
    made: WireProtocol = type("Broken", (kind,), given)()
    return made


class Mute(Sentence):
    def body(self) -> dict[str, Any]:
        raise FAULT


@each_row(
    ("protocol", "reply", "said"),
    [
        (broken(write=FAULT), json_reply({}), "a question can't be written"),
        (broken(url=FAULT), json_reply({}), "a question can't be sent"),
        (broken(url=lambda *_: 7), json_reply({}), "a question can't be sent"),
        (broken(write=lambda _, m, w, s: w.body.update(engine={m})), json_reply({}), "be sent"),
        (
            broken(StreamedProtocol, begin_stream=Mute),
            streamed(*WORDS),
            "can't make out the stream",
        ),
        (StreamedProtocol(), streamed({"words": "?"}), "KeyError: 'word'"),
        (StreamedProtocol(), streamed(WORDS[0]), "the stream ended before the answer did"),
        (AcmeProtocol(), json_reply({"oops": 1}, 503), "503"),
        (AcmeProtocol(), json_reply({"oops": 1}, 401), "answered 401"),
    ],
)
async def test_a_fault_of_a_protocol_is_one_of_its_model_and_the_next_one_is_asked(
    protocol: WireProtocol, reply: Reply, said: str
) -> None:
    with pytest.raises((ModelUnavailable, ModelRefused), match=said):
        await asked(protocol, reply, [])


@each_row(
    "protocol",
    [
        broken(parse=FAULT),
        broken(parse=lambda *_: None),
        broken(parse=lambda *_: ParsedAnswer(text=7)),  # type: ignore[arg-type]
        broken(parse=lambda *_: ParsedAnswer(calls=["x"])),  # type: ignore[list-item]
    ],
)
async def test_an_answer_that_a_protocol_cannot_read_says_nothing_and_why(
    protocol: WireProtocol,
) -> None:
    answer, _ = await asked(protocol, json_reply({"words": "Five days."}))
    assert (answer.text, answer.calls) == ("", ())
    assert "the answer can't be read: " in answer.problems[0].text


async def test_a_stream_that_a_protocol_knows_nothing_of_is_no_answer() -> None:
    with pytest.raises(ModelUnavailable, match="can't be read"):
        await asked(AcmeProtocol(), streamed(*WORDS))


async def test_whether_its_server_is_there_is_asked_where_the_protocol_says() -> None:
    in_use(broken(models_url=lambda _, base_url: f"{base_url}/ping"))
    async with WebServer(lambda _: json_reply({})) as server:
        assert await trouble_at(ModelAddress(server.origin, "a-key", "acme")) is None
        assert [got.target for got in server.requests] == ["/ping"]
    in_use(broken(models_url=FAULT))
    trouble = await trouble_at(ModelAddress("http://127.0.0.1:9", None, "acme"))
    assert trouble is not None


async def test_headers_that_cannot_be_made_are_found_out_at_the_start() -> None:
    in_use(broken(headers=FAULT))
    with pytest.raises(MisconfiguredError, match="acme makes no headers: RuntimeError"):
        ChatModel("http://127.0.0.1:9", "big", spoken="acme")


HOSTILE: list[tuple[Any, str]] = [
    (None, "'NoneType' object has no attribute"),
    ([f"{MODULE}:OWN"], "'list' object has no attribute"),
    ({"anthropic": f"{MODULE}:OWN"}, "there is a model protocol 'anthropic' already"),
    ({"Acme wire": f"{MODULE}:OWN"}, "its model protocol has the name 'Acme wire'"),
    ({7: f"{MODULE}:OWN"}, "its model protocol has the name 7"),
    ({"acme": AcmeProtocol}, "write where it is, as in acme_models.wire:PROTOCOL"),
    ({"acme": "../wire.py"}, "its model protocol acme is '../wire.py'"),
    ({"fine": f"{MODULE}:AcmeProtocol", "gemini": f"{MODULE}:OWN"}, "'gemini' already"),
    ({"acme": "acme_absent.wire:OWN"}, "acme_absent.wire:OWN can't be imported: ModuleNotFound"),
    ({"acme": f"{MODULE}:Nothing"}, "acme_models:Nothing can't be imported: AttributeError"),
    ({"acme": f"{MODULE}:Half"}, "make it an instance of a subclass of WireProtocol"),
    ({"acme": MODULE}, "it is <module 'acme_models'>: make it an instance"),
    (
        {"acme": f"{MODULE}:Nobodys"},
        "acme_models:Nobodys can't be used: it has no provider",
    ),
    ({"acme": f"{MODULE}:Odd"}, "it offers 'smoke': write functions, json_schema"),
]


@each_row(("targets", "reason"), HOSTILE)
def test_a_protocol_that_cannot_be_used_is_named_and_none_of_its_extension_added(
    targets: Any, reason: str
) -> None:
    table = ProtocolTable()
    (fault,) = installed(targets).find_faults(table.import_extension)
    assert reason in fault.reason
    if fault.reason.startswith(("its model protocol", "there is")):
        assert table.names == ProtocolTable().names


def test_two_extensions_have_no_protocol_of_one_name() -> None:
    table, acme = ProtocolTable(), installed({"acme": f"{MODULE}:AcmeProtocol"})
    acme.collect(table.add_extension)
    (fault,) = acme.find_faults(table.add_extension)
    assert fault.reason.startswith("there is a model protocol 'acme' already, acme_models:Acme")


NAMING: list[dict[str, Any]] = [
    {"llm_protocol": "acme", "llm_model": "big", "llm_base_url": "http://127.0.0.1:9"},
    {"llm_fallbacks": [{"base_url": "http://127.0.0.1:9", "model": "big", "protocol": "acme"}]},
    {"llm_roles": {"skill": {"base_url": "http://127.0.0.1:9", "protocol": "acme"}}},
    {"llm_escalate": {"base_url": "http://127.0.0.1:9", "protocol": "acme"}},
]


@each_row("named", NAMING)
def test_settings_accept_a_protocol_while_its_extension_is_in_use(
    named: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(_env_file=None, **named)
    found = installed({"acme": f"{MODULE}:AcmeProtocol"})
    monkeypatch.setattr("router.runtime.model_protocols.load_configured", lambda _: found)
    assert "acme" in load_protocols(settings).names
    monkeypatch.setattr("router.runtime.model_protocols.load_configured", lambda _: Extensions())
    with pytest.raises(MisconfiguredError, match=r"^ROUTER_LLM_\w+ names the protocol 'acme'"):
        load_protocols(settings)


@each_row(
    "named",
    [
        {"llm_protocol": "acme", "llm_model": "big", "llm_api_key": "k"},
        {"llm_roles": {"skill": {"protocol": "acme"}}},
        {"llm_thrift": [{"below": 0.1, "model": "small", "protocol": "acme"}]},
    ],
)
def test_a_protocol_that_has_no_address_needs_one(named: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"'acme' is none of .*: correct it, or, if an extension"):
        Settings(_env_file=None, **named)


def test_a_key_for_openai_goes_to_no_server_of_another_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    (access,) = Settings(_env_file=None, **NAMING[0]).models
    assert (access.protocol, access.api_key) == ("acme", None)
