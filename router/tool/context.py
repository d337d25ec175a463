"""What a tool knows of the call it serves, and how it gets at the systems that it works on.

No global in sight: a tool asks for what it needs by `Depends`, and the `Provider` that it names
knows how that is made, of other providers, opened once in a process and let go of at its end.

    @provider(unset=lambda settings: "" if settings.rates_url else "ROUTER_RATES_URL")
    async def exchange_rates(
        settings: Annotated[Settings, Depends(provided.settings)],
    ) -> AsyncIterator[ExchangeRates]:
        async with httpx2.AsyncClient(base_url=settings.rates_url) as client:
            yield ExchangeRates(client)


    @tool(permission="read")
    async def convert(
        amount: Decimal, rates: Annotated[ExchangeRates, Depends(exchange_rates)]
    ) -> Decimal: ...

It stands beside the tool, and is found with it: where the program is put together nothing names
it. What the program has already (its settings, its store) it provides by name, without a maker:
`dependencies.provide(provided.settings, settings)`.
"""

from asyncio import Lock
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from datetime import datetime
from inspect import signature
from logging import Logger, LoggerAdapter
from types import MappingProxyType
from typing import Annotated, Any, Generic, Self, TypeVar, get_args, get_origin, get_type_hints

from pydantic import JsonValue

from router.domain.errors import MisconfiguredError
from router.domain.file_types import SkillFile
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.tool.results import Keep, Open, ToolFile, not_kept, not_opened

ToolLogger = LoggerAdapter[Logger]

LONGEST_PROGRESS = 500


async def _to_nobody(_: str) -> None:
    """Where nobody watches."""


def needless() -> None:
    """Where nobody waits for a sign of life."""


@dataclass(frozen=True)
class ToolContext:
    """Who calls, on whose authority, when. Neither the model nor the caller can set any of it.

    A tool asks for it with a parameter of this type, of whatever name.
    """

    caller: Principal
    """The person on whose behalf the tool acts; what it does belongs to them."""
    now: datetime
    """The moment of the call, in the caller's time zone. The same on every retry."""
    logger: ToolLogger
    """Says which tool and which call a line is about."""
    spoken: Locale | None = None
    """What is spoken where the call comes from, where it comes from a conversation or a run."""
    key: str = ""
    """The idempotency key of a write: the same on every retry; empty for a read."""
    undoes: str = ""
    """The key of the earlier call that this one takes back; empty where it takes none back."""
    flow_run: str | None = None
    """The workflow id of the flow run that calls; None where a person does."""
    related_runs: tuple[str, ...] = ()
    """The workflow ids of the runs whose branch `flow_run` is, and of its branches that have
    joined."""
    conversation: str | None = None
    answers: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the person said to questions that earlier tries of the call came back with."""
    skill_files: Mapping[str, SkillFile] = field(default_factory=dict)
    """The files of the skill that calls, as its run began with them, by path."""
    tell: Callable[[str], Awaitable[None]] = _to_nobody
    keep: Keep = not_kept
    """Where the files of a result go; a tool returns them, and has no need of it."""
    opening: Open = not_opened
    beat: Callable[[], None] = needless

    @property
    def locale(self) -> Locale:
        """The language that whatever the tool says to people is in: by default the caller's."""
        return self.spoken or self.caller.locale

    @property
    def own_runs(self) -> list[str]:
        """The workflow ids of the run that calls, and of those that belong to the same request.

        These are the runs whose branch it is, and its own branches that have joined.

        The key of each call that those runs make begins with one of them and a colon.
        """
        return [run for run in (self.flow_run, *self.related_runs) if run]

    async def file(self, id_: str) -> ToolFile:
        """The file of the caller's that a `FileId` names, whole.

        Raises `ArgumentsToolError` for any other, somebody else's included.
        """
        return await self.opening(id_)

    async def progress(self, text: str) -> None:
        """Tell whoever watches how far it is; never waits for them, and never fails the call."""
        await self.tell(text[:LONGEST_PROGRESS])

    def heartbeat(self) -> None:
        """Give a sign of life before what holds up everything else; what awaits needs none."""
        self.beat()


Provided = TypeVar("Provided")


def _nothing_unset(_: Any) -> str:
    """For what no setting has to be given for."""
    return ""


class Provider(Generic[Provided]):
    """A name for what tools need, which the program provides or `make` makes of `needs`."""

    def __init__(
        self,
        name: str,
        make: Callable[..., AbstractAsyncContextManager[Provided]] | None = None,
        needs: Mapping[str, "Provider[Any]"] = MappingProxyType({}),
        unset: Callable[[Any], str] = _nothing_unset,
        *,
        outward: bool = False,
    ) -> None:
        self.name = name
        self.outward = outward
        """Whether it carries what it is given out of the house, and strangers' words back."""
        self.make = make
        self.needs = needs
        self.unset = unset
        """Given the settings, which one is missing for it to be had; empty where none is."""

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"

    @property
    def all_needed(self) -> frozenset["Provider[Any]"]:
        """It, and whatever it is made of."""
        return frozenset([self]).union(*(each.all_needed for each in self.needs.values()))


class Depends:
    """Marks a parameter as provided rather than given: `Annotated[X, Depends(provider)]`."""

    def __init__(self, provider: Provider[Any]) -> None:
        self.provider = provider


def provider_of(hint: Any) -> Provider[Any] | None:
    """What an annotation wants provided; None where it is of something that a caller gives."""
    if get_origin(hint) is not Annotated:
        return None
    found = [extra.provider for extra in get_args(hint)[1:] if isinstance(extra, Depends)]
    return found[0] if found else None


def provider(
    *, unset: Callable[[Any], str] = _nothing_unset, outward: bool = False
) -> Callable[[Callable[..., AsyncIterator[Provided]]], Provider[Provided]]:
    """Make a provider of an asynchronous generator, under its name.

    It yields one thing, and lets go of it after that. Each parameter is provided: it is marked
    `Depends`. `unset` says which setting is missing for it to be had, if one is: tools that need
    it are then offered to nobody. With `outward` a sub-agent that has called such a tool sends
    nothing out of the house any more, unless its skill names what does.

    Raises `MisconfiguredError` where a parameter isn't marked.
    """

    def decorate(function: Callable[..., AsyncIterator[Provided]]) -> Provider[Provided]:
        hints = get_type_hints(function, include_extras=True)
        needs = {name: provider_of(hints.get(name)) for name in signature(function).parameters}
        named = {name: needed for name, needed in needs.items() if needed is not None}
        if named != needs:
            raise MisconfiguredError(
                f"the provider {function.__name__} takes {', '.join(needs.keys() - named)}, which "
                "nobody gives it; mark it: Annotated[…, Depends(…)]"
            )
        return Provider(
            function.__name__, asynccontextmanager(function), named, unset, outward=outward
        )

    return decorate


class Dependencies:
    """What every provider stands for; to leave it lets go of what was made, the last one first."""

    def __init__(self) -> None:
        self._provided: dict[Provider[Any], Any] = {}
        self._made: dict[Provider[Any], Any] = {}
        self._making: defaultdict[Provider[Any], Lock] = defaultdict(Lock)
        self._open = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._made.clear()
        await self._open.aclose()

    def provide(self, provider: Provider[Provided], value: Provided) -> None:
        """Let `provider` stand for `value`, in place of what it stood for before."""
        self._provided[provider] = value

    async def resolve(self, provider: Provider[Provided]) -> Provided:
        """What `provider` stands for, made where it is needed for the first time.

        Raises `MisconfiguredError` where nothing was provided and nothing makes it, and what its
        maker raises: it is made anew when it is next needed.
        """
        if provider in self._provided:
            provided: Provided = self._provided[provider]
            return provided
        async with self._making[provider]:
            if provider not in self._made:
                self._made[provider] = await self._opened(provider)
            made: Provided = self._made[provider]
            return made

    async def _opened(self, provider: Provider[Provided]) -> Provided:
        if provider.make is None:
            raise MisconfiguredError(_missing(provider))
        given = {name: await self.resolve(needed) for name, needed in provider.needs.items()}
        return await self._open.enter_async_context(provider.make(**given))

    @contextmanager
    def override(self, provider: Provider[Provided], value: Provided) -> Iterator[None]:
        """Let `provider` stand for `value` within the block: for tests."""
        before = dict(self._provided)
        self._provided[provider] = value
        try:
            yield
        finally:
            self._provided = before

    def require(self, providers: Iterable[Provider[Any]]) -> None:
        """Raise `MisconfiguredError` at start unless all stand for something or can be made."""
        missing = [provider for provider in providers if not self._can_give(provider)]
        if missing:
            raise MisconfiguredError("\n".join(_missing(provider) for provider in missing))

    def _can_give(self, provider: Provider[Any]) -> bool:
        if provider in self._provided:
            return True
        return provider.make is not None and all(map(self._can_give, provider.needs.values()))


def _missing(provider: Provider[Any]) -> str:
    if provider.make is not None:
        needed = ", ".join(sorted(each.name for each in provider.all_needed if not each.make))
        return f"a tool needs {provider.name!r}, which is made of {needed}: provide all of that"
    return (
        f"a tool needs {provider.name!r} and nothing provides it; "
        f"call dependencies.provide({provider.name}, …) where the worker is put together"
    )
