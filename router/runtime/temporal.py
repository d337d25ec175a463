"""The way to Temporal: the connection and its TLS, its namespace and search attributes."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509 import Certificate, load_pem_x509_certificates
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import (
    AddSearchAttributesRequest,
    ListSearchAttributesRequest,
)
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client, Plugin
from temporalio.runtime import Runtime
from temporalio.service import RetryConfig, RPCError, RPCStatusCode, TLSConfig

from router.contracts.start_options import SEARCH_ATTRIBUTES
from router.domain.errors import MisconfiguredError, RouterError, Unavailable
from router.secrecy.codec import data_converter
from router.settings import Settings

_CLIENT_RETRIES = RetryConfig(max_elapsed_time_millis=2000)
"""The client itself retries for so long; `router.gateway.retries.persistently` comes on top."""


async def connect(
    settings: Settings, plugins: Sequence[Plugin] = (), runtime: Runtime | None = None
) -> Client:
    """A client for the Temporal server that the settings name.

    `Unavailable`: it doesn't answer, or hangs up. `MisconfiguredError`: a certificate or key can't
    be used, or isn't taken by the other side.
    """
    tls, key = tls_of(settings), settings.temporal_api_key
    try:
        return await Client.connect(
            settings.temporal_address,
            namespace=settings.temporal_namespace,
            api_key=key.get_secret_value() if key else None,
            tls=tls,
            data_converter=data_converter(
                settings.payload_keys, only=settings.encrypted_payloads_only
            ),
            retry_config=_CLIENT_RETRIES,
            plugins=plugins,
            runtime=runtime,
        )
    except RuntimeError as error:
        raise _refusal(settings, str(error)) from error


def tls_of(settings: Settings) -> TLSConfig | bool:
    """What Temporal is spoken to with: False without TLS.

    `MisconfiguredError`: a file can't be read, isn't PEM, has ended, or doesn't go with the key.
    """
    if not settings.is_temporal_over_tls:
        return False
    authority, key = settings.temporal_tls_ca, settings.temporal_tls_key
    if authority is not None:
        _certificates(authority, "ROUTER_TEMPORAL_TLS_CA")
    own = certificate_of(settings)
    return TLSConfig(
        server_root_ca_cert=authority.read_bytes() if authority else None,
        domain=settings.temporal_tls_server_name,
        client_cert=settings.temporal_tls_cert.read_bytes()
        if own and settings.temporal_tls_cert
        else None,
        client_private_key=key.get_secret_value().encode() if own and key else None,
    )


def certificate_of(settings: Settings) -> Certificate | None:
    """The certificate that this process shows Temporal, and None where it shows none.

    `MisconfiguredError`: it can't be read, has ended, or isn't the key's.
    """
    path, secret = settings.temporal_tls_cert, settings.temporal_tls_key
    if path is None or secret is None:
        return None
    certificate = _certificates(path, _OWN)[0]
    try:
        key = load_pem_private_key(secret.get_secret_value().encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        # Not chained: the error may have some of it.
        raise MisconfiguredError(
            "ROUTER_TEMPORAL_TLS_KEY is no private key in PEM without a password: write the key "
            f"of {path} into its file"
        ) from None
    if key.public_key() != certificate.public_key():
        raise MisconfiguredError(
            f"ROUTER_TEMPORAL_TLS_KEY isn't the key of {_OWN}={path}: give the two that belong "
            "together"
        )
    if certificate.not_valid_after_utc < datetime.now(UTC):
        raise MisconfiguredError(
            f"{_OWN}={path} ended on {certificate.not_valid_after_utc:%Y-%m-%d}: have a new one "
            "signed"
        )
    return certificate


_OWN = "ROUTER_TEMPORAL_TLS_CERT"


def _certificates(path: Path, variable: str) -> list[Certificate]:
    try:
        return load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise MisconfiguredError(
            f"{variable}={path} can't be read ({error.strerror}): name a readable file"
        ) from None
    except ValueError:
        raise MisconfiguredError(
            f"{variable}={path} is no certificate in PEM: name a file that begins with "
            "-----BEGIN CERTIFICATE-----"
        ) from None


def _refusal(settings: Settings, said: str) -> RouterError:
    """What to say where the client gave up; only the words of its error tell the causes apart."""
    at = f"ROUTER_TEMPORAL_ADDRESS={settings.temporal_address}"
    if "Unauthenticated" in said or "PermissionDenied" in said:
        by = (
            "ROUTER_TEMPORAL_API_KEY" if settings.temporal_api_key else "no ROUTER_TEMPORAL_API_KEY"
        )
        return MisconfiguredError(
            f"Temporal at {at} lets nobody in with {by}: set a key that may use the namespace "
            f"{settings.temporal_namespace}, and hasn't ended"
        )
    if untrusted := re.search(r"InvalidCertificate\((\w+)", said):
        return MisconfiguredError(
            f"the certificate of Temporal at {at} isn't trusted ({untrusted[1]}): name who signed "
            "it in ROUTER_TEMPORAL_TLS_CA, or the name in it in ROUTER_TEMPORAL_TLS_SERVER_NAME"
        )
    if "InvalidMessage" in said:
        return MisconfiguredError(
            f"Temporal at {at} speaks no TLS: leave ROUTER_TEMPORAL_TLS_… out"
        )
    if "get_system_info" in said and "transport::Error" in said:
        return Unavailable(f"Temporal at {at} hangs up: {_remedy(settings)}")
    return Unavailable(
        f"No Temporal server answers at {at}: start it (`intent-router dev` brings its own), or "
        "correct the address"
    )


def _remedy(settings: Settings) -> str:
    if not settings.is_temporal_over_tls:
        return "if it wants TLS, set ROUTER_TEMPORAL_TLS=true"
    if settings.temporal_tls_cert is None:
        return (
            "if it wants a certificate, set ROUTER_TEMPORAL_TLS_CERT and "
            "ROUTER_TEMPORAL_TLS_KEY_FILE"
        )
    return f"have it trust who signed {_OWN}={settings.temporal_tls_cert}, or show another"


class TemporalConnection:
    """A client that is made when it is first asked for, and kept: most commands never need one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._connecting = asyncio.Lock()
        self._client: Client | None = None

    async def __call__(self) -> Client:
        """The client; raises `Unavailable` as `connect` does, and tries anew the next time."""
        async with self._connecting:
            if self._client is None:
                self._client = await connect(self._settings)
            return self._client


_TYPES: dict[str, IndexedValueType.ValueType] = {
    "Keyword": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "KeywordList": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


@contextmanager
def temporal_says(absent: str = "") -> Iterator[None]:
    """What Temporal says instead of an answer, as an error; `absent` where it has no such thing."""
    try:
        yield
    except RPCError as error:
        if absent and error.status == RPCStatusCode.NOT_FOUND:
            raise MisconfiguredError(absent) from error
        raise Unavailable(f"Temporal can't say: {error.message}; try again") from error


async def check_namespace(client: Client) -> None:
    """Raises `MisconfiguredError` where the client's namespace isn't there."""
    absent = (
        f"ROUTER_TEMPORAL_NAMESPACE={client.namespace} isn't there: correct it, or run "
        f"`temporal operator namespace create --namespace {client.namespace}`"
    )
    request = DescribeNamespaceRequest(namespace=client.namespace)
    with temporal_says(absent):
        await client.workflow_service.describe_namespace(request)


async def missing_from(client: Client) -> list[str]:
    """Those that the client's namespace doesn't have, or has with another type."""
    request = ListSearchAttributesRequest(namespace=client.namespace)
    known = (await client.operator_service.list_search_attributes(request)).custom_attributes
    return [name for name, kind in SEARCH_ATTRIBUTES.items() if known.get(name) != _TYPES[kind]]


async def register(client: Client) -> None:
    """Add the missing ones to its namespace; `RPCError`: we aren't let, as by hosted servers."""
    missing = await missing_from(client)
    if missing:
        await add(client, missing)


async def add(client: Client, names: Iterable[str] = SEARCH_ATTRIBUTES) -> None:
    """Add these, all by default, to a namespace that has none of them."""
    wanted = {name: _TYPES[SEARCH_ATTRIBUTES[name]] for name in names}
    await client.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=client.namespace, search_attributes=wanted)
    )
