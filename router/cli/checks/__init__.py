"""What `doctor` checks, in the order in which a person would mend it.

A check takes the settings and says what it found; it raises a `RouterError` that says what
is wrong and what to do.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from router.cli.checks import configuration, machine, models, services
from router.domain.errors import RouterError
from router.settings import Settings

Check = Callable[[Settings], Awaitable[str]]

CHECKS: Mapping[str, Check] = {
    "python": machine.python,
    "temporal binary": machine.temporal_binary,
    "variables": configuration.variables,
    "authentication": configuration.authentication,
    "directory": configuration.directory,
    "flows": configuration.flows,
    "tools": configuration.tools,
    "declared tools": configuration.declared_tools,
    "mcp servers": services.mcp,
    "skills": configuration.skills,
    "skill sandbox": configuration.skill_sandbox,
    "prompts": configuration.prompts,
    "model": models.model,
    "embedder": configuration.embedder,
    "thresholds": configuration.thresholds,
    "data folder": machine.data_folder,
    "api port": machine.api_port,
    "temporal ui": machine.ui_port,
    "database": services.database,
    "temporal": services.temporal,
    "namespace": services.namespace,
    "search attributes": services.search_attributes,
    "task queues": services.task_queues,
    "worker version": services.worker_version,
}


@dataclass(frozen=True)
class Finding:
    """What one check came to; where it isn't `fine`, `says` ends with what to do."""

    subject: str
    fine: bool
    says: str


async def examine(checks: Mapping[str, Check] = CHECKS) -> list[Finding]:
    """Every finding; of the settings alone where they can't be used."""
    try:
        settings = Settings.load()
    except RouterError as error:
        return [Finding("settings", fine=False, says=str(error))]
    return [await _finding(subject, check, settings) for subject, check in checks.items()]


async def _finding(subject: str, check: Check, settings: Settings) -> Finding:
    try:
        return Finding(subject, fine=True, says=await check(settings))
    except RouterError as error:
        return Finding(subject, fine=False, says=str(error))
    except Exception as error:  # noqa: BLE001 - asked for when things broke as nobody foresaw
        return Finding(subject, fine=False, says=f"{type(error).__name__}: {error}")
