"""The settings of every process: the only place that reads the environment.

Each field is the variable `ROUTER_<FIELD>`, also in a `.env` file of the working directory. A
secret may be in a file instead, which `ROUTER_<FIELD>_FILE` names. Whoever composes a process loads
this once and hands the values on.
"""

from router.settings.environment import PREFIX
from router.settings.models import (
    OPENAI,
    ROLES,
    Fallback,
    ModelAccess,
    ModelOptions,
    ModelRole,
    RoleModel,
)
from router.settings.settings import NO_TLS, Section, Settings, slips

__all__ = [
    "NO_TLS",
    "OPENAI",
    "PREFIX",
    "ROLES",
    "Fallback",
    "ModelAccess",
    "ModelOptions",
    "ModelRole",
    "RoleModel",
    "Section",
    "Settings",
    "slips",
]
