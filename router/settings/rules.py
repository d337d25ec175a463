"""What settings have to keep to together; a ValueError says which variables, and what to do."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from router.settings.environment import PREFIX

if TYPE_CHECKING:
    from router.settings.settings import Settings

_PLATFORMS = (
    ("slack_bot_token", "slack_signing_secret"),
    ("feishu_app_id", "feishu_app_secret", "feishu_encrypt_key", "feishu_verification_token"),
)
"""What each chat platform takes to be an entrance."""


def _one_way_to_verify_tokens(settings: "Settings") -> None:
    if settings.auth == "jwt" and (settings.jwt_secret is None) == (settings.jwt_jwks_url is None):
        raise ValueError(
            "ROUTER_AUTH=jwt needs one way to check a token: "
            "set either ROUTER_JWT_SECRET or ROUTER_JWT_JWKS_URL"
        )


def _platforms_whole_or_not_at_all(settings: "Settings") -> None:
    """Half a configuration would be a request that nobody can check."""
    for names in _PLATFORMS:
        missing = [n for n in names if getattr(settings, n) is None]
        if missing and len(missing) < len(names):
            raise ValueError(
                f"{PREFIX}{missing[0].upper()} isn't set and the platform's other variables are: "
                "set all of them, or none"
            )


def _queues_of_their_own(settings: "Settings") -> None:
    if len(set(settings.queues)) < len(settings.queues):
        raise ValueError(
            "ROUTER_TASK_QUEUE, ROUTER_MODEL_QUEUE and ROUTER_TOOL_QUEUE have to differ: "
            "name each of its own, or leave out those that shall share the first"
        )
    for kind in ("model", "tool"):
        if getattr(settings, f"{kind}_calls_per_second") and not getattr(settings, f"{kind}_queue"):
            name = f"{PREFIX}{kind.upper()}"
            raise ValueError(
                f"{name}_CALLS_PER_SECOND is the rate of a queue of its own: set {name}_QUEUE too"
            )


def _whole_oidc(settings: "Settings") -> None:
    if (settings.oidc_issuer is None) != (settings.oidc_client_id is None):
        raise ValueError(
            "signing in by OpenID Connect needs both: "
            "set ROUTER_OIDC_ISSUER and ROUTER_OIDC_CLIENT_ID, or neither"
        )
    if settings.oidc_issuer is not None and settings.auth == "dev":
        raise ValueError(
            "ROUTER_OIDC_ISSUER is of no use with ROUTER_AUTH=dev, where tokens are user ids: "
            "set ROUTER_AUTH=jwt, or leave ROUTER_OIDC_ISSUER out"
        )
    if "openid" not in settings.oidc_scope.split():
        raise ValueError("ROUTER_OIDC_SCOPE has to name openid, as in `openid profile`")


RULES: tuple[Callable[["Settings"], None], ...] = (
    _one_way_to_verify_tokens,
    _platforms_whole_or_not_at_all,
    _queues_of_their_own,
    _whole_oidc,
)
"""In the order in which they are told."""
