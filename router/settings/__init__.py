"""The settings of every process: the only place that reads the environment.

Each field is the variable `ROUTER_<FIELD>`, also in a `.env` file of the working directory. A
secret may be in a file instead, which `ROUTER_<FIELD>_FILE` names. Whoever composes a process loads
this once and hands the values on.
"""

from router.settings.environment import OF_CLIENTS, PREFIX, TESTS_PREFIX, TOOL_PREFIX
from router.settings.settings import (
    OPENAI,
    Fallback,
    ModelAccess,
    Section,
    Settings,
    slips,
    unknown_variables,
)

__all__ = [
    "OF_CLIENTS",
    "OPENAI",
    "PREFIX",
    "TESTS_PREFIX",
    "TOOL_PREFIX",
    "Fallback",
    "ModelAccess",
    "Section",
    "Settings",
    "slips",
    "unknown_variables",
]
