"""`intent-router doctor`: is everything here that the other commands will need?

A check says what it found, or raises a `RouterError` that says what is wrong and what to do.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import typer

from router.cli.checks import configuration, services
from router.cli.checks.dotenv_trust import TrustDotenv, not_looked_at, untrusted
from router.cli.options import DataFolderOption, settings_in
from router.domain.errors import RouterError
from router.extension import Check
from router.gateway.failing_workflows import ProblemsNotReported
from router.runtime.extensions import load_configured
from router.settings import Settings

CHECKS: Mapping[str, Check] = {
    "python": configuration.python,
    "temporal binary": configuration.temporal_binary,
    "project": configuration.project,
    "variables": configuration.variables,
    "authentication": configuration.authentication,
    "directory": configuration.directory,
    "extensions": configuration.extensions,
    "tools": configuration.tools,
    "hooks": configuration.hooks,
    "flows": configuration.flows,
    "webhooks": configuration.webhooks,
    "skills": configuration.skills,
    "skill sandbox": configuration.skill_sandbox,
    "prompts": configuration.prompts,
    "model": services.model,
    "embedder": configuration.embedder,
    "thresholds": configuration.thresholds,
    "data folder": configuration.data_folder,
    "api port": configuration.api_port,
    "temporal ui": configuration.ui_port,
    "database": services.database,
    "documents": services.documents,
    "clock": services.clock,
    "payload keys": services.payload_keys,
    "retention": services.retention,
    "approvals": services.approvals,
    "requests": services.requests,
    "temporal": services.temporal,
    "namespace": services.namespace,
    "search attributes": services.search_attributes,
    "task queues": services.task_queues,
    "worker version": services.worker_version,
    "worker builds": services.worker_builds,
    "two halves": services.two_halves,
    "runs": services.runs,
    "workflows": services.workflows,
}


def all_checks(settings: Settings) -> dict[str, Check]:
    """Return the checks of the core and those of the extensions in use.

    A subject that an extension shares with another one has its name in front.
    """
    checks = dict(CHECKS)
    for extension, added in load_configured(settings).collect(lambda each: (each, each.checks())):
        for subject, check in added.items():
            checks[f"{extension.name}: {subject}" if subject in checks else subject] = check
    return checks


@dataclass(frozen=True)
class Diagnosis:
    """What one check came to; where it isn't `fine`, `says` ends with what to do."""

    subject: str
    fine: bool
    says: str
    looked_at: bool = True


async def examine(
    checks: Mapping[str, Check] | None = None,
    *,
    trust_dotenv: bool = False,
    data: Path | None = None,
) -> list[Diagnosis]:
    """Run checks, by default all of the core and of extensions, and tell each cause once.

    If the settings can't be used, that is the only finding.
    """
    try:
        settings = settings_in(data)
    except RouterError as error:
        return [Diagnosis("settings", fine=False, says=str(error))]
    findings, checks = [], checks or all_checks(settings)
    passed_over = {} if trust_dotenv else untrusted(settings, checks)
    for subject, check in checks.items():
        if subject in passed_over:
            said = not_looked_at(passed_over[subject])
            findings.append(Diagnosis(subject, fine=True, says=said, looked_at=False))
            continue
        try:
            finding = Diagnosis(subject, fine=True, says=await check(settings))
        except (ProblemsNotReported, services.TemporalNotRunning) as unknown:
            # Neither fine nor failed: the server doesn't say, or nobody has started it yet.
            finding = Diagnosis(subject, fine=True, says=str(unknown), looked_at=False)
        except RouterError as error:
            finding = Diagnosis(subject, fine=False, says=str(error))
        except Exception as error:  # noqa: BLE001 - asked for when things broke as nobody foresaw
            finding = Diagnosis(subject, fine=False, says=f"{type(error).__name__}: {error}")
        findings.append(_told_before(finding, findings))
    return findings


def _told_before(finding: Diagnosis, before: list[Diagnosis]) -> Diagnosis:
    """The finding, or that there is none where what it says is what an earlier one failed with."""
    for other in before:
        if finding.fine and finding.looked_at:
            break
        if (other.fine, other.says) == (finding.fine, finding.says):
            first = f"see {other.subject}" if other.fine else f"mend {other.subject} first"
            said = f"not looked at: {first}"
            return Diagnosis(finding.subject, fine=True, says=said, looked_at=False)
    return finding


def doctor(trust_dotenv: TrustDotenv = False, data: DataFolderOption = None) -> None:
    """Check settings and what they need.

    Says what to do about each failure, and exits with 1 if there is one. A program that only the
    .env of this folder names isn't started, nor is a key sent to an address that it names.
    """
    findings = asyncio.run(examine(trust_dotenv=trust_dotenv, data=data))
    width = max(len(finding.subject) for finding in findings)
    below = "\n" + " " * (width + 10)
    for finding in findings:
        mark = ("ok    " if finding.looked_at else "--    ") if finding.fine else "FAILED"
        says = finding.says.replace("\n", below)
        typer.echo(f"{mark}  {finding.subject:<{width}}  {says}")
    failed = [finding.subject for finding in findings if not finding.fine]
    if failed:
        raise RouterError(f"{len(failed)} of {len(findings)} checks failed: {', '.join(failed)}")
