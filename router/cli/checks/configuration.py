"""Checks of what the operator wrote (variables, people, flows, tools), and of this machine."""

import os
import socket
import sys
from contextlib import suppress
from dataclasses import asdict

import httpx2

from activities.sandbox import Bubblewrap
from router.cli.extensions import find_core_tools, omit_faulty_extensions
from router.cli.tools import in_english_only, withheld
from router.directory.file import SAMPLE
from router.directory.sources import people_of
from router.domain.errors import MisconfiguredError
from router.domain.loopback import may_be_proxied
from router.domain.principals import DEFAULT_TENANT
from router.llm.embeddings import OpenAIEmbeddings
from router.retrieval.selection import Thresholds, read_thresholds
from router.runtime import temporal_server
from router.runtime.composition import encoder
from router.runtime.data_folder import served
from router.runtime.definitions import load_catalog, load_registry, skill_folders, skill_remarks
from router.runtime.extensions import (
    check_sections,
    load_configured,
    omitted_prefixes,
    setting_sections,
)
from router.runtime.prompts import load_prompts
from router.runtime.server import LOOPBACK, Ports
from router.settings import PREFIX, Settings, slips
from router.settings.project import find_project
from router.webhook.webhook_files import OtherSystems

SECONDS = 5.0


async def variables(settings: Settings) -> str:
    """Every variable that looks like one of ours is one of ours."""
    check_sections(settings)
    unknown = slips(setting_sections(settings), lambda: omitted_prefixes(settings))
    if unknown:
        raise MisconfiguredError("\n".join(unknown))
    given = sorted(name for name in os.environ if name.startswith(PREFIX))
    return f"set: {', '.join(given)}" if given else "none set"


async def project(_settings: Settings) -> str:
    """The folder belongs to a project, or to none."""
    found = find_project()
    if found is None:
        return "none: no folder from here up has a pyproject.toml with [tool.intent-router]"
    return f"{found.folder}, which sets {', '.join(sorted(found.settings)) or 'nothing'}"


async def authentication(settings: Settings) -> str:
    """Callers can be told apart as ROUTER_AUTH says."""
    if settings.auth == "dev":
        return "dev: a bearer token is a user id; good on loopback alone"
    if settings.jwt_jwks_url is None:
        return "jwt, with a shared secret"
    url = settings.jwt_jwks_url
    try:
        async with httpx2.AsyncClient(timeout=SECONDS, trust_env=may_be_proxied(url)) as client:
            keys = (await client.get(url)).raise_for_status().json()["keys"]
    except (httpx2.HTTPError, ValueError, KeyError, TypeError) as error:
        raise MisconfiguredError(
            f"ROUTER_JWT_JWKS_URL={url} gives no key set ({type(error).__name__}): "
            "see that it is right and can be reached from here"
        ) from None
    if settings.jwt_issuer is None or settings.jwt_audience is None:
        raise MisconfiguredError(
            "an identity provider signs tokens for every application of the house, and all of "
            "them are taken: set ROUTER_JWT_ISSUER and ROUTER_JWT_AUDIENCE"
        )
    return f"jwt, with {len(keys)} keys from {url}"


async def directory(settings: Settings) -> str:
    """The people can be loaded, and tokens can name their tenants."""
    people, where = people_of(settings), settings.directory or SAMPLE
    if people.warnings:
        raise MisconfiguredError("\n".join(map(str, people.warnings)))
    tenants = people.tenants
    nameable = settings.auth == "dev" or settings.jwt_tenant_claim is not None
    if not nameable and set(tenants) - {DEFAULT_TENANT}:
        raise MisconfiguredError(
            f"{where} has the tenants {', '.join(tenants)}, and no token can name one: "
            "set ROUTER_JWT_TENANT_CLAIM, or take `tenant` out"
        )
    if tenants == [DEFAULT_TENANT]:
        return f"{len(people.everyone())} people in {where}"
    found = (f"{len(people.everyone(tenant))} people of {tenant}" for tenant in tenants)
    return f"{', '.join(found)} in {where}"


async def flows(settings: Settings) -> str:
    """The flow files can be loaded, and call tools that there are."""
    catalog = load_catalog(settings, load_registry(settings))
    if not len(catalog):
        raise MisconfiguredError(
            f"{settings.describe('flows')} has no flow: name a folder of *.yaml files"
        )
    return ", ".join(flow.flow for flow in catalog)


async def webhooks(settings: Settings) -> str:
    """The files of webhooks can be used, and have their secrets."""
    systems = OtherSystems.of(settings)
    if settings.webhooks is None and settings.event_sources is None:
        return "none: no other system is told, or tells us, what happens"
    urls = ", ".join(each.subscription.shown_url for each in systems.told) or "none"
    return f"told: {urls}; telling: {', '.join(each.name for each in systems.telling) or 'none'}"


async def tools(settings: Settings) -> str:
    """The tools of the code can be loaded; which lack a setting, or words in Chinese."""
    registry = load_registry(settings)
    found = withheld(settings, registry)
    lacking = [
        f"not {', '.join(name for name, lacks in found.items() if lacks == setting)}: "
        f"{setting} isn't set"
        for setting in dict.fromkeys(found.values())
    ]
    foreign = in_english_only(registry)
    return "\n".join([f"{len(registry.names)} loaded", *lacking, *([foreign] if foreign else [])])


async def hooks(settings: Settings) -> str:
    """The hooks can be loaded, have what they need, and are about tools that there are."""
    registry = load_registry(settings)
    if wrong := registry.misfit_hooks(settings):
        raise MisconfiguredError("\n".join(wrong))
    return ", ".join(f"{each.name} ({each.point})" for each in registry.hooks) or "none"


async def extensions(settings: Settings) -> str:
    """Every installed extension can be loaded, apart from those that the settings leave out."""
    found = load_configured(settings)
    omit_faulty_extensions(found, find_core_tools(settings))
    if found.failed:
        said = [f"{each.name} ({each.distribution}): {each.reason}" for each in found.failed]
        raise MisconfiguredError("\n".join(said))
    if found.unknown:
        raise MisconfiguredError("\n".join(found.unknown))
    names = ", ".join(each.name for each in found) or "none"
    omitted = ", ".join(each.name for each in found.omitted)
    return f"{names}; left out: {omitted}" if omitted else names


async def skills(settings: Settings) -> str:
    """The skill folders can be loaded; what might be better about them is named."""
    loaded = skill_folders(settings).load()
    names = ", ".join(skill.name for skill in loaded.catalog) or "none"
    remarks = [*loaded.flaws, *skill_remarks(settings, loaded)]
    return "\n".join([names, *map(str, remarks)])


async def skill_sandbox(settings: Settings) -> str:
    """Scripts of skills can be run where they can do no harm."""
    if settings.skill_sandbox is None:
        return "none: scripts of skills are never run"
    return await Bubblewrap().probe()


async def prompts(settings: Settings) -> str:
    """The prompts can be loaded, and their shares name versions that there are."""
    return ", ".join(load_prompts(settings).versions)


async def embedder(settings: Settings) -> str:
    """The encoder that is named can encode."""
    encoding = encoder(settings)
    try:
        vectors = await encoding.queries(["hello"])
    finally:
        if isinstance(encoding, OpenAIEmbeddings):
            await encoding.aclose()
    return f"{settings.embedder}: {vectors.shape[1]} dimensions"


async def thresholds(settings: Settings) -> str:
    """The thresholds of pre-selection can be read."""
    path = settings.thresholds
    found = asdict(Thresholds() if path is None else read_thresholds(path))
    found.pop("reliability")
    shown = ", ".join(f"{name} {value:.3g}" for name, value in found.items())
    return f"the default: {shown}" if path is None else f"{shown}, from {path}"


MACHINE_SECONDS = 3.0
OLDEST, NEWEST = (3, 11), (3, 13)


async def python(_settings: Settings) -> str:
    """The interpreter is one that this project is tested with."""
    version = ".".join(map(str, sys.version_info[:3]))
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise MisconfiguredError(f"{version} isn't supported: use Python 3.11 to 3.13")
    return version


async def temporal_binary(_settings: Settings) -> str:
    """The Temporal server that `dev` starts is installed."""
    return str(temporal_server.binary())


async def data_folder(settings: Settings) -> str:
    """The data folder can be written, or made."""
    folder = settings.data.absolute()
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise MisconfiguredError(
            f"ROUTER_DATA={settings.data} can't be used, {there} isn't a folder that can be "
            "written: choose another, or correct its permissions"
        )
    return str(folder)


async def api_port(settings: Settings) -> str:
    """The API's port is free, or it is our API that answers there."""
    ports = _ports(settings)
    return await _free_or_ours(ports.api, f"{ports.api_url}/healthz", "--port")


async def ui_port(settings: Settings) -> str:
    """The Temporal UI's port is free, or the UI answers there."""
    return await _free_or_ours(_ports(settings).ui, settings.temporal_ui, "--ui-port")


def _ports(settings: Settings) -> Ports:
    """Those of the `dev` that runs on the data folder, or those that the next one takes."""
    found = served(settings.data)
    return Ports(found.api, found.temporal, found.ui) if found else Ports()


async def _free_or_ours(port: int, url: str, option: str) -> str:
    with suppress(OSError):
        socket.create_server((LOOPBACK, port)).close()
        return f"{LOOPBACK}:{port} is free"
    with suppress(httpx2.HTTPError):
        async with httpx2.AsyncClient(timeout=MACHINE_SECONDS, trust_env=False) as client:
            if (await client.get(url, follow_redirects=True)).is_success:
                return f"answers at {url}"
    raise MisconfiguredError(
        f"port {port} is in use by another program: stop that, or give `intent-router dev` "
        f"another with {option}"
    )
