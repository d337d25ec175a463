"""What a `.env` has a command start that only looks: nothing, unless one says that one trusts it.

A `.env` is read in the folder one stands in, which may be anybody's that was fetched a moment ago.
Who starts `dev` there has chosen to run what the folder holds; who asks what is wrong, or which
tools there are, has not. So neither a program that `.env` alone names is started, nor a secret of
this machine sent to an address that it names.
"""

from collections.abc import Mapping
from typing import Annotated

import typer
from dotenv import dotenv_values
from pydantic import SecretStr

from router.extension import Check, TrustedCheck
from router.retrieval.encoders import SENTENCE_TRANSFORMERS
from router.settings import Fallback, RoleModel, Settings
from router.settings.environment import DOTENV, of_dotenv

TrustDotenv = Annotated[
    bool,
    typer.Option("--trust-dotenv", help="Start and ask what the .env of this folder names, too."),
]


_OF_TEMPORAL = ("temporal", "namespace", "search attributes", "task queues", "worker version")


def untrusted(settings: Settings, checks: Mapping[str, Check]) -> dict[str, str]:
    """Of these checks, those that would do what `.env` alone says, each with the variable."""
    by_folder = of_dotenv()
    embedder = settings.embedder
    address, key = settings.llm_base_url, settings.llm_api_key
    found = {
        "model": _lent(address, key),
        "embedder": "" if embedder == "embedded" else _lent(address, key),
        "directory": _lent(settings.directory, settings.directory_token),
        "authentication": _lent(settings.jwt_jwks_url),
        "temporal ui": _lent(settings.temporal_ui),
        "database": _lent(settings.database_url),
        **dict.fromkeys(_OF_TEMPORAL, _lent(settings.temporal_address, settings.temporal_api_key)),
    }
    for subject, check in checks.items():
        if isinstance(check, TrustedCheck) and check.variable in by_folder:
            found[subject] = check.variable
    if embedder.startswith(SENTENCE_TRANSFORMERS) and "ROUTER_EMBEDDER" in by_folder:
        found["embedder"] = "ROUTER_EMBEDDER"  # a folder may hold the model's own code
    if variable := _lent_models(settings):
        found["model"] = variable
    return {check: variable for check, variable in found.items() if variable}


def _lent_models(settings: Settings) -> str:
    """The variable of `.env` that sends a key of this machine's to a model that it names."""
    by_folder, escalate = of_dotenv(), settings.llm_escalate
    named: dict[str, list[RoleModel | Fallback]] = {
        "ROUTER_LLM_FALLBACKS": [*settings.llm_fallbacks],
        "ROUTER_LLM_ROLES": [*settings.llm_roles.values()],
        "ROUTER_LLM_ESCALATE": [escalate] if escalate else [],
    }
    lent = [n for n, models in named.items() if any(one.api_key_env for one in models)]
    # The protocol alone says whose server it is.
    lent += ["ROUTER_LLM_PROTOCOL"] if "ROUTER_LLM_API_KEY" not in by_folder else []
    return next((name for name in lent if name in by_folder), "")


def not_looked_at(variable: str) -> str:
    """What to say of such a check."""
    return (
        f"not looked at: {variable} is of {DOTENV} in this folder; if you trust it add "
        f"--trust-dotenv, or set {variable} in the environment"
    )


def _lent(address: object, secret: SecretStr | None = None) -> str:
    """The variable of `.env` that is the address, where what is sent there isn't all its own.

    Nor is an address that has a variable of the environment in it, as `${NAME}`.
    """
    written = set(dotenv_values(DOTENV, interpolate=False).values())
    value = secret.get_secret_value() if secret else None
    for name, given in of_dotenv().items():
        if address is not None and given.rstrip("/") == str(address).rstrip("/"):
            is_its_own = given in written and (value is None or value in written)
            return "" if is_its_own else name
    return ""
