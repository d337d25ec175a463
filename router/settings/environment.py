"""The variables of the process and of `.env`, and which of them are ours."""

import os

from dotenv import dotenv_values

PREFIX = "ROUTER_"
OF_CLIENTS = frozenset({"ROUTER_TOKEN"})
"""Variables of `intent-router chat`, which is a client of the API and knows no settings."""
TESTS_PREFIX = "ROUTER_TESTS_"
"""Variables that begin so are for the tests of the project alone."""
TOOL_PREFIX = "ROUTER_TOOL_"
"""Variables that begin so are for the files of declared tools, which read nothing else."""
DOTENV = ".env"


def environment() -> dict[str, str]:
    """What `.env` and the environment set, the environment winning."""
    return {k: v for k, v in {**dotenv_values(DOTENV), **os.environ}.items() if v is not None}
