"""Answers of models, kept as they come: what was asked once isn't asked again.

So a run that was cut goes on from where it was, and a decision is replayed with other checks on
the very same answers.
"""

import asyncio
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from time import monotonic
from uuid import uuid4

from pydantic import JsonValue

from router.domain.messages import ValueObject
from router.flow.slot_types.slot import Slot
from router.llm.client import ChatModel
from router.llm.prices import ModelPrice
from router.llm.request import estimated_prompt_tokens, estimated_tokens
from router.llm.servers import Feature, RefusedFeatures, ServerMemory
from router.llm.types import (
    ChatAnswer,
    ChatRequest,
    Function,
    FunctionCall,
    How,
    ModelRefused,
    OnText,
    TokenUsage,
)
from router.routing import offer as offered
from tests.llm.labels import Labelled
from tests.llm.local_model import LocalModel

PATIENCE = 300.0
"""Seconds for an answer here, where accuracy is asked for; seconds are reported beside it."""

REFUSING: dict[How, frozenset[Feature]] = {
    "functions": frozenset(),
    "json_schema": frozenset({"tools"}),
}
"""What a server is taken to refuse, so that it is asked in a certain way."""


class Kept(ValueObject):
    """One answer, or why there was none."""

    key: str
    answer: ChatAnswer | None = None
    refusal: str = ""
    seconds: float
    cold: bool
    """True where the server had read nothing of the like before."""


class Journal:
    """The answers of a file; each is written when it comes. What was cut in writing is left out."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, Kept] = {}
        for line in path.read_text("utf-8").splitlines() if path.exists() else ():
            try:
                kept = Kept.model_validate_json(line)
            except ValueError:
                continue
            self._kept[kept.key] = kept

    def find(self, key: str) -> Kept | None:
        """What was answered."""
        return self._kept.get(key)

    def keep(self, kept: Kept) -> Kept:
        """Have it at hand from now on."""
        self._kept[kept.key] = kept
        with self._path.open("a", encoding="utf-8") as file:
            # A line that a cut left unfinished ends here, and spoils no other.
            file.write(f"\n{kept.model_dump_json()}" if file.tell() else kept.model_dump_json())
        return kept


class Fixed(ServerMemory):
    """Learns nothing: every question is asked in the one way that is measured."""

    def __init__(self, refused: RefusedFeatures) -> None:
        super().__init__()
        self._fixed = refused

    def refused(self, endpoint: str) -> RefusedFeatures:
        return self._fixed


@dataclass
class Recorded:
    """A local model, asked in one way: only for what isn't in the journal, and served only then."""

    server: LocalModel
    how: How
    journal: Journal
    answers: list[Kept] = field(default_factory=list)
    """Those of the request that is under way."""
    prefixes: set[str] = field(default_factory=set)
    """Of what the server has read since it was started."""

    @property
    def endpoint(self) -> str:
        return f"{self.server.name} by {self.how}"

    @property
    def name(self) -> str:
        return self.server.name

    @property
    def price(self) -> ModelPrice | None:
        return None

    @property
    def may_see(self) -> bool:
        return False

    async def answer(
        self, request: ChatRequest, seconds: float = PATIENCE, on_text: OnText | None = None
    ) -> ChatAnswer:
        """What was answered before, else what is now, however long that takes."""
        asked = f"{self.endpoint}\n{request.model_dump_json()}"
        key = sha256(asked.encode()).hexdigest()
        kept = self.journal.find(key) or await self._asked(key, request)
        self.answers.append(kept)
        if kept.answer is None:
            raise ModelRefused(kept.refusal)
        return kept.answer

    async def _asked(self, key: str, request: ChatRequest) -> Kept:
        if not self.server.is_running:
            await asyncio.to_thread(self.server.start)
            self.prefixes.clear()
        prefix, began = request.messages[0].text, monotonic()
        cold = prefix not in self.prefixes
        self.prefixes.add(prefix)
        model = ChatModel(self.server.url, self.server.name, memory=Fixed(REFUSING[self.how]))
        try:
            answer = await model.answer(request, PATIENCE)
        except ModelRefused as error:
            seconds = monotonic() - began
            return self.journal.keep(Kept(key=key, refusal=str(error), seconds=seconds, cold=cold))
        finally:
            await model.aclose()
        return self.journal.keep(
            Kept(key=key, answer=answer, seconds=monotonic() - began, cold=cold)
        )

    async def aclose(self) -> None:
        """Nothing is held between questions."""


Call = tuple[str, dict[str, JsonValue]]


@dataclass
class AlwaysRight:
    """A model that answers what the label says; what it isn't offered it looks for, once.

    Its tokens are those that a hosted model of any make would about be asked to read.
    """

    titles: Callable[[str], str]
    slots: Callable[[str], Mapping[str, Slot]]
    """Of a flow or form; nothing where it is none."""
    skills: Collection[str]
    label: Labelled | None = None
    answers: list[Kept] = field(default_factory=list)
    endpoint: str = "always right"
    name: str = "always right"
    price: ModelPrice | None = None
    may_see: bool = False

    async def answer(
        self, request: ChatRequest, seconds: float = PATIENCE, on_text: OnText | None = None
    ) -> ChatAnswer:
        """The calls of the first label that is on offer."""
        assert self.label is not None
        calls = [
            FunctionCall(id=uuid4().hex[:8], name=name, arguments=arguments)
            for name, arguments in self._calls(self.label, request)
        ]
        written = json.dumps([call.model_dump() for call in calls], ensure_ascii=False)
        usage = TokenUsage(
            prompt_tokens=estimated_prompt_tokens(request.messages, request.functions),
            completion_tokens=estimated_tokens(written),
            estimated=True,
        )
        answer = ChatAnswer(
            text="",
            calls=tuple(calls),
            finish="calls",
            usage=usage,
            model=self.endpoint,
            how="functions",
            prompt=request.prompt,
        )
        self.answers.append(Kept(key="", answer=answer, seconds=0.0, cold=False))
        return answer

    async def aclose(self) -> None:
        """There is nothing to close."""

    def _calls(self, label: Labelled, request: ChatRequest) -> list[Call]:
        there = _offered(request)
        chosen = next((one for one in label.labels if set(one) <= there), None)
        if chosen is not None:
            tools = {one.name: one for one in request.functions}
            return [self._call(label, name, tools.get(name)) for name in chosen]
        if offered.FIND in there:
            return [(offered.FIND, {"query": " ".join(map(self.titles, label.labels[0]))})]
        return [(offered.HAND_OFF, {"reason": label.text})]

    def _call(self, label: Labelled, name: str, tool: Function | None) -> Call:
        values, ours = _nested(label), "好的。" if label.lang == "zh" else "Sure."
        plain: dict[str, Call] = {
            "reply": (offered.RESPOND, {"text": ours}),
            "clarify": (offered.CLARIFY, {"text": label.text, "options": []}),
            "handoff": (offered.HAND_OFF, {"reason": label.text}),
            "cancel": (offered.CANCEL, {}),
            "fill": (offered.FILL, {"slots": values}),
        }
        if name in plain:
            return plain[name]
        if name in self.skills:
            return offered.SKILL, {"skill_name": name, "request": label.text}
        if tool is not None:
            properties = tool.parameters.get("properties", {})
            return name, {key: value for key, value in values.items() if key in properties}
        slots = self.slots(name)
        mine: JsonValue = {key: value for key, value in values.items() if key in slots}
        return offered.FLOW, {"flow_name": name, "slots": mine}


_LABELLED = {offered.FILL: "fill", offered.CANCEL: "cancel"}


def _offered(request: ChatRequest) -> set[str]:
    """What a label can name of what the request offers."""
    names = {"reply", "clarify", "handoff"}
    for function in request.functions:
        names.add(
            {offered.FILL: "fill", offered.CANCEL: "cancel"}.get(function.name, function.name)
        )
        properties = function.parameters.get("properties", {})
        for key in ("flow_name", "skill_name"):
            names |= set(properties.get(key, {}).get("enum", ()))
    return names


def _nested(label: Labelled) -> dict[str, JsonValue]:
    """The label's values as a model gives them; its own words for what may be anything."""
    nested: dict[str, JsonValue] = {}
    for path, value in label.values.items():
        wanted = label.text if value is None else value
        for one in path.split("|"):
            first = str(wanted).partition("|")[0] if one.endswith("~") else wanted
            _put(nested, one.removesuffix("~").split("."), first)
    return nested


def _put(into: dict[str, JsonValue], path: Sequence[str], value: JsonValue) -> None:
    """Set the value at a path, with the lists and objects that it takes on the way."""
    first, *rest = path
    if not rest:
        into[first] = value
        return
    if rest[0].isdecimal():
        items = into.setdefault(first, [])
        assert isinstance(items, list)
        while len(items) <= int(rest[0]):
            items.append({})
        item = items[int(rest[0])]
        assert isinstance(item, dict)
        _put(item, rest[1:], value)
        return
    within = into.setdefault(first, {})
    assert isinstance(within, dict)
    _put(within, rest, value)
