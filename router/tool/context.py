"""What a tool knows of the call it serves, and how it gets at the systems that it works on.

What a tool knows of the call it serves, beside its arguments.

How tools get at the systems that they work on, without a global in sight.

A `Provider` is a name for something to come; a tool asks for it by `Depends`; where the
program is put together, `Dependencies` says what it stands for:

    directory: Provider[Directory] = Provider("directory")

    @tool(permission="read")
    async def get_manager(
        ctx: ToolContext, people: Annotated[Directory, Depends(directory)]
    ) -> str | None: ...

    dependencies.provide(directory, YamlDirectory(path))
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from logging import Logger, LoggerAdapter
from typing import Any, Generic, TypeVar

from pydantic import JsonValue

from router.domain.errors import MisconfiguredError
from router.domain.files import SkillFile
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.tool.results import Keep, not_kept

ToolLogger = LoggerAdapter[Logger]

LONGEST_PROGRESS = 500
"""Characters."""


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
    conversation: str | None = None
    """The conversation the call comes from, where it comes from one."""
    answers: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the person said to questions that earlier tries of the call came back with."""
    skill_files: Mapping[str, SkillFile] = field(default_factory=dict)
    """The files of the skill that calls, as its run began with them, by path."""
    tell: Callable[[str], Awaitable[None]] = _to_nobody
    keep: Keep = not_kept
    """Where the files of a result go; a tool returns them, and has no need of it."""
    beat: Callable[[], None] = needless

    @property
    def locale(self) -> Locale:
        """The language that whatever the tool says to people is in: by default the caller's."""
        return self.spoken or self.caller.locale

    async def progress(self, text: str) -> None:
        """Tell whoever watches how far it is; never waits for them, and never fails the call."""
        await self.tell(text[:LONGEST_PROGRESS])

    def heartbeat(self) -> None:
        """Give a sign of life before something that holds up everything else for seconds.

        What awaits needs none: a sign is given for it twice a second.
        """
        self.beat()


Provided = TypeVar("Provided")


class Provider(Generic[Provided]):
    """A name for something that tools need, of a type that the type checker holds both ends to."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"Provider({self.name!r})"


class Depends:
    """Marks a parameter as provided rather than given: `Annotated[X, Depends(provider)]`."""

    def __init__(self, provider: Provider[Any]) -> None:
        self.provider = provider


class Dependencies:
    """What every provider stands for.

    >>> greeting: Provider[str] = Provider("greeting")
    >>> dependencies = Dependencies()
    >>> dependencies.provide(greeting, "hello")
    >>> dependencies.resolve(greeting)
    'hello'
    """

    def __init__(self) -> None:
        self._provided: dict[Provider[Any], Any] = {}

    def provide(self, provider: Provider[Provided], value: Provided) -> None:
        """Let `provider` stand for `value`, in place of what it stood for before."""
        self._provided[provider] = value

    def resolve(self, provider: Provider[Provided]) -> Provided:
        """What `provider` stands for; raises `MisconfiguredError` where nothing was provided."""
        if provider not in self._provided:
            raise MisconfiguredError(_missing(provider))
        value: Provided = self._provided[provider]
        return value

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
        """Raise `MisconfiguredError` unless all of `providers` stand for something.

        Called at start, so that a forgotten one isn't first noticed in the middle of a flow.
        """
        missing = [provider for provider in providers if provider not in self._provided]
        if missing:
            raise MisconfiguredError("\n".join(_missing(provider) for provider in missing))


def _missing(provider: Provider[Any]) -> str:
    return (
        f"a tool needs {provider.name!r} and nothing provides it; "
        f"call dependencies.provide({provider.name}, …) where the worker is put together"
    )
