"""What a chat client asks of a model, in the shape of OpenAI's Chat Completions.

But for the format of the answer and the client's own tools, all that may be set on a model
(temperature, seeds) is let be: the router has no use for it, and whoever sends it to every model
shouldn't have to know that.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, Self

from fastapi import HTTPException
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    ValidationError,
    WithJsonSchema,
)
from pydantic.config import JsonDict

from router.api.dependencies import Services
from router.api.files import Upload, check_kind
from router.api.params import check_plain
from router.domain.errors import FieldProblem, InvalidInput, NotFound, reason_of
from router.domain.file_types import MOST_BYTES, MOST_FILES
from router.domain.messages import SpokenLine
from router.domain.principals import Principal
from router.routing.front_end_tools import FrontEndTool, SentTool, read
from router.routing.response_schema import ResponseSchema

MOST_MESSAGES = 5_000
MOST_PARTS = 1_000
MOST_SENT = 1_000
"""Tools, before they are looked at."""
MOST_SHOWN = 5
"""Faults of a body that an answer names in words."""


_Parts = Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_PARTS, fail_fast=True)]
ChatContent = str | _Parts | None


class ClientModel(BaseModel):
    """Base of what clients send: what isn't known here is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


_RESULTS_NAME_THEIR_CALL: JsonDict = {
    "anyOf": [
        {"properties": {"role": {"not": {"const": "tool"}}}},
        {
            "properties": {"role": {"const": "tool"}, "tool_call_id": {"minLength": 1}},
            "required": ["tool_call_id"],
        },
    ]
}


class Spoken(ClientModel):
    """One message of the chat as the client has it."""

    model_config = ConfigDict(json_schema_extra=_RESULTS_NAME_THEIR_CALL)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: ChatContent = None
    refusal: str | None = None
    tool_call_id: Annotated[str, Field(max_length=200)] = ""

    @property
    def words(self) -> str:
        """The text of it; of several parts, each on lines of its own; of a refusal, its words."""
        return words_of(self.content or self.refusal)

    @property
    def mark(self) -> str:
        """A digest of what it has besides words, the same when it is sent again; often nothing."""
        parts = self.content if isinstance(self.content, list) else []
        others = [part for part in parts if part.get("type") != "text"]
        if not others:
            return ""
        return hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()


class StreamOptions(ClientModel):
    """What a stream has besides the text."""

    include_usage: StrictBool | None = None


class TextFormat(ClientModel):
    """The answer as text, which it is anyway."""

    type: Literal["text"]


class ObjectFormat(ClientModel):
    """The answer as JSON of whatever form: that is the turn itself (docs/openai.md)."""

    type: Literal["json_object"]


class NamedSchema(ClientModel):
    """A JSON Schema; it is kept to whether `strict` or not."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    schema_: Annotated[dict[str, JsonValue], Field(alias="schema")]
    strict: StrictBool | None = None
    description: str | None = None


class SchemaFormat(ClientModel):
    """The answer as JSON of this schema."""

    type: Literal["json_schema"]
    json_schema: NamedSchema


ResponseFormat = Annotated[TextFormat | ObjectFormat | SchemaFormat, Field(discriminator="type")]


_CHOICE: JsonDict = {"anyOf": [{"enum": ["auto", "none"]}, {"type": "null"}]}


class Completion(ClientModel):
    """The body of `POST /v1/chat/completions`."""

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Spoken], Field(min_length=1, max_length=MOST_MESSAGES, fail_fast=True)]
    stream: StrictBool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[StrictInt | None, WithJsonSchema({"enum": [1, None]})] = None
    user: str | None = None
    metadata: dict[str, JsonValue] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[dict[str, JsonValue]], Field(max_length=MOST_SENT)] | None = None
    tool_choice: Annotated[JsonValue, WithJsonSchema(_CHOICE)] = None

    @classmethod
    def of(cls, body: JsonValue) -> Self:
        """The body, if it can be answered; `InvalidInput` says which of its fields are why not."""
        try:
            asked = cls.model_validate(body)
        except ValidationError as error:
            # One a field: a union's every branch has something to say of the same value.
            found: dict[str, str] = {}
            for fault in error.errors(include_url=False, include_input=False):
                place = [str(part) for part in fault["loc"]]
                where = ".".join(p for p in place if p != "str" and "[" not in p) or "body"
                found.setdefault(where, reason_of(fault))
            faults = [FieldProblem(field, why) for field, why in found.items()]
            said = "; ".join(f"{each.field}: {each.detail}" for each in faults[:MOST_SHOWN])
            raise InvalidInput(f"{said}.", faults) from None
        if asked.n not in {None, 1}:
            raise InvalidInput.at("n", "there is one answer to a message; leave it out")
        return asked

    @property
    def response_schema(self) -> ResponseSchema | None:
        """What the answer is to be put into; None where it is to be text.

        Raises `InvalidInput` where it is a schema that can't be used.
        """
        match self.response_format:
            case ObjectFormat():
                return ANY_OBJECT
            case SchemaFormat(json_schema=named):
                try:
                    check_plain(named.schema_)
                    return ResponseSchema.read(named.schema_)
                except ValueError as error:
                    place = "response_format.json_schema.schema"
                    raise InvalidInput.at(place, str(error)) from None
        return None

    def front_end(self, house: Iterable[str]) -> list[FrontEndTool]:
        """The functions that the client can be called for, none of them called as the `house`'s.

        Raises `InvalidInput` where one can't be used, or one has to be called: the desk decides.
        """
        if self.tool_choice not in (None, "auto", "none"):
            why = "what is called is decided here; send auto or none"
            raise InvalidInput.at("tool_choice", why)
        sent = []
        for number, each in enumerate(self.tools or ()):
            function = each.get("function")
            if each.get("type") != "function" or not isinstance(function, dict):
                why = 'it is no function; send {"type": "function", "function": {"name": …}}'
                raise InvalidInput.at(f"tools.{number}", why)
            about = (function.get(key) for key in ("name", "description", "parameters"))
            sent.append(SentTool(f"tools.{number}.function", *about))
        return [] if self.tool_choice == "none" else read(sent, house)

    @property
    def results(self) -> list[tuple[str, Spoken]]:
        """What tools found since the answer that asked for it, with the fields that say so."""
        found = []
        for place in reversed(range(len(self.messages))):
            if (spoken := self.messages[place]).role == "assistant":
                break
            if spoken.role == "tool":
                found.append((f"messages.{place}", spoken))
        return found[::-1]

    @property
    def said(self) -> Spoken:
        """The message that is to be answered."""
        return self.messages[-1]

    @property
    def where(self) -> str:
        """Its place in the body."""
        return f"messages.{len(self.messages) - 1}.content"

    @property
    def dialogue(self) -> list[SpokenLine]:
        """What both sides have said, as the client tells it; what systems said is left out."""
        return [
            SpokenLine(
                role="assistant" if spoken.role == "assistant" else "user",
                text=f"[{spoken.tool_call_id}]" if spoken.role == "tool" else spoken.words,
            )
            for spoken in self.messages
            if spoken.role in {"user", "assistant", "tool"}
        ]

    @property
    def begins(self) -> bool:
        """True where nothing was said before."""
        return len(self.dialogue) == 1

    @property
    def wants_usage(self) -> bool:
        """True where a stream is to end with what it cost."""
        return bool(self.stream_options and self.stream_options.include_usage)


def words_of(content: ChatContent) -> str:
    """The text of a message, in whichever way it was sent."""
    if not isinstance(content, list):
        return plain_lines(content or "")
    texts = (part.get("text") for part in content if part.get("type") == "text")
    return plain_lines("\n".join(text for text in texts if isinstance(text, str)))


def plain_lines(text: str) -> str:
    """The text with each line's end the same, wherever it was typed."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def check_said(asked: Completion) -> None:
    """Refuse (`InvalidInput`) a chat whose last word is neither its user's nor a tool's.

    Jobs may be anywhere.
    """
    if asked.said.role not in {"user", "tool"}:
        where = f"messages.{len(asked.messages) - 1}.role"
        what = "the last message has to be the user's, or a tool's; only that is answered"
        raise InvalidInput.at(where, what)
    for where, result in asked.results:
        if not result.tool_call_id:
            raise InvalidInput.at(f"{where}.tool_call_id", "say which call this is the result of")
    if all(spoken.role != "user" for spoken in asked.messages):
        what = "a tool's result is for what a user said; send that before it"
        raise InvalidInput.at("messages", what)


ANY_OBJECT = ResponseSchema({"type": "object"})
ROUTER = "intent-router"


def names(services: Services, person: Principal) -> Iterator[str]:
    """The models that this person may ask; skills need a language model, where there is one."""
    yield ROUTER
    if services.settings.models:
        for capability in services.offered.of(person.tenant, person.id).visible_to(person):
            if capability.kind == "skill" and capability.by_name:
                yield f"{ROUTER}/{capability.name}"


def skill_meant(model: str, services: Services, person: Principal) -> str | None:
    """The skill of this name; None for the router; `NotFound` where this person may ask none."""
    if model not in names(services, person):
        raise NotFound(f"There is no model {model[:80]!r} that you may ask; see /v1/models.")
    return model.partition("/")[2] or None


_DATA_URL = re.compile(r"data:[^,]{0,200};base64,", re.IGNORECASE)
_AS_DATA = "send it as a data: URL with base64; nothing is fetched from elsewhere"
_UNHEARD = "what is said in a recording isn't heard here; write it"


@dataclass(frozen=True)
class FileById:
    """A file that was handed in before, as it is named in the field `where`."""

    id: str
    where: str


def attached(asked: Completion) -> list[Upload | FileById]:
    """The files of the message that is to be answered; earlier messages' are passed over.

    Raises `InvalidInput` where a part can't be used, and 413 where a file is too large.
    """
    parts = asked.said.content
    found: list[Upload | FileById] = []
    for number, part in enumerate(parts if isinstance(parts, list) else []):
        if part.get("type") != "text":
            if len(found) == MOST_FILES:
                why = f"there are more than {MOST_FILES} files; send at most so many with a message"
                raise InvalidInput.at(asked.where, why)
            found.append(_file(part, f"{asked.where}.{number}"))
        elif not isinstance(part.get("text"), str):
            raise InvalidInput.at(f"{asked.where}.{number}.text", "isn't text")
    return found


def _file(part: dict[str, JsonValue], where: str) -> Upload | FileById:
    match part:
        case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
            return Upload("", _content(url, where))
        case {"type": "file", "file": {"file_data": str(data), **rest}}:
            name = str(rest.get("filename") or "")
            return Upload(name, _content(data, where, bare=True))
        case {"type": "file", "file": {"file_id": str(id_)}}:
            return FileById(id_, where)
        case {"type": "input_audio"}:
            raise InvalidInput.at(where, _UNHEARD)
    kind = str(part.get("type"))[:40]
    why = f"a part {kind!r} like this can't be read; send text, image_url or file"
    raise InvalidInput.at(where, why)


def _content(data: str, where: str, *, bare: bool = False) -> bytes:
    """What a data: URL holds, or where it may be `bare`, what is base64 without one."""
    head = _DATA_URL.match(data)
    if head is None and (not bare or ":" in data[:200]):
        raise InvalidInput.at(where, _AS_DATA)
    begins = head.end() if head else 0
    if (len(data) - begins) * 3 // 4 > MOST_BYTES + 2:
        raise HTTPException(413, f"{where}: the file is larger than {MOST_BYTES} bytes.")
    try:
        content = base64.b64decode(data[begins:], validate=True)
    except ValueError:
        raise InvalidInput.at(where, "what is sent for the file isn't base64") from None
    check_kind(content, where)
    return content
