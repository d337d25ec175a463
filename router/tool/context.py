"""What a tool knows of the call that it serves, and how it is given what it needs.

A tool asks for what it needs by `Depends`, as a route of FastAPI does: a function, a generator or
a class is called for each call, and a generator is closed after it. What should be made once in a
process, such as a pool of connections, is decorated with `@provider`:

    def get_db() -> Iterator[Connection]:
        with closing(connect("badges.db")) as db:
            yield db


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

Nothing else has to be registered. What the program has already (its settings, its store) it
provides by name, without a function: `dependencies.provide(provided.settings, settings)`.
"""

import inspect
from asyncio import Lock, get_running_loop
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
)
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from logging import Logger, LoggerAdapter
from types import MappingProxyType
from typing import (
    Annotated,
    Any,
    Generic,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from pydantic import JsonValue

from router.domain.errors import DefinitionError, MisconfiguredError, Problem
from router.domain.file_types import SkillFile
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.domain.source_lines import UNREADABLE, SourceLine, calling_line, name_of, source_of
from router.tool.call_thread import CallThread
from router.tool.maker import Maker, MakerKind, OpenDependencies
from router.tool.results import KeepFiles, Open, ToolFile, not_kept, not_opened

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
    """The workflow ids of the runs whose branch `flow_run` is, and of its branches."""
    conversation: str | None = None
    answers: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the person said to questions that earlier tries of the call came back with."""
    skill_files: Mapping[str, SkillFile] = field(default_factory=dict)
    """The files of the skill that calls, as its run began with them, by path."""
    tell: Callable[[str], Awaitable[None]] = _to_nobody
    keep: KeepFiles = not_kept
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

        These are the runs whose branch it is, and its own branches.

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
ProviderPath = tuple[Callable[..., Any], ...]
"""The functions that led to a dependency, the first one first."""


def _nothing_unset(_: Any) -> str:
    """For what no setting has to be given for."""
    return ""


class Provider(Generic[Provided]):
    """A name for what tools need, which the program provides or a function makes.

    Args:
        name: What messages call it.
        maker: What makes it; `None` if the program provides it.
        needs: What the parameters of the maker stand for.
        contexts: The names of the maker's parameters of type `ToolContext`.
        unset: Given the settings, which one is missing for it to be had; empty if none is.
        outward: Whether it carries what it is given out of the deployment, and strangers' words
            back.
        is_per_call: Whether it is made for each call; otherwise once in a process.
    """

    def __init__(
        self,
        name: str,
        maker: Maker | None = None,
        needs: "Mapping[str, Provider[Any]]" = MappingProxyType({}),
        contexts: Collection[str] = (),
        *,
        unset: Callable[[Any], str] = _nothing_unset,
        outward: bool = False,
        is_per_call: bool = False,
    ) -> None:
        self.name = name
        self.maker = maker
        self.needs = needs
        self.contexts = contexts
        self.unset = unset
        self.outward = outward
        self.is_per_call = is_per_call

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"

    @property
    def all_needed(self) -> frozenset["Provider[Any]"]:
        """It, and whatever it is made of."""
        return frozenset([self]).union(*(each.all_needed for each in self.needs.values()))

    @property
    def takes_context(self) -> bool:
        """True if it, or something that it is made of, asks for the `ToolContext`."""
        return any(each.contexts for each in self.all_needed)


@dataclass(frozen=True)
class Dependency:
    """What `Depends` marks a parameter with."""

    dependency: Any = None


def Depends(dependency: Any = None) -> Any:  # noqa: N802 - FastAPI's name for the same
    """Mark a parameter as filled in by the router: models and callers neither see nor set it.

    Args:
        dependency: A function, a generator function or a class, synchronous or not, that is called
            for each call of the tool; what a generator opens is closed after the call. Or what
            `@provider` decorates, which is made once in a process. Left out, it is the class that
            the parameter is annotated with. Parameters of the dependency are filled in likewise;
            one of type `ToolContext` says who calls.

    Example:
        >>> def get_greeting() -> str:
        ...     return "hello"
        >>> async def greet(word: Annotated[str, Depends(get_greeting)]) -> str: ...
    """
    return Dependency(dependency)


def provider_of(
    hint: Any, default: Any = None, at: SourceLine | None = None, path: ProviderPath = ()
) -> Provider[Any] | None:
    """Return what a parameter is filled with; `None` if a caller gives it.

    Args:
        hint: The parameter's annotation.
        default: The parameter's default.
        at: Where the parameter is declared.
        path: The functions that led there.

    Raises:
        DefinitionError: It is marked with something that can't be filled in.
    """
    annotated = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    marks = [*annotated[1:], default]
    at = at or calling_line()
    if any(type(each).__module__ == "fastapi.params" for each in marks):
        what = "marks a parameter with FastAPI's own Depends, which isn't filled in here"
        raise DefinitionError([Problem(*at, f"it {what}", "import Depends from router.sdk")])
    found = [each.dependency for each in marks if isinstance(each, Dependency)]
    if not found:
        return None
    return _dependency(annotated[0] if found[0] is None else found[0], at, path)


def _dependency(named: Any, at: SourceLine, path: ProviderPath = ()) -> Provider[Any]:
    if isinstance(named, Provider):
        return named
    if not callable(named):
        kind = type(named).__name__
        made = inspect.isgenerator(named) or inspect.isasyncgen(named) or inspect.iscoroutine(named)
        remedy = "name the function without calling it" if made else "name a function or a class"
        what = f"Depends({named!r:.60}) names a {kind}, which can't be called"
        raise DefinitionError([Problem(*at, what, f"{remedy}, as in Depends(get_db)")])
    if named in path:
        names = " → ".join(name_of(each) for each in (*path, named))
        what = f"a dependency depends on itself: {names}"
        raise DefinitionError([Problem(*source_of(named), what, "take one of them out")])
    if named not in _PER_CALL:
        _PER_CALL[named] = _DependencyReader(named, at, path).read()
    return _PER_CALL[named]


_PER_CALL: dict[Callable[..., Any], Provider[Any]] = {}
"""The provider of each function that is called for each call: always the same one."""


class _DependencyReader:
    """Reads how a dependency is made; raises `DefinitionError` with all that is wrong with it."""

    def __init__(
        self,
        function: Callable[..., Any],
        at: SourceLine,
        path: ProviderPath,
        kind: str = "dependency",
    ) -> None:
        self._function = function
        has_line = inspect.isclass(function) or hasattr(inspect.unwrap(function), "__code__")
        self._source = source_of(function) if has_line else at
        self._path = (*path, function)
        self._kind = kind
        self._problems: list[Problem] = []
        self._needs: dict[str, Provider[Any]] = {}
        self._contexts: list[str] = []

    def read(
        self,
        unset: Callable[[Any], str] = _nothing_unset,
        *,
        outward: bool = False,
        is_per_call: bool = True,
    ) -> Provider[Any]:
        """Return the provider of the function, with these options."""
        maker = Maker(self._function, self._kind_of_call())
        for parameter, hint in self._parameters():
            self._take(parameter, hint)
        if not is_per_call:
            self._check_shared()
        self.raise_if_wrong()
        return Provider(
            name_of(self._function),
            maker,
            self._needs,
            self._contexts,
            unset=unset,
            outward=outward,
            is_per_call=is_per_call,
        )

    def raise_if_wrong(self) -> None:
        if self._problems:
            raise DefinitionError(self._problems)

    def wrong(self, what: str, remedy: str) -> None:
        about = f"the {self._kind} {name_of(self._function)} {what}"
        self._problems.append(Problem(*self._source, about, remedy))

    def _kind_of_call(self) -> MakerKind:
        called = self._function if _is_plain(self._function) else type(self._function).__call__
        if inspect.isasyncgenfunction(called):
            return "async generator"
        if inspect.isgeneratorfunction(called):
            return "generator"
        inner = getattr(called, "__wrapped__", None)
        if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
            remedy = "take that off: what it yields is given to the tool, and it is closed after it"
            self.wrong("is decorated as a context manager", remedy)
        return "function"

    def _parameters(self) -> Iterator[tuple[inspect.Parameter, Any]]:
        try:
            parameters = inspect.signature(self._function).parameters
            hints = get_type_hints(_annotated(self._function), include_extras=True)
        except UNREADABLE as error:
            self.wrong(f"has an annotation that can't be read: {error}", "import what it names")
        except (TypeError, ValueError):
            remedy = "write a function that makes it"
            self.wrong("doesn't say what it is called with", remedy)
        else:
            for parameter in parameters.values():
                yield parameter, hints.get(parameter.name)

    def _take(self, parameter: inspect.Parameter, hint: Any) -> None:
        name = parameter.name
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            return
        try:
            needed = provider_of(hint, parameter.default, self._source, self._path)
        except DefinitionError as error:
            self._problems += error.problems
            return
        if hint is ToolContext:
            self._contexts.append(name)
        elif needed is not None:
            self._needs[name] = needed
        elif parameter.default is parameter.empty:
            remedy = f"mark it, as in `{name}: Annotated[…, Depends(…)]`, or give it a default"
            self.wrong(f"takes {name!r}, which nobody gives it", remedy)

    def _check_shared(self) -> None:
        """Note if what is made once in a process is made of what belongs to a call."""
        for each in self._needs.values():
            if each.is_per_call:
                what = f"is made once for all calls, and needs {each.name}, made for each call"
                self.wrong(what, f"decorate {each.name} with @provider too")
        if self._contexts:
            what = "takes a ToolContext, and is made once for all calls"
            self.wrong(what, "leave that out, or take @provider off and name it in Depends")


def _is_plain(function: Callable[..., Any]) -> bool:
    return inspect.isclass(function) or inspect.isroutine(function) or isinstance(function, partial)


def _annotated(function: Any) -> Any:
    """Return the function whose annotations say what calling this one takes."""
    if isinstance(function, partial):
        return _annotated(function.func)
    if inspect.isclass(function):
        return function.__init__
    return function if _is_plain(function) else type(function).__call__


Making = Callable[..., AsyncIterator[Provided] | Iterator[Provided] | Awaitable[Provided]]


@overload
def provider(function: Making[Provided], /) -> Provider[Provided]: ...


@overload
def provider(
    *, unset: Callable[[Any], str] = ..., outward: bool = False
) -> Callable[[Making[Provided]], Provider[Provided]]: ...


def provider(
    function: Any = None,
    /,
    *,
    unset: Callable[[Any], str] = _nothing_unset,
    outward: bool = False,
) -> Any:
    """Make a function's result once in a process, for all calls that depend on it.

    It is made when a call first needs it. A generator yields one thing, and is closed when the
    process ends. Each parameter is marked with `Depends`.

    Args:
        function: The function, if the decorator is written without parentheses.
        unset: Given the settings, which one is missing for it to be had; empty if none is. Tools
            that need it are then offered to nobody.
        outward: Whether it carries what it is given out of the deployment. A sub-agent that has
            called such a tool sends nothing out any more, unless its skill names what does.

    Raises:
        DefinitionError: A parameter isn't marked, or belongs to a single call.

    Example:
        >>> @provider
        ... async def exchange_rates() -> AsyncIterator[dict[str, float]]:
        ...     yield {"EUR": 1.0}
    """

    def decorate(made: Any) -> Provider[Any]:
        reader = _DependencyReader(made, source_of(made), (), "provider")
        if not inspect.isfunction(made):
            reader.wrong("is no function", "decorate a function or a generator function")
            reader.raise_if_wrong()
        return reader.read(unset, outward=outward, is_per_call=False)

    return decorate if function is None else decorate(function)


class Dependencies:
    """What every provider stands for; leaving it closes what was made, the last one first."""

    def __init__(self) -> None:
        self._provided: dict[Provider[Any], Any] = {}
        self._replaced: dict[Provider[Any], Provider[Any]] = {}
        self._made: dict[Provider[Any], Any] = {}
        self._making: defaultdict[Provider[Any], Lock] = defaultdict(Lock)
        self._open = OpenDependencies()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._made.clear()
        await self._open.close()

    def provide(self, provider: Provider[Provided], value: Provided) -> None:
        """Let `provider` stand for `value`, in place of what it stood for before."""
        self._provided[provider] = value

    def is_provided(self, provider: Provider[Any]) -> bool:
        """True if `provider` stands for a value that isn't made."""
        return provider in self._provided

    def standing_for(self, provider: Provider[Any]) -> Provider[Any]:
        """Return what replaces a provider; the provider itself if nothing does."""
        return self._replaced.get(provider, provider)

    async def resolve(self, provider: Provider[Provided]) -> Provided:
        """Return what `provider` stands for, made when it is first needed.

        Raises `MisconfiguredError` if nothing was provided and nothing makes it, and what its
        maker raises: it is made again when it is next needed.
        """
        standing: Provider[Provided] = self.standing_for(provider)
        if standing in self._provided:
            provided: Provided = self._provided[standing]
            return provided
        async with self._making[standing]:
            if standing not in self._made:
                self._made[standing] = await self._opened(standing)
            made: Provided = self._made[standing]
            return made

    async def _opened(self, provider: Provider[Provided]) -> Provided:
        if provider.maker is None:
            raise MisconfiguredError(_missing(provider))
        given = {name: await self.resolve(needed) for name, needed in provider.needs.items()}
        made: Provided = await self._open.open(provider.maker, given)
        return made

    def call_scope(
        self, function: Callable[..., Any], context: ToolContext | None = None
    ) -> "CallScope":
        """Return what fills in the parameters of one call of a function, and calls it.

        Args:
            function: What is called. What isn't `async def` is called in a thread, and so are the
                plain functions and generators that it depends on.
            context: Who calls and when, if it is a tool's call.
        """
        return CallScope(self, function, context)

    @contextmanager
    def override(self, provider: Provider[Provided], value: Provided) -> Iterator[None]:
        """Let `provider` stand for `value` within the block: for tests."""
        before = dict(self._provided)
        self._provided[provider] = value
        try:
            yield
        finally:
            self._provided = before

    def replace(self, functions: Mapping[Any, Callable[..., Any]]) -> AbstractContextManager[None]:
        """Make dependencies by other functions within the block: for tests.

        Args:
            functions: By what `Depends` names, the function, generator or class to call instead.

        Raises:
            DefinitionError: What replaces a dependency can't be called, or what it needs isn't
                marked.
        """
        at = calling_line()
        originals = {_dependency(each, at): function for each, function in functions.items()}
        return self._replacing({each: _stand_in(each, f, at) for each, f in originals.items()})

    @contextmanager
    def _replacing(self, replaced: Mapping[Provider[Any], Provider[Any]]) -> Iterator[None]:
        before, self._replaced = self._replaced, {**self._replaced, **replaced}
        try:
            yield
        finally:
            self._replaced = before

    def require(self, providers: Iterable[Provider[Any]]) -> None:
        """Raise `MisconfiguredError` at start unless all stand for something or can be made."""
        missing = [provider for provider in providers if not self._can_give(provider)]
        if missing:
            raise MisconfiguredError("\n".join(_missing(provider) for provider in missing))

    def _can_give(self, provider: Provider[Any]) -> bool:
        standing = self.standing_for(provider)
        if standing in self._provided:
            return True
        return standing.maker is not None and all(map(self._can_give, standing.needs.values()))


def _stand_in(original: Provider[Any], function: Any, at: SourceLine) -> Provider[Any]:
    """Return the provider that makes something else in place of the original."""
    if not callable(function):
        what = f"{original.name} is replaced by {function!r:.60}, which can't be called"
        remedy = f"name a function, as in {{{original.name}: lambda: …}}"
        raise DefinitionError([Problem(*at, what, remedy)])
    made = _DependencyReader(function, at, ()).read(is_per_call=original.is_per_call)
    if original in made.all_needed:
        what = f"{original.name} is replaced by {made.name}, which depends on it"
        raise DefinitionError([Problem(*at, what, f"call {original.name} in {made.name} instead")])
    return made


class CallScope:
    """What one call is given. What is made for the call alone is closed when the block is left.

    A function and its plain dependencies run in one thread, and those of an `async def` where it
    runs, in the event loop: libraries such as `sqlite3` refuse what another thread has made.
    """

    def __init__(
        self,
        dependencies: Dependencies,
        function: Callable[..., Any],
        context: ToolContext | None = None,
    ) -> None:
        self._dependencies = dependencies
        self._function = function
        self._thread = None if inspect.iscoroutinefunction(function) else CallThread()
        if self._thread is not None and context is not None:
            # Temporal takes heartbeats in the event loop alone.
            context = replace(context, beat=_from_threads(context.beat))
        self.context = context
        self._open = OpenDependencies(self._thread)
        self._made: dict[Provider[Any], Any] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        try:
            await self._open.close(*error)
        finally:
            if self._thread is not None:
                self._thread.close()

    async def resolve(self, provider: Provider[Provided]) -> Provided:
        """Return what `provider` stands for in this call, the same wherever the call needs it."""
        standing: Provider[Provided] = self._dependencies.standing_for(provider)
        maker = standing.maker
        if not standing.is_per_call or maker is None or self._dependencies.is_provided(standing):
            return await self._dependencies.resolve(standing)
        if standing not in self._made:
            given = {name: await self.resolve(each) for name, each in standing.needs.items()}
            given |= dict.fromkeys(standing.contexts, self.context)
            self._made[standing] = await self._open.open(maker, given)
        made: Provided = self._made[standing]
        return made

    async def call(self, *arguments: Any, **given: Any) -> Any:
        """Call the function with these arguments, and return its result."""
        return await self._open.run(partial(self._function, *arguments, **given))


def _from_threads(beat: Callable[[], None]) -> Callable[[], None]:
    """Return a function that has the running event loop call `beat`."""
    loop = get_running_loop()

    def beat_in_loop() -> None:
        loop.call_soon_threadsafe(beat)

    return beat_in_loop


def _missing(provider: Provider[Any]) -> str:
    if provider.maker is not None:
        needed = ", ".join(sorted(each.name for each in provider.all_needed if not each.maker))
        return f"a tool needs {provider.name!r}, which is made of {needed}: provide all of that"
    return (
        f"a tool needs {provider.name!r} and nothing provides it; "
        f"call dependencies.provide({provider.name}, …) where the worker is put together"
    )
