"""What routes are given: the services they use, the caller, and the parts all requests share."""

from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ParamSpec, Protocol, Self, TypeVar, cast

from fastapi import Depends, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, JsonValue
from temporalio.client import Client

from activities.capabilities import Capabilities
from activities.look_up import weekdays_from
from router.api.audit import Arrivals, AuditWriter, request_id_of, sender_of
from router.api.auth import CallerSession, Tokens
from router.api.events import Hub
from router.api.explanation import Reads
from router.api.intake import Intake, IntakeLimits
from router.api.isolated_work import IsolatedWork, run_while_client_stays
from router.api.limits import Backlog, RateLimits, TurnLimits
from router.api.turns import Turns
from router.contracts.start_options import Fairness
from router.directory.persona import Persona
from router.directory.tenants import LiveTenants
from router.domain.bounded_cache import BoundedCache
from router.domain.configuration_documents import DocumentKind, Examined
from router.domain.errors import Forbidden, NotFound, Unauthenticated
from router.domain.hand_offs import HandOffDesk
from router.domain.locale import LOCALES, Localised
from router.domain.principals import SERVICE_ROLE, Capability, PeopleDirectory, Principal
from router.domain.records import ConversationRecord
from router.flow.definition import FlowDefinition
from router.flow.loader import Vocabulary
from router.gateway.failing_workflows import FailingWorkflowMonitor
from router.llm.fallback import FallbackChains
from router.retrieval.index import CapabilityIndex
from router.routing.prompts import Prompts
from router.settings import Settings
from router.store.conversations import Conversations
from router.store.store import Store
from router.webhook.webhook_files import OtherSystems

MAX_REMEMBERED_CONVERSATIONS = 10_000
CONVERSATION_TTL_S = 60.0
"""After it one that another process has erased, or that has expired, is no longer there."""

P = ParamSpec("P")
T = TypeVar("T")


class Ownership:
    """Conversations by owner, with those used last in memory: their rows never change.

    They may be erased; other processes learn of that within `CONVERSATION_TTL_S`.
    """

    def __init__(
        self, conversations: Conversations, max_remembered: int = MAX_REMEMBERED_CONVERSATIONS
    ) -> None:
        self._conversations = conversations
        self._recent = BoundedCache[tuple[str, str], ConversationRecord](max_remembered)

    async def owned(self, caller: Principal, conversation: str) -> ConversationRecord:
        """The caller's conversation with this id; `NotFound` where there is none, or another's."""
        key = (caller.tenant, conversation)
        if (record := self._recent.get(key)) is None:
            record = await self._conversations.find(*key)
            if record is not None:
                self._recent.put(key, record, CONVERSATION_TTL_S)
        if record is None or record.owner != caller.id:
            raise NotFound("There is no such conversation.")
        return record

    def forget(self, tenant: str, conversation: str) -> None:
        """Drop a conversation that is erased: the next request for it asks the database."""
        self._recent.discard((tenant, conversation))


OPERATOR = "operator"
AUTHOR = "author"
"""The role that writes versions of its tenant's configuration, which an operator lets hold."""
AUDITOR = "auditor"
"""The role that reads the audit trail, and may do nothing else by it."""


class Offers(Protocol):
    """What can be done here."""

    def of(self, tenant: str, person: str | None = None) -> "Offers":
        """What the tenant has."""

    def visible_to(self, person: Principal) -> Sequence[Capability]:
        """What this person may use, and nothing else: flows, then skills, then tools."""

    def choosable_by(self, person: Principal) -> Sequence[Capability]:
        """The same, less what people call by name alone."""

    def startable(self, name: str, person: Principal) -> FlowDefinition | None:
        """The flow of this name, or the form of the tool; None where they may use neither."""

    def definition(self, name: str) -> FlowDefinition | None:
        """The flow of this name, or the form of the tool, whoever may start it."""

    def result_problems(self, name: str, result: JsonValue) -> list[str]:
        """What is wrong with a front end's result of the tool of this name, as `field: what`."""

    def title_of(self, tool: str) -> Localised | None:
        """What the tool of this name is called by people; None where there is none."""

    @property
    def names(self) -> frozenset[str]:
        """What all flows, skills and tools are called, whoever may use them."""

    def look_ups(self) -> frozenset[str]:
        """The flows whose runs are nobody's requests: they look something up, or remind of one."""


class DocumentChecks(Protocol):
    """What knows whether a document fits, and has it taken up here."""

    @property
    def offered(self) -> Capabilities:
        """What every tenant has, with its documents."""

    @property
    def tenants(self) -> LiveTenants:
        """What each tenant may have."""

    def vocabulary(self, tenant: str) -> Vocabulary:
        """What the tenant's flows may name that stands elsewhere."""

    @property
    def installed_kinds(self) -> Collection[DocumentKind]:
        """The kinds of documents that installed extensions add, loaded or not."""

    @property
    def unfit(self) -> Mapping[str, str]:
        """By tenant, what keeps its documents from being taken up."""

    async def examine(
        self, tenant: str, kind: DocumentKind, name: str, text: str | None
    ) -> Examined:
        """Whether it may be this, None: taken out of use; `DefinitionError` with every problem."""

    async def refresh(self) -> bool:
        """Take up what was activated; True where something was."""


@dataclass(frozen=True)
class Services:
    """Everything that the API is made of; the composition root fills it in."""

    settings: Settings
    temporal: Client
    store: Store
    directory: PeopleDirectory
    offered: Offers
    reader: Reads
    index: CapabilityIndex
    prompts: Prompts
    configuration: DocumentChecks
    """What holds documents of configuration to what there is."""
    page_token: str | None = None
    """What a browser has to show once, under `dev`; None: nothing."""
    currency: str = "USD"
    """That of the prices of models."""
    chains: FallbackChains = field(default_factory=FallbackChains)
    """The models that this process asks; none by default."""

    working_from: Callable[[Principal, datetime], Awaitable[datetime]] = weekdays_from
    """The first moment from one on at which a person works, by their house's calendar."""

    systems: OtherSystems = field(default_factory=OtherSystems)
    """Those that are told what happens, or may tell runs what happened."""
    persona_of: Callable[[str], Persona | None] = lambda _: None
    """Who the desk is to people of a tenant; None where nobody has said."""
    isolated_work: IsolatedWork = field(default_factory=IsolatedWork)
    """Runs what is done with people's texts in child processes."""
    hand_off_desk: Callable[[str], HandOffDesk | None] = lambda _: None
    """Who takes what is handed to people, by tenant; None where nobody does."""

    @property
    def fairness(self) -> Fairness:
        """Whose share of the workers what is begun here takes."""
        return Fairness(self.settings.fair_to, self.settings.tenant_weights)


@dataclass(frozen=True)
class AppState:
    """What the application keeps between requests."""

    services: Services
    tokens: Tokens
    turns: Turns
    ownership: Ownership
    hub: Hub
    rates: RateLimits
    arrivals: Arrivals
    failing_workflows: FailingWorkflowMonitor
    of_extensions: dict[str, object] = field(default_factory=dict)
    """What extensions share among their requests, by the name of each: set by `api_part`."""

    @classmethod
    def beginning(cls, services: Services) -> Self:
        """The state of an application that begins to use these services."""
        settings, temporal = services.settings, services.temporal
        backlog = Backlog(temporal, settings.task_queue, settings.backlog_seconds)
        limits = TurnLimits(settings.user_open_turns, settings.tenant_open_turns)
        intake = Intake(IntakeLimits(settings.intake_seconds, settings.loop_lateness_seconds))
        return cls(
            services=services,
            tokens=Tokens(settings),
            turns=Turns(
                temporal,
                settings.task_queue,
                backlog,
                services.fairness,
                limits,
                intake=intake,
                _recorded_turn=services.store.log.turn,
            ),
            ownership=Ownership(services.store.conversations),
            hub=Hub(),
            rates=RateLimits(
                settings.user_requests_per_minute, settings.tenant_requests_per_minute
            ),
            arrivals=Arrivals(),
            failing_workflows=FailingWorkflowMonitor(temporal, settings.task_queue),
        )

    @classmethod
    def of(cls, request: Request) -> Self:
        """The state of the application that serves this request."""
        return cast("Self", request.app.state.shared)


async def _services(request: Request) -> Services:
    return AppState.of(request).services


async def _hub(request: Request) -> Hub:
    return AppState.of(request).hub


async def _ownership(request: Request) -> Ownership:
    return AppState.of(request).ownership


async def _turns(request: Request) -> Turns:
    return AppState.of(request).turns


async def _rates(request: Request) -> RateLimits:
    return AppState.of(request).rates


bearer = HTTPBearer(
    auto_error=False,
    description="`dev`: a user id of the directory, or `tenant/user`. `jwt`: a signed token.",
)


async def authenticate(request: Request) -> Principal:
    """Whoever the request's token names, asked for once a request; else `Unauthenticated`.

    They are answered in the language of the header `X-Locale`, else in that of the directory: not
    in that of `Accept-Language`, which browsers send without anybody's having chosen it.
    """
    known: Principal | None = getattr(request.state, "principal", None)
    if known is not None:
        return known
    credentials = await bearer(request)
    if credentials is None or not credentials.credentials:
        raise Unauthenticated("Say who is calling: Authorization: Bearer <token>.")
    state = AppState.of(request)
    vouched = await state.tokens.vouched(credentials.credentials)
    person = await state.services.directory.find(vouched.tenant, vouched.user)
    if person is None:
        raise Unauthenticated("The token names nobody in the directory.")
    wished = request.headers.get("x-locale")
    locale = next((each for each in LOCALES if each == wished), person.locale)
    principal = person.also(vouched.roles).speaking(locale)
    request.state.session = CallerSession(state.services.directory, (principal,), vouched.until)
    # Where the request is refused after this, it is in the caller's language.
    request.state.principal, request.state.locale = principal, principal.locale
    return principal


async def _authenticated(
    request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Principal:
    return await authenticate(request)


Authenticated = Annotated[Principal, Depends(_authenticated)]
"""Whoever the token names, not counted yet: use `Caller`, unless they speak for somebody else."""


async def _caller(request: Request, known: Authenticated) -> Principal:
    AppState.of(request).rates.admit(known)
    await note_sign_in(request, known)
    return known


async def admitted_caller(request: Request) -> Principal:
    """Whoever the request's token names, counted among what they do; for other dependencies."""
    return await _caller(request, await authenticate(request))


async def note_sign_in(request: Request, person: Principal) -> None:
    """Note in the audit trail who came in, where a token proves nothing: under `dev`."""
    state = AppState.of(request)
    if state.services.settings.auth == "dev":
        audit, sender = await audit_of(request, person), sender_of(request)
        await state.arrivals.note(audit, "person.sign_in", whose=person.id, detail=sender)


class PageParams(BaseModel):
    """Which part of a list is asked for."""

    after: str | None
    limit: int


async def _page(
    after: Annotated[
        str | None, Query(pattern="^[!-~]{1,200}$", description="The `next` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> PageParams:
    return PageParams(after=after, limit=limit)


Given = Annotated[Services, Depends(_services)]
EventHub = Annotated[Hub, Depends(_hub)]
Owned = Annotated[Ownership, Depends(_ownership)]
Rates = Annotated[RateLimits, Depends(_rates)]
OpenTurns = Annotated[Turns, Depends(_turns)]
Caller = Annotated[Principal, Depends(_caller)]
Paged = Annotated[PageParams, Depends(_page)]


async def _person(caller: Caller) -> Principal:
    if SERVICE_ROLE in caller.roles:
        raise Forbidden(
            f"{caller.id!r} is a service account and has no requests of its own: speak with a "
            "person's token, or for a person at POST /v1/chat/completions (docs/openai.md)."
        )
    return caller


Person = Annotated[Principal, Depends(_person)]
"""The caller, who may ask for something: a person; 403 where it is a service account."""


async def audit_of(request: Request, person: Caller) -> AuditWriter:
    """What notes the person's acts of this request in the audit trail."""
    return AuditWriter(AppState.of(request).services.store.trail, person, request_id_of(request))


Audited = Annotated[AuditWriter, Depends(audit_of)]
"""What notes the caller's acts in the audit trail."""

_NOTHING = Localised(zh="这里没有这样的内容。", en="There is nothing of the kind here.")


def _whoever_is(*roles: str) -> Callable[[Principal], Awaitable[Principal]]:
    async def found(caller: Caller) -> Principal:
        if caller.roles.isdisjoint(roles):
            raise NotFound(_NOTHING)
        return caller

    return found


Operator = Annotated[Principal, Depends(_whoever_is(OPERATOR))]
"""The caller, who is an operator; 404 where they aren't."""
Author = Annotated[Principal, Depends(_whoever_is(OPERATOR, AUTHOR))]
"""The caller, who may write versions of documents; 404 where they may not."""
Auditor = Annotated[Principal, Depends(_whoever_is(OPERATOR, AUDITOR))]
"""The caller, who may read the audit trail; 404 where they may not."""


@dataclass(frozen=True)
class RequestWork:
    """Runs jobs for a request in child processes, as long as its client stays."""

    request: Request
    person: Principal
    _work: IsolatedWork

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the function's result; raises as `IsolatedWork.run`."""
        return await self.while_client_stays(self._work.run(self.person, function, *args, **kwargs))

    async def while_client_stays(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of other work, which is cancelled when the client leaves."""
        return await run_while_client_stays(self.request, work)


async def _request_work(request: Request, caller: Caller) -> RequestWork:
    return RequestWork(request, caller, AppState.of(request).services.isolated_work)


Work = Annotated[RequestWork, Depends(_request_work)]
"""Runs jobs for the caller in child processes, until their client leaves."""


async def _author_work(author: Author, work: Work) -> RequestWork:
    del author
    return work


AuthorWork = Annotated[RequestWork, Depends(_author_work)]
"""Runs jobs for the caller, who may write versions of documents; 404 where they may not."""


async def _own_conversation(
    conversation: str, caller: Caller, request: Request
) -> ConversationRecord:
    id_ = known(conversation, "conversation")
    return await AppState.of(request).ownership.owned(caller, id_)


OwnConversation = Annotated[ConversationRecord, Depends(_own_conversation)]
"""The conversation in the path, which is the caller's; 404 where it isn't."""


def known(identifier: str, noun: str) -> str:
    """An id from a path; `NotFound` where it can't be one: databases refuse some characters."""
    if not 1 <= len(identifier) <= 200 or not all("!" <= c <= "~" for c in identifier):  # noqa: PLR2004
        raise NotFound(f"There is no such {noun}.")
    return identifier
