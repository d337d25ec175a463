"""What can be asked of the API, each as an exchange that both clients drive."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import JsonValue, TypeAdapter

from router.client.exchange import Exchange, Request, Retries, answered, parsed, read
from router.client.models import (
    Approval,
    Conversation,
    ConversationState,
    Decided,
    Document,
    Explanation,
    File,
    FlowRun,
    Page,
    RunState,
)
from router.domain.locale import Locale
from router.domain.messages import Action, Turn

T = TypeVar("T")
Verdict = Literal["approve", "reject", "return", "delegate", "add"]
PAGE = 100
"""How many items a request for a list asks for."""
WAIT = 30
"""Seconds that one request waits for a turn, or for a file to be read, before it is made anew."""
RUNNING = 202


_READERS: dict[type[Any], TypeAdapter[Any]] = {}


def _type(model: type[T]) -> TypeAdapter[T]:
    if model not in _READERS:
        _READERS[model] = TypeAdapter(model)
    return _READERS[model]


def path_of(*parts: str) -> str:
    """The path that these parts make, whatever is in them.

    >>> path_of("conversations", "a/b", "messages")
    '/v1/conversations/a%2Fb/messages'
    """
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def begin(
    retries: Retries, locale: Locale | None, metadata: Mapping[str, JsonValue] | None
) -> Exchange[Conversation]:
    """A new conversation."""
    given = {"locale": locale, "metadata": metadata}
    body = {name: value for name, value in given.items() if value is not None}
    request = Request("POST", path_of("conversations"), body=body)
    return parsed(request.once(), _type(Conversation), retries)


def conversation(retries: Retries, id_: str) -> Exchange[ConversationState]:
    """How it stands."""
    request = Request("GET", path_of("conversations", id_))
    return parsed(request, _type(ConversationState), retries)


def page(retries: Retries, of: type[T], path: str, query: Mapping[str, Any]) -> Exchange[Page[T]]:
    """A page of a list."""
    request = Request("GET", path, {"limit": PAGE, **query})
    return parsed(request, _type(Page[of]), retries)  # type: ignore[valid-type]


def message(
    conversation_id: str,
    said: str | Action | None,
    files: Sequence[str | File] = (),
    message_id: str | None = None,
    **more: JsonValue,
) -> Request:
    """Words, an action, files. Its id makes that a repeat does nothing twice."""
    action = None if said is None or isinstance(said, str) else said
    given = {
        "message_id": message_id or uuid4().hex,
        "text": said if isinstance(said, str) else None,
        "action": action and action.model_dump(mode="json", exclude_none=True),
        "files": [each.id if isinstance(each, File) else each for each in files] or None,
        **more,
    }
    body = {name: value for name, value in given.items() if value is not None}
    return Request("POST", path_of("conversations", conversation_id, "messages"), body=body)


def send(retries: Retries, said: Request) -> Exchange[Turn]:
    """The turn that answers a message, however long it takes."""
    waiting = Request(said.method, said.path, {"wait": WAIT}, said.body)
    response = yield from answered(waiting, retries)
    while response.status == RUNNING:
        response = yield from answered(waiting, retries)
    return read(response, _type(Turn))


def cancel(retries: Retries, conversation_id: str) -> Exchange[None]:
    """Stop the running turn; 409 where none runs."""
    request = Request("POST", path_of("conversations", conversation_id, "cancel"), body={})
    yield from answered(request.once(), retries)


def decide(
    retries: Retries, approval: Approval, verdict: Verdict, comment: str | None, to: str | None
) -> Exchange[Decided]:
    """Decide on exactly what the approval shows; 409 where something else has come of it."""
    given = {"decision": verdict, "digest": approval.digest, "comment": comment, "to": to}
    body = {name: value for name, value in given.items() if value is not None}
    request = Request("POST", path_of("approvals", approval.id, "decision"), body=body)
    return parsed(request.once(), _type(Decided), retries)


def flow_run(retries: Retries, id_: str) -> Exchange[FlowRun]:
    """A run, with what happened to it."""
    return parsed(Request("GET", path_of("flow-runs", id_)), _type(FlowRun), retries)


def told(retries: Retries, id_: str, what: str, body: Mapping[str, Any]) -> Exchange[RunState]:
    """Say something to a run: `withdraw`, `nudge`, `amendments`, `events/{name}`."""
    path = path_of("flow-runs", id_, *what.split("/"))
    request = Request("POST", path, body={n: v for n, v in body.items() if v is not None})
    return parsed(request.once(), _type(RunState), retries)


def upload(retries: Retries, name: str, content: bytes) -> Exchange[File]:
    """Hand in a file."""
    request = Request("POST", path_of("files"), file=(name, content))
    return parsed(request.once(), _type(File), retries)


def document(retries: Retries, id_: str) -> Exchange[Document]:
    """What is read of a file, once it is."""
    request = Request("GET", path_of("files", id_, "document"), {"wait": WAIT})
    found = yield from parsed(request, _type(Document), retries)
    while found.status == "reading":
        found = yield from parsed(request, _type(Document), retries)
    return found


def explain(retries: Retries, text: str) -> Exchange[Explanation]:
    """Where a sentence would go."""
    request = Request("POST", path_of("route"), body={"text": text})
    return parsed(request, _type(Explanation), retries)
