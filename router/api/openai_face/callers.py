"""Who speaks: whoever the bearer token names, or the person that a chat UI vouches for.

A chat UI has one token for all of its users. That has to be a service account's, of which the
directory says so by the role `service`; any other token speaks for its owner alone, whatever
else the request says. With a secret that the UI signs with, only what it signed is believed.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import jwt
from fastapi import Depends, Request
from jwt.exceptions import InvalidTokenError

from router.api.deps import Authenticated, Desk, Services, note_sign_in, witness_of
from router.api.tokens import LEEWAY, SYMMETRIC
from router.api.witness import sender_of
from router.domain.errors import Forbidden, Unauthenticated
from router.domain.principals import SERVICE_ROLE, Directory, Principal
from router.settings import Settings

SIGNED = "x-openwebui-user-jwt"
ISSUER = "open-webui"
PLAIN = (
    "x-openwebui-user-email",
    "x-openwebui-user-id",
    "x-librechat-user-email",
    "x-librechat-user-id",
)
"""Headers in which a chat UI says who it is, in the order in which they are looked up."""


async def _speaker(request: Request, caller: Authenticated) -> Principal:
    desk = Desk.of(request)
    person = await _spoken_for(request, desk.services, caller)
    # Whose words these are is counted: all of a chat UI's people come with one token.
    desk.rates.admit(person)
    await note_sign_in(request, caller)
    if person.id != caller.id:
        witness, sender = witness_of(request, caller), sender_of(request)
        await desk.arrivals.note(witness, "person.speak_for", whose=person.id, detail=sender)
    return person


async def _spoken_for(request: Request, services: Services, caller: Principal) -> Principal:
    if SERVICE_ROLE not in caller.roles:
        return caller
    names = list(names_in(request.headers, services.settings))
    if not names:
        raise Unauthenticated(
            f"{caller.id!r} is a service account: say for whom it asks, in "
            f"{SIGNED} or {PLAIN[0]} (docs/openai.md)."
        )
    person = await _first_known(services.directory, caller.tenant, names)
    if person is None:
        raise Unauthenticated(f"The directory knows nobody by {names[0]!r}.")
    if SERVICE_ROLE in person.roles:
        raise Forbidden("A service account speaks for people, not for another such account.")
    request.state.locale = person.locale
    return person


Speaker = Annotated[Principal, Depends(_speaker)]
"""The person whose words these are."""


def names_in(headers: Mapping[str, str], settings: Settings) -> Iterator[str]:
    """What the person may be called in the directory, the likeliest first; none, where unsaid.

    Raises:
        Unauthenticated: what they are named by isn't signed, and has to be, or not by the UI.
    """
    secret = settings.openwebui_jwt_secret
    token = headers.get(SIGNED, "").strip()
    plain = [value for name in PLAIN if (value := _given(headers, name))]
    if secret is None:
        if token:
            raise Unauthenticated(f"{SIGNED}: set ROUTER_OPENWEBUI_JWT_SECRET to have it believed.")
        yield from _ids(plain, settings)
    elif token:
        yield from _ids(_vouched_for(token, secret.get_secret_value()), settings)
    elif plain:
        raise Unauthenticated(
            f"ROUTER_OPENWEBUI_JWT_SECRET is set: who speaks has to be in {SIGNED}, not in plain "
            "headers."
        )


def _given(headers: Mapping[str, str], name: str) -> str:
    """The header's value; nothing where a UI left its template as it was."""
    value = headers.get(name, "").strip()
    return "" if "{{" in value else value


def _vouched_for(token: str, secret: str) -> list[str]:
    try:
        claims = jwt.decode(
            token,
            secret,
            algorithms=SYMMETRIC,
            issuer=ISSUER,
            leeway=LEEWAY,
            options={"require": ["exp", "iss", "sub"], "verify_aud": False},
        )
    except InvalidTokenError as error:
        raise Unauthenticated(f"{SIGNED} isn't valid: {error}.") from error
    return [str(claims[name]) for name in ("email", "sub") if claims.get(name)]


def _ids(names: list[str], settings: Settings) -> Iterator[str]:
    """Each name, and of an address of the house what stands before the @.

    Of no other: anybody may have an address elsewhere that begins alike.
    """
    for name in names:
        yield name
        local, _, domain = name.rpartition("@")
        if local and settings.mail_domain and domain.lower() == settings.mail_domain.lower():
            yield local


async def _first_known(directory: Directory, tenant: str, names: list[str]) -> Principal | None:
    for name in names:
        found = await directory.find(tenant, name)
        if found is not None:
            return found
    return None
