"""The two clients: what is asked and made of the answers is the same, only the waiting differs."""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import httpx2
from pydantic import JsonValue

from router.client import exchange as ops
from router.client.exchange import (
    AGAIN,
    EventLines,
    Exchange,
    NoAnswer,
    Pause,
    Request,
    Response,
    Retries,
    StreamCut,
    Subscription,
    refusal,
)
from router.client.responses import (
    ApiEvent,
    ApprovalAnswer,
    CapabilityAnswer,
    ConversationAnswer,
    ConversationItem,
    DecisionResult,
    DocumentAnswer,
    File,
    FlowRunAnswer,
    RouteExplanation,
    RunState,
    TranscriptLine,
)
from router.domain.errors import MisconfiguredError, RouterError, Unavailable
from router.domain.locale import Locale
from router.domain.loopback import may_be_proxied
from router.domain.messages import Action, FlowStatus, Turn

T = TypeVar("T")
Http = TypeVar("Http", httpx2.Client, httpx2.AsyncClient)
SECONDS = 90.0
"""How long an answer is waited for, or the next of a stream's events; pings come oftener."""
CONNECTED_WITHIN = 5.0
PATIENT = Retries()


class _Connection(Generic[Http]):
    """One person's connection, and what both kinds of client make of it."""

    def __init__(self, http: Http, url: str, retries: Retries) -> None:
        self._http: Http = http
        self._url = url
        self._retries = retries

    def _built(self, request: Request) -> httpx2.Request:
        return self._http.build_request(
            request.method,
            request.path,
            params=request.params,
            json=request.body,
            files=None if request.file is None else {"file": request.file},
            headers=dict(request.headers),
        )

    def _no_answer(self, error: Exception) -> NoAnswer:
        if isinstance(error, httpx2.ReadTimeout):
            return NoAnswer(f"the API at {self._url} doesn't answer in time: ask again")
        return NoAnswer(f"no API answers at {self._url}: is it running, and the address right?")


def _options(url: str, token: str) -> dict[str, Any]:
    if not (token and token.isascii() and token.isprintable()):
        raise MisconfiguredError("the token is no bearer token: it is made of visible ASCII")
    try:
        named = httpx2.URL(url)
    except httpx2.InvalidURL:
        named = httpx2.URL("")
    if named.scheme not in {"http", "https"} or not named.host:
        raise MisconfiguredError(f"{url!r} is no address: write http://127.0.0.1:8000")
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {token}"},
        "timeout": httpx2.Timeout(SECONDS, connect=CONNECTED_WITHIN),
        "trust_env": may_be_proxied(url),
    }


def _proxy_problem(url: str, error: Exception) -> MisconfiguredError:
    return MisconfiguredError(
        f"the API at {url} can't be reached through the proxy that the environment names in "
        f"HTTP_PROXY, HTTPS_PROXY or ALL_PROXY: {str(error).partition('. ')[0]}; name one that "
        "begins with http://, or unset it"
    )


def _response(answer: httpx2.Response) -> Response:
    return Response(answer.status_code, answer.content, dict(answer.headers))


def _not_begun(status: int, content: bytes, headers: Mapping[str, str]) -> RouterError:
    """Why a stream was refused that may be asked for again; raises where it may not."""
    refused = refusal(Response(status, content, headers))
    if status not in AGAIN:
        raise refused
    return refused


class Client(_Connection[httpx2.Client]):
    """A person at the API, one call after another; `with` closes its connections.

    `token` is theirs: a user id of the directory where `ROUTER_AUTH=dev`. All raise `Refused` and
    `Unavailable`. Not for several threads at once.
    """

    def __init__(self, url: str, token: str, *, retries: Retries = PATIENT) -> None:
        try:
            http = httpx2.Client(**_options(url, token))
        except (ImportError, ValueError) as error:
            raise _proxy_problem(url, error) from None
        super().__init__(http, url, retries)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def begin(
        self, *, locale: Locale | None = None, metadata: Mapping[str, JsonValue] | None = None
    ) -> ConversationItem:
        """Begin a new conversation."""
        return self._run(ops.begin(self._retries, locale, metadata))

    def conversation(self, id_: str) -> ConversationAnswer:
        """Get how a conversation of one's own stands."""
        return self._run(ops.conversation(self._retries, id_))

    def conversations(self) -> Iterator[ConversationItem]:
        """Go through one's own conversations, newest first."""
        return self._listed(ConversationItem, ops.path_of("conversations"), {})

    def transcript(
        self, conversation: str, *, after: str | None = None
    ) -> Iterator[TranscriptLine]:
        """Go through what was said, oldest first, from behind the item `after`."""
        path = ops.path_of("conversations", conversation, "messages")
        return self._listed(TranscriptLine, path, {}, after)

    def send(
        self,
        conversation: str,
        said: str | Action | None = None,
        *,
        files: Sequence[str | File] = (),
        message_id: str | None = None,
        **more: JsonValue,
    ) -> Turn:
        """Say or do something, and get the turn that answers it, however long it takes.

        `said` is words, or an action (`router.domain.messages`) that answers a reply; `files` are
        ids or what `upload` gave. The same `message_id` with the same words gets the same turn.
        `more` are further fields of the message, as `on_busy="reject"`.
        """
        message = ops.message(conversation, said, files, message_id, **more)
        return self._run(ops.send(self._retries, message))

    def stream(
        self,
        conversation: str,
        said: str | Action | None = None,
        *,
        files: Sequence[str | File] = (),
        message_id: str | None = None,
        **more: JsonValue,
    ) -> Iterator[ApiEvent]:
        """Say or do something, and get what happens in its turn as it happens; last `turn`.

        Where the connection is lost it is taken up again, and nothing is done twice.
        """
        message = ops.message(conversation, said, files, message_id, **more)
        return self._events(Subscription(message, self._retries))

    def follow(self, conversation: str | None = None, *, after: str = "") -> Iterator[ApiEvent]:
        """Follow a conversation, or all that happens to oneself, from now on or behind `after`.

        Nothing is missed and nothing comes twice where the connection is lost; it never ends. The
        `after` of `"0"` begins with the first of it.
        """
        where = ("events",) if conversation is None else ("conversations", conversation, "events")
        followed = Request("GET", ops.path_of(*where))
        return self._events(Subscription(followed, self._retries, after))

    def forget(self, conversation: str) -> None:
        """Have a conversation of one's own forgotten for good; its requests stay."""
        self._run(ops.forget(self._retries, conversation))

    def cancel(self, conversation: str) -> None:
        """Stop the turn that runs; `Refused` with status 409 where none does."""
        self._run(ops.cancel(self._retries, conversation))

    def approvals(self, *, decided: bool = False) -> Iterator[ApprovalAnswer]:
        """Go through what waits for one's decision, or what was decided."""
        return self._listed(ApprovalAnswer, ops.path_of("approvals"), {"decided": decided or None})

    def decide(
        self,
        approval: ApprovalAnswer,
        verdict: ops.Verdict,
        *,
        comment: str | None = None,
        to: str | None = None,
    ) -> DecisionResult:
        """Decide on exactly what the approval shows; `Refused` (409) where that has changed.

        `to` is whom to ask instead (`delegate`) or as well (`add`).
        """
        return self._run(ops.decide(self._retries, approval, verdict, comment, to))

    def flow_runs(
        self, *, status: FlowStatus | None = None, flow: str | None = None
    ) -> Iterator[FlowRunAnswer]:
        """Go through one's own requests, newest first."""
        query = {"status": status, "flow": flow}
        return self._listed(FlowRunAnswer, ops.path_of("flow-runs"), query)

    def flow_run(self, id_: str) -> FlowRunAnswer:
        """Get a request, with everything that happened to it."""
        return self._run(ops.flow_run(self._retries, id_))

    def withdraw(self, run: str, *, comment: str | None = None) -> RunState:
        """Take a request back; what it did is undone."""
        return self._run(ops.told(self._retries, run, "withdraw", body={"comment": comment}))

    def amend(self, run: str, slots: Mapping[str, JsonValue]) -> RunState:
        """Change a request that waits for approval: its approvers decide anew."""
        return self._run(ops.told(self._retries, run, "amendments", body={"slots": dict(slots)}))

    def nudge(self, run: str) -> RunState:
        """Remind those whose decision a request waits for; once an hour at most."""
        return self._run(ops.told(self._retries, run, "nudge", body={}))

    def happen(self, run: str, name: str, data: Mapping[str, JsonValue]) -> RunState:
        """Tell a run that something happened outside, which its flow waits for."""
        return self._run(ops.told(self._retries, run, "events", name, body=data))

    def upload(self, file: Path | str, content: bytes | None = None) -> File:
        """Hand in a file: what is at this path, or `content` under its name."""
        path = Path(file)
        if content is None:
            content = path.read_bytes()
        return self._run(ops.upload(self._retries, path.name, content))

    def document(self, file: str) -> DocumentAnswer:
        """Get what is read of a file, once that is done."""
        return self._run(ops.document(self._retries, file))

    def capabilities(self) -> Iterator[CapabilityAnswer]:
        """Go through the flows, skills and tools that one may use."""
        return self._listed(CapabilityAnswer, ops.path_of("capabilities"), {"limit": None})

    def explain(self, text: str) -> RouteExplanation:
        """Get where a sentence would go and why, without anything being done."""
        return self._run(ops.explain(self._retries, text))

    def _run(self, exchange: Exchange[T]) -> T:
        outcome: Response | NoAnswer | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                came_to: T = end.value
                return came_to
            outcome = self._taken(step)

    def _taken(self, step: Request | Pause) -> Response | NoAnswer | None:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return _response(self._http.send(self._built(step)))
        except httpx2.HTTPError as error:
            return self._no_answer(error)

    def _listed(
        self, of: type[T], path: str, query: Mapping[str, Any], after: str | None = None
    ) -> Iterator[T]:
        more = True
        while more:
            page = self._run(ops.page(self._retries, of, path, {**query, "after": after}))
            yield from page.items
            ops.check_progress(after, page.next)
            after, more = page.next, page.next is not None

    def _events(self, heard: Subscription) -> Iterator[ApiEvent]:
        while not heard.over:
            lost: RouterError = StreamCut()
            try:
                answer = self._http.send(self._built(heard.request), stream=True)
                with closing(answer):
                    if answer.is_error:
                        lost = _not_begun(answer.status_code, answer.read(), answer.headers)
                    else:
                        yield from heard.taken(answer.iter_lines(), EventLines())
            except httpx2.HTTPError as error:
                lost = Unavailable(self._no_answer(error).why)
            if not heard.over:
                time.sleep(heard.pause(lost))


class AsyncClient(_Connection[httpx2.AsyncClient]):
    """`Client` for asyncio: the same calls, awaited, or gone through with `async for`."""

    def __init__(self, url: str, token: str, *, retries: Retries = PATIENT) -> None:
        try:
            http = httpx2.AsyncClient(**_options(url, token))
        except (ImportError, ValueError) as error:
            raise _proxy_problem(url, error) from None
        super().__init__(http, url, retries)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def begin(
        self, *, locale: Locale | None = None, metadata: Mapping[str, JsonValue] | None = None
    ) -> ConversationItem:
        """Do what `Client.begin` does."""
        return await self._run(ops.begin(self._retries, locale, metadata))

    async def conversation(self, id_: str) -> ConversationAnswer:
        """Do what `Client.conversation` does."""
        return await self._run(ops.conversation(self._retries, id_))

    def conversations(self) -> AsyncGenerator[ConversationItem]:
        """Do what `Client.conversations` does."""
        return self._listed(ConversationItem, ops.path_of("conversations"), {})

    def transcript(
        self, conversation: str, *, after: str | None = None
    ) -> AsyncGenerator[TranscriptLine]:
        """Do what `Client.transcript` does."""
        path = ops.path_of("conversations", conversation, "messages")
        return self._listed(TranscriptLine, path, {}, after)

    async def send(
        self,
        conversation: str,
        said: str | Action | None = None,
        *,
        files: Sequence[str | File] = (),
        message_id: str | None = None,
        **more: JsonValue,
    ) -> Turn:
        """Do what `Client.send` does."""
        message = ops.message(conversation, said, files, message_id, **more)
        return await self._run(ops.send(self._retries, message))

    def stream(
        self,
        conversation: str,
        said: str | Action | None = None,
        *,
        files: Sequence[str | File] = (),
        message_id: str | None = None,
        **more: JsonValue,
    ) -> AsyncGenerator[ApiEvent]:
        """Do what `Client.stream` does."""
        message = ops.message(conversation, said, files, message_id, **more)
        return self._events(Subscription(message, self._retries))

    def follow(
        self, conversation: str | None = None, *, after: str = ""
    ) -> AsyncGenerator[ApiEvent]:
        """Do what `Client.follow` does."""
        where = ("events",) if conversation is None else ("conversations", conversation, "events")
        followed = Request("GET", ops.path_of(*where))
        return self._events(Subscription(followed, self._retries, after))

    async def forget(self, conversation: str) -> None:
        """Do what `Client.forget` does."""
        await self._run(ops.forget(self._retries, conversation))

    async def cancel(self, conversation: str) -> None:
        """Do what `Client.cancel` does."""
        await self._run(ops.cancel(self._retries, conversation))

    def approvals(self, *, decided: bool = False) -> AsyncGenerator[ApprovalAnswer]:
        """Do what `Client.approvals` does."""
        return self._listed(ApprovalAnswer, ops.path_of("approvals"), {"decided": decided or None})

    async def decide(
        self,
        approval: ApprovalAnswer,
        verdict: ops.Verdict,
        *,
        comment: str | None = None,
        to: str | None = None,
    ) -> DecisionResult:
        """Do what `Client.decide` does."""
        return await self._run(ops.decide(self._retries, approval, verdict, comment, to))

    def flow_runs(
        self, *, status: FlowStatus | None = None, flow: str | None = None
    ) -> AsyncGenerator[FlowRunAnswer]:
        """Do what `Client.flow_runs` does."""
        query = {"status": status, "flow": flow}
        return self._listed(FlowRunAnswer, ops.path_of("flow-runs"), query)

    async def flow_run(self, id_: str) -> FlowRunAnswer:
        """Do what `Client.flow_run` does."""
        return await self._run(ops.flow_run(self._retries, id_))

    async def withdraw(self, run: str, *, comment: str | None = None) -> RunState:
        """Do what `Client.withdraw` does."""
        return await self._run(ops.told(self._retries, run, "withdraw", body={"comment": comment}))

    async def amend(self, run: str, slots: Mapping[str, JsonValue]) -> RunState:
        """Do what `Client.amend` does."""
        body = {"slots": dict(slots)}
        return await self._run(ops.told(self._retries, run, "amendments", body=body))

    async def nudge(self, run: str) -> RunState:
        """Do what `Client.nudge` does."""
        return await self._run(ops.told(self._retries, run, "nudge", body={}))

    async def happen(self, run: str, name: str, data: Mapping[str, JsonValue]) -> RunState:
        """Do what `Client.happen` does."""
        return await self._run(ops.told(self._retries, run, "events", name, body=data))

    async def upload(self, file: Path | str, content: bytes | None = None) -> File:
        """Do what `Client.upload` does."""
        path = Path(file)
        if content is None:
            content = await asyncio.to_thread(path.read_bytes)
        return await self._run(ops.upload(self._retries, path.name, content))

    async def document(self, file: str) -> DocumentAnswer:
        """Do what `Client.document` does."""
        return await self._run(ops.document(self._retries, file))

    def capabilities(self) -> AsyncGenerator[CapabilityAnswer]:
        """Do what `Client.capabilities` does."""
        return self._listed(CapabilityAnswer, ops.path_of("capabilities"), {"limit": None})

    async def explain(self, text: str) -> RouteExplanation:
        """Do what `Client.explain` does."""
        return await self._run(ops.explain(self._retries, text))

    async def _run(self, exchange: Exchange[T]) -> T:
        outcome: Response | NoAnswer | None = None
        while True:
            try:
                step = exchange.send(outcome)
            except StopIteration as end:
                came_to: T = end.value
                return came_to
            outcome = await self._taken(step)

    async def _taken(self, step: Request | Pause) -> Response | NoAnswer | None:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return _response(await self._http.send(self._built(step)))
        except httpx2.HTTPError as error:
            return self._no_answer(error)

    async def _listed(
        self, of: type[T], path: str, query: Mapping[str, Any], after: str | None = None
    ) -> AsyncGenerator[T]:
        more = True
        while more:
            page = await self._run(ops.page(self._retries, of, path, {**query, "after": after}))
            for item in page.items:
                yield item
            ops.check_progress(after, page.next)
            after, more = page.next, page.next is not None

    async def _events(self, heard: Subscription) -> AsyncGenerator[ApiEvent]:
        while not heard.over:
            lost: RouterError = StreamCut()
            try:
                answer = await self._http.send(self._built(heard.request), stream=True)
                async with aclosing(answer):
                    if answer.is_error:
                        content = await answer.aread()
                        lost = _not_begun(answer.status_code, content, answer.headers)
                    else:
                        lines = EventLines()
                        async for line in answer.aiter_lines():
                            for event in heard.taken([line], lines):
                                yield event
            except httpx2.HTTPError as error:
                lost = Unavailable(self._no_answer(error).why)
            if not heard.over:
                await asyncio.sleep(heard.pause(lost))
