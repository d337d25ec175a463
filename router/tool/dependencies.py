"""How tools get at the systems that they work on, without a global in sight.

A `Provider` is a name for something to come; a tool asks for it by `Depends`; where the
program is put together, `Dependencies` says what it stands for:

    directory: Provider[Directory] = Provider("directory")

    @tool(permission="read")
    async def get_manager(
        ctx: ToolContext, people: Annotated[Directory, Depends(directory)]
    ) -> str | None: ...

    dependencies.provide(directory, YamlDirectory(path))
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from router.domain.errors import MisconfiguredError

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
