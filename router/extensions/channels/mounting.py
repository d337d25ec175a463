"""Mounts the chat platforms that are configured, and keeps them posted."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import chain

from fastapi import APIRouter

from router.api.dependencies import AppState
from router.domain.errors import MisconfiguredError
from router.extension import ApiPart, Extension
from router.extensions.channels.base import Outbound
from router.extensions.channels.dispatcher import Dispatcher
from router.extensions.channels.outbox import Outbox
from router.extensions.channels.platform import ChatPlatform
from router.extensions.channels.settings import PlatformSettings
from router.runtime.extensions import load_configured
from router.settings import Settings
from router.settings.libraries import install_command


def configured_platforms(settings: Settings) -> list[tuple[ChatPlatform, PlatformSettings]]:
    """Return the platforms whose settings are complete.

    Raises:
        MisconfiguredError: Only some of a platform's variables are set.
    """
    platforms = [each for each in load_configured(settings) if isinstance(each, ChatPlatform)]
    every = [(platform, settings.section(platform.settings())) for platform in platforms]
    return [(platform, known) for platform, known in every if known.is_complete]


def mount_platforms(state: AppState) -> ApiPart:
    """Mount the configured platforms.

    Raises:
        MisconfiguredError: As `configured_platforms`, or a library isn't installed.
    """
    settings = state.services.settings
    known = dict(configured_platforms(settings))
    outbound, dispatchers = dict[str, Outbound](), list[Dispatcher]()
    outbox = Outbox(state.services, outbound)

    def mount(platform: Extension) -> list[APIRouter]:
        if not isinstance(platform, ChatPlatform) or platform not in known:
            return []

        def entering(posting: Outbound) -> Dispatcher:
            outbound[platform.name] = posting
            dispatchers.append(Dispatcher(platform.name, state, posting, outbox))
            return dispatchers[-1]

        try:
            return [platform.mount(known[platform], entering)]
        except ModuleNotFoundError as error:
            section = known[platform]
            raise MisconfiguredError(
                f"{section.prefix()}{section.NEEDED[0].upper()} is set, and {error.name} isn't "
                f"installed: {install_command('adapters')}"
            ) from None

    routers = [*chain.from_iterable(load_configured(settings).collect(mount))]
    return ApiPart(routers, _posting(outbox, dispatchers)) if dispatchers else ApiPart()


@asynccontextmanager
async def _posting(outbox: Outbox, dispatchers: Sequence[Dispatcher]) -> AsyncIterator[None]:
    """Post what is new for as long as the block lasts."""
    running = asyncio.create_task(outbox.run())
    try:
        yield
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        for dispatcher in dispatchers:
            await dispatcher.aclose()
