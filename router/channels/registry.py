"""Finds the chat platforms, mounts those that are configured, and keeps them posted.

A platform is a module in `router.channels.platforms` that has a `PLATFORM`: what it is called, the
settings that it declares, and how it is mounted. Nothing else names it.
"""

import asyncio
import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Generic, Self, TypeVar

from fastapi import APIRouter
from pydantic import model_validator

from router.api.dependencies import AppState
from router.channels import platforms
from router.channels.base import Outbound
from router.channels.dispatcher import Dispatcher
from router.channels.outbox import Outbox
from router.domain.errors import MisconfiguredError
from router.settings import Section, Settings


class PlatformSettings(Section):
    """What a platform needs to be an entrance: all of `NEEDED`, or none of it."""

    NEEDED: ClassVar[tuple[str, ...]]

    @property
    def is_complete(self) -> bool:
        """True where the platform is an entrance."""
        return all(getattr(self, name) for name in self.NEEDED)

    @model_validator(mode="after")
    def _whole_or_not_at_all(self) -> Self:
        """Half a configuration would be a request that nobody can check."""
        missing = [name for name in self.NEEDED if not getattr(self, name)]
        if missing and len(missing) < len(self.NEEDED):
            raise ValueError(
                f"{self.prefix()}{missing[0].upper()} isn't set and the platform's other "
                "variables are: set all of them, or none"
            )
        return self


Known = TypeVar("Known", bound=PlatformSettings)
Entering = Callable[[Outbound], Dispatcher]
"""Gives what takes in what people do on a platform, once it can be posted on."""


@dataclass(frozen=True)
class Platform(Generic[Known]):
    """A chat platform. `mount` gives its routes, and imports its library, if it has one."""

    name: str
    settings: type[Known]
    mount: Callable[[Known, Entering], APIRouter]


def found() -> list[Platform[PlatformSettings]]:
    """Every platform that there is."""
    modules = (importlib.import_module(f"{platforms.__name__}.{name}") for name in platforms.NAMES)
    return [module.PLATFORM for module in modules]


@dataclass
class MountedPlatforms:
    """What is mounted, and what runs beside the application for it."""

    routers: list[APIRouter] = field(default_factory=list)
    dispatchers: list[Dispatcher] = field(default_factory=list)
    outbox: Outbox | None = None

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Post what is new for as long as the block lasts; nothing where there is no platform."""
        running = asyncio.create_task(self.outbox.run()) if self.outbox else None
        try:
            yield
        finally:
            if running is not None:
                running.cancel()
                await asyncio.gather(running, return_exceptions=True)
            for dispatcher in self.dispatchers:
                await dispatcher.aclose()


def configured(settings: Settings) -> list[tuple[Platform[PlatformSettings], PlatformSettings]]:
    """The platforms that are set, and their settings; `MisconfiguredError` where half of one is."""
    every = [(platform, settings.section(platform.settings)) for platform in found()]
    return [(platform, known) for platform, known in every if known.is_complete]


def mounted(state: AppState) -> MountedPlatforms:
    """The platforms that are set, mounted; raises as `configured`, or without a library."""
    here, outbound = MountedPlatforms(), dict[str, Outbound]()
    outbox = Outbox(state.services, outbound)
    for platform, known in configured(state.services.settings):

        def entering(posting: Outbound, name: str = platform.name) -> Dispatcher:
            outbound[name] = posting
            here.dispatchers.append(Dispatcher(name, state, posting, outbox))
            return here.dispatchers[-1]

        try:
            here.routers.append(platform.mount(known, entering))
        except ModuleNotFoundError as error:
            raise MisconfiguredError(
                f"{known.prefix()}{known.NEEDED[0].upper()} is set, and {error.name} isn't "
                "installed: pip install 'intent-router[adapters]'"
            ) from None
        here.outbox = outbox
    return here
