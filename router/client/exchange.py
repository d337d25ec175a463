"""What can be asked of the API, and what to do until it is answered; nothing connects here.

An exchange is a generator. It yields a `Request` or a `Pause`, is sent the `Response` or that it
was `NoAnswer`, and returns what it came to; `Client` and `AsyncClient` drive the same ones.
"""

import random
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import JsonValue, TypeAdapter, ValidationError

from router.client.responses import (
    ApiEvent,
    ApprovalAnswer,
    ConversationAnswer,
    ConversationItem,
    DecisionResult,
    DocumentAnswer,
    File,
    FlowRunAnswer,
    ListPage,
    RouteExplanation,
    RunState,
)
from router.domain.errors import FieldProblem, RouterError, Unavailable
from router.domain.locale import Locale
from router.domain.messages import Action, Turn
from router.domain.visible_text import visible

T = TypeVar("T")

EVENTS = "text/event-stream"
AGAIN = frozenset({429, 502, 503, 504})
"""What is worth asking again: nothing was taken in, or it can't be told and the key is the same."""
MAX_PAUSE_S = 120.0
"""Seconds that a client waits because the API asks for it; longer waits are the caller's choice."""
_OBJECT: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


class Refused(RouterError):
    """The API said no; `str` says why. `retry_after` is in seconds, where the API names it."""

    def __init__(
        self,
        detail: str,
        status: int = 0,
        problems: Iterable[FieldProblem] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.problems = list(problems)
        self.retry_after = retry_after


@dataclass(frozen=True)
class Request:
    """Something to ask the API."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    file: tuple[str, bytes] | None = None
    """A name and what is in it, sent as a form's `file`."""

    @property
    def params(self) -> dict[str, Any]:
        """The query, without what isn't given."""
        return {name: value for name, value in self.query.items() if value is not None}

    def once(self) -> "Request":
        """The same under a key of its own, so that repeats of it do nothing twice."""
        return replace(self, headers={**self.headers, "Idempotency-Key": uuid4().hex})


@dataclass(frozen=True)
class Response:
    """What the API answered."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """Names in lower case."""

    @property
    def retry_after(self) -> float | None:
        """Seconds after which the API would rather be asked again."""
        said = self.headers.get("retry-after", "")
        return float(said) if said.isascii() and said.isdigit() and len(said) < 6 else None  # noqa: PLR2004


class NoAnswer(NamedTuple):
    """No answer came; `why` says what is known of that."""

    why: str


class StreamCut(Unavailable):
    """The stream ended before the answer did; what was sent is done all the same."""

    def __init__(self) -> None:
        super().__init__(
            "the connection ended before the answer did; what was sent is done all the same"
        )


class Pause(NamedTuple):
    """Wait so long, in seconds."""

    seconds: float


Exchange = Generator[Request | Pause, Response | NoAnswer | None, T]


@dataclass(frozen=True)
class Retries:
    """How often and after which pauses something is asked again.

    The pauses double from `first` seconds to `longest`, each cut by up to a half by chance, so
    that clients which failed together don't come back together.

    >>> list(Retries(4, first=1.0, longest=3.0, spread=0.0).pauses())
    [1.0, 2.0, 3.0, 3.0]
    """

    most: int = 4
    first: float = 0.5
    longest: float = 20.0
    spread: float = 0.5

    def pauses(self) -> Iterator[float]:
        """The seconds before each further try."""
        for tried in range(self.most):
            yield self.pause(tried)

    def pause(self, tried: int) -> float:
        """Seconds before the next try, after so many further ones."""
        longest = min(self.longest, self.first * 2.0 ** min(tried, 30))
        return longest * (1 - self.spread * random.random())  # noqa: S311 - no secret


def answered(request: Request, retries: Retries) -> Exchange[Response]:
    """The answer to the request; raises `Refused`, or `Unavailable` where there was none."""
    pauses = retries.pauses()
    while True:
        outcome = yield request
        assert outcome is not None, "a request is answered by a Response or NoAnswer"  # noqa: S101
        if isinstance(outcome, Response) and outcome.status not in AGAIN:
            break
        pause = next(pauses, None)
        if pause is None:
            break
        wished = outcome.retry_after if isinstance(outcome, Response) else None
        if wished is not None and wished > MAX_PAUSE_S:
            break
        yield Pause(max(pause, wished or 0.0))
    if isinstance(outcome, NoAnswer):
        raise Unavailable(outcome.why)
    if outcome.status >= 400:  # noqa: PLR2004
        raise refusal(outcome)
    return outcome


def parsed(request: Request, as_what: TypeAdapter[T], retries: Retries) -> Exchange[T]:
    """What the answer says, as a value; `Unavailable` where it isn't the API that answers."""
    response = yield from answered(request, retries)
    return read(response, as_what)


def read(response: Response, as_what: TypeAdapter[T]) -> T:
    """What the answer says; `Unavailable` where it is none of the API's."""
    try:
        return as_what.validate_json(response.content, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the body"
        raise Unavailable(
            f"what answers isn't this API, or a newer one: {where}: {first['msg']}"
        ) from None


def refusal(response: Response) -> RouterError:
    """The error that the answer is; `Unavailable` where it is none of the API's own."""
    try:
        problem = _OBJECT.validate_json(response.content)
    except ValidationError:
        return Unavailable(
            f"something that isn't this API answers {response.status}: is the address right?"
        )
    faults = [each for each in problem.get("errors") or [] if isinstance(each, dict)]
    problems = [FieldProblem(str(f.get("field")), str(f.get("detail"))) for f in faults]
    return Refused(reason(problem), response.status, problems, response.retry_after)


def reason(problem: dict[str, Any]) -> str:
    """What a problem of RFC 9457 says, with the fields at fault as far as it doesn't say so.

    >>> fault = {"field": "text", "detail": "it is empty"}
    >>> reason({"detail": "text: it is empty.", "errors": [fault]})
    'text: it is empty.'
    >>> reason({"detail": "It can't be read", "errors": [fault]})
    "It can't be read (text it is empty)"
    """
    said = visible(str(problem.get("detail") or problem.get("title") or "it refuses"))
    faults = [each for each in problem.get("errors") or [] if str(each.get("detail")) not in said]
    fields = [visible(f"{each.get('field')} {each.get('detail')}") for each in faults]
    return f"{said} ({'; '.join(fields)})" if fields else said


class EventLines:
    """Makes events of the lines of a stream; one that the connection was lost in is none."""

    def __init__(self) -> None:
        self._fields: dict[str, str] = {}

    def take(self, line: str) -> ApiEvent | None:
        """The event that the line ends, if it ends one."""
        if line:
            name, _, value = line.partition(":")
            self._fields[name] = value.removeprefix(" ")
            return None
        fields, self._fields = self._fields, {}
        if "data" not in fields:
            return None
        try:
            data = _OBJECT.validate_json(fields["data"])
        except ValidationError:
            raise Unavailable("what streams isn't this API: its data is no JSON object") from None
        return ApiEvent(name=fields.get("event", "message"), data=data, id=fields.get("id"))


class Subscription:
    """A stream of events that is taken up again where it was lost, so that none comes twice.

    The stream of a message ends with its turn; what is followed ends with whoever follows it.
    """

    def __init__(self, request: Request, retries: Retries, after: str = "") -> None:
        self._asked = request
        self._retries = retries
        self._after = after
        self._failures = 0
        self._seen: set[str] = set()
        self.over = False
        """True once the turn has come."""

    @property
    def request(self) -> Request:
        """What to ask for the events that are still to come."""
        headers = {"Accept": EVENTS}
        if self._after and self._asked.method == "GET":
            headers["Last-Event-ID"] = self._after
        return replace(self._asked, headers={**self._asked.headers, **headers})

    def taken(self, lines: Iterable[str], parser: EventLines) -> Iterator[ApiEvent]:
        """What these lines tell that wasn't told before; ends with the turn."""
        for line in lines:
            event = parser.take(line)
            news = self.heard(event) if event is not None else None
            if news is not None:
                yield news
            if self.over:
                return

    def heard(self, event: ApiEvent) -> ApiEvent | None:
        """The event, where it wasn't heard before; raises `Refused` where the turn was."""
        self._failures = 0
        if event.name == "error":
            problem = event.data
            self.over = True
            raise Refused(reason(problem), int(problem.get("status") or 0))
        if event.name == "ping":
            return None
        if event.id is not None:
            if event.id in self._seen:
                return None
            self._after = event.id
            if self._asked.method == "POST":
                self._seen.add(event.id)
        self.over = event.name == "turn" and self._asked.method == "POST"
        return event

    def pause(self, lost: RouterError) -> float:
        """Seconds before it is asked for again; raises why it was lost where that was enough."""
        if self._failures >= self._retries.most:
            raise lost
        self._failures += 1
        wished = lost.retry_after if isinstance(lost, Refused) else None
        if wished is not None and wished > MAX_PAUSE_S:
            raise lost
        return max(self._retries.pause(self._failures - 1), wished or 0.0)


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

    Raises `Refused` for an id that would make another path of it: an empty one, `.` or `..`.
    """
    if wrong := [part for part in parts if part in {"", ".", ".."}]:
        raise Refused(f"{wrong[0]!r} is no id; give the one that the API named", 404)
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


def begin(
    retries: Retries, locale: Locale | None, metadata: Mapping[str, JsonValue] | None
) -> Exchange[ConversationItem]:
    """A new conversation."""
    given = {"locale": locale, "metadata": metadata}
    body = {name: value for name, value in given.items() if value is not None}
    request = Request("POST", path_of("conversations"), body=body)
    return parsed(request.once(), _type(ConversationItem), retries)


def conversation(retries: Retries, id_: str) -> Exchange[ConversationAnswer]:
    """How it stands."""
    request = Request("GET", path_of("conversations", id_))
    return parsed(request, _type(ConversationAnswer), retries)


def page(
    retries: Retries, of: type[T], path: str, query: Mapping[str, Any]
) -> Exchange[ListPage[T]]:
    """A page of a list."""
    request = Request("GET", path, {"limit": PAGE, **query})
    return parsed(request, _type(ListPage[of]), retries)  # type: ignore[valid-type]


def check_progress(after: str | None, following: str | None) -> None:
    """Raise `Unavailable` if a list leads from a page to the same page again, without end."""
    if following is not None and following == after:
        raise Unavailable(f"the list comes back to {visible(following)[:80]!r} without end")


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


def forget(retries: Retries, conversation_id: str) -> Exchange[None]:
    """Have a conversation forgotten."""
    yield from answered(Request("DELETE", path_of("conversations", conversation_id)), retries)


def cancel(retries: Retries, conversation_id: str) -> Exchange[None]:
    """Stop the running turn; 409 where none runs."""
    request = Request("POST", path_of("conversations", conversation_id, "cancel"), body={})
    yield from answered(request.once(), retries)


def decide(
    retries: Retries,
    approval: ApprovalAnswer,
    verdict: Verdict,
    comment: str | None,
    to: str | None,
) -> Exchange[DecisionResult]:
    """Decide on exactly what the approval shows; 409 where something else has come of it."""
    given = {"decision": verdict, "digest": approval.digest, "comment": comment, "to": to}
    body = {name: value for name, value in given.items() if value is not None}
    request = Request("POST", path_of("approvals", approval.id, "decision"), body=body)
    return parsed(request.once(), _type(DecisionResult), retries)


def flow_run(retries: Retries, id_: str) -> Exchange[FlowRunAnswer]:
    """A run, with what happened to it."""
    return parsed(Request("GET", path_of("flow-runs", id_)), _type(FlowRunAnswer), retries)


def told(retries: Retries, id_: str, *what: str, body: Mapping[str, Any]) -> Exchange[RunState]:
    """Say something to a run: `withdraw`, `nudge`, `amendments`, or `events` and a name."""
    path = path_of("flow-runs", id_, *what)
    request = Request("POST", path, body={n: v for n, v in body.items() if v is not None})
    return parsed(request.once(), _type(RunState), retries)


def upload(retries: Retries, name: str, content: bytes) -> Exchange[File]:
    """Hand in a file."""
    request = Request("POST", path_of("files"), file=(name, content))
    return parsed(request.once(), _type(File), retries)


def document(retries: Retries, id_: str) -> Exchange[DocumentAnswer]:
    """What is read of a file, once it is."""
    request = Request("GET", path_of("files", id_, "document"), {"wait": WAIT})
    found = yield from parsed(request, _type(DocumentAnswer), retries)
    while found.status == "reading":
        found = yield from parsed(request, _type(DocumentAnswer), retries)
    return found


def explain(retries: Retries, text: str) -> Exchange[RouteExplanation]:
    """Where a sentence would go."""
    request = Request("POST", path_of("route"), body={"text": text})
    return parsed(request, _type(RouteExplanation), retries)
